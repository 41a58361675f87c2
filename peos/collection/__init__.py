"""A collection as all parties agree on it: the document, tickets, submissions, the freeze, the life-cycle.

Pure rules, no bytes of the wire: `peos.wire` encodes these types. Depends on `peos.ldp`, `peos.crypto` and
`peos.shuffle`'s schedule.
"""
