"""The inspection: the dummies' rows followed through every step of a delivered attempt (protocol.md §7.2).

machine   one shuffler's part in it: events in, effects out
paths     where the rows went, round by round, as the hiders claim and agree
evidence  what a shuffler opens of the rows
verdict   what the openings show of each shuffler
"""
