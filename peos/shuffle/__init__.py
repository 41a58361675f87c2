"""The encrypted oblivious shuffle: who does what in which round, and a shuffler as a machine without I/O.

    schedule        the rounds, hiders and holders of r shufflers, and each shuffler's script
    messages        what shufflers say to one another
    effects         what the machine asks of its caller: large vectors are named by handle
    attempt         one shuffler's part in one attempt at the shuffle
    delivery        at most one output: free, stored, sending, dead (delivery_state)
    machine         both together: events in, effects out
    driver          carries effects out, in order, for processes, simulation and tests
    inspect         the dummies' rows, followed through a delivered attempt
    vectors, bench  the arithmetic on vectors that effects ask for; streaming, long ones a stretch at a time
    merkle          roots that commit to a vector row by row
    fakes           the fake reports' shares
    combine         the other end: the analyzer adds up, checks the dummies
    sequential      the sequential shuffle's schedule and machine; relay, its arithmetic

Depends on `peos.crypto` and `peos.errors` only.
"""
