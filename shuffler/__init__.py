"""The shuffler process: gRPC services, durable state and vectors around the machine of `peos.shuffle`.

    config             shuffler.toml
    keys               identity and certificates in the party's folder
    server             all of it, started and drained
    registry           all collections
    session            one collection from its acceptance to its erasure: does what peos.collection.session decides
    status             what is said of it: state, what is waited for, why
    user_service       the port for users
    peer_service       the port for the analyzer and the other shufflers
    intake             submissions: checked, committed in groups, acknowledged
    proving            proofs to users that their submissions were frozen
    freeze_runner      lists and frozen digests, pulled from the other shufflers
    shuffle_runner     one collection's machine: events in, effects out
    workbench          this party's vectors, and the work on them
    inbox              vectors on their way in
    outbox             what goes out to the other shufflers, until it is there
    delivery_runner    from the stored vector to the analyzer's receipt
    inspection_runner  the dummies followed through every step, after a delivery
    evidence           what the inspection needs, kept encrypted from the shuffle on
    zero_pool          zeros made while a collection is open
    spill              vectors in files, outside memory
    store_thread       the store behind its one thread
    background         heavy work off the event loop
    meter              bytes sent and received
    events             what happens, as log and status have it
    cli                the command line

Rules of the protocol are not here: they are in `peos.shuffle` and `peos.collection`.
"""
