"""The analyzer as a process: creates collections, takes in what was shuffled, decrypts, publishes estimates.

    cli, enrol     the commands
    config         the configuration
    vault, keys    secrets at rest
    store          what is durable, in SQLite
    home           all of that opened
    draft, create  from a request to an open collection
    peers          calls to the shufflers
    receiving      vectors on their way in; service answers the calls
    decryption, publishing, result; report, the page
    scheduler, serve  collections moved on; the process
    status         what is waited for

Rules of the protocol are not here but in `peos`.
"""
