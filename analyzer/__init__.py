"""The analyzer as a process: creates collections, takes in what was shuffled, decrypts, publishes estimates.

    cli, enrol         the commands
    config             analyzer.toml
    keys               secrets at rest
    store              what is durable, in SQLite
    workspace          all of that opened
    draft, create      from a spec to an open collection
    orders             close, abort, publish
    shuffler_clients   calls to the shufflers
    dummies            the analyzer's own reports, sent among the users'
    analyst_service    the port on which the shufflers call
    delivery_receiver  vectors on their way in
    inspection_runner  the dummies shown to the shufflers, and their openings judged
    decryption, publisher, result; report, the page
    lists              the signed lists, for users who verify
    ledger             budgets
    statement          what a privacy officer reads
    scheduler, serve   collections moved on; the process
    console_service    what the console is shown, and what it may ask for
    creating           collections that it asked for
    console            the pages, a process of their own without a key
    status, troubles   what is waited for, and what fails
    events             what happens, as the log has it

Rules of the protocol are not here but in `peos`.
"""
