"""The encrypted oblivious shuffle: who does what in which round, and a shuffler as a machine without I/O.

    schedule    the rounds, hiders and holders of r shufflers, and each shuffler's script
    messages    what shufflers say to one another
    effects     what the machine asks of its caller: large vectors are named by handle
    attempt     one shuffler's part in one attempt at the shuffle
    delivery    at most one output: free, stored, sending, dead
    shuffler    both together: events in, effects out
    vectors     the arithmetic on vectors that effects ask for
    merkle      roots that commit to a vector row by row
    fakes       the fake reports' shares
    analyzer    the other end: combine, check the dummies

Depends on `peos.crypto` and `peos.errors` only.
"""
