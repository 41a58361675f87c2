"""The rules of the user's client: what she consents to, that she answers once, and what it may cost her.

consent    check(invitation, documents, pins, limits, now): the collection that she may answer, or why not
ledger     what she has answered and spent, and her budget
answering  answer(consent, record, ticket, ledger, rng): her submission, randomised once

Pure: a store, a network and a command line are around it, in `user_client` or elsewhere.
"""
