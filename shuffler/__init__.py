"""The shuffler process: gRPC services, durable state and vectors around the machine of `peos.shuffle`.

    config      shuffler.toml
    keys        identity and certificates in the party's folder
    storing     the store behind its one thread
    background  heavy work beside the event loop
    meter       bytes sent and received
    intake      submissions: checked, committed in groups, acknowledged
    freezing    lists and frozen digests, pulled from the other shufflers
    bench       this party's vectors, and the work on them
    arrivals    vectors on their way in
    post        what goes out to the other shufflers, until it is there
    delivering  from the stored vector to the analyzer's receipt
    conductor   one collection's machine: events in, effects out
    session     one collection from its acceptance to its erasure: carries out what peos.collection.session decides
    status      what is said of it: state, what is waited for, why
    registry    all collections
    users       the port for users
    peers       the port for the analyzer and the other shufflers
    server      all of it, started and drained
    cli         the command line

Rules of the protocol are not here: they are in `peos.shuffle` and `peos.collection`.
"""
