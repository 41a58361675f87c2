"""The codec of the wire: between our own types and the code generated from proto/peos/v1, which is peos.v1.

    strict        reading a message that may be anything
    documents     the collection document
    submissions   users' parts, acknowledgements
    freezes       lists and frozen digests
    shuffles      words, vectors, notices, receipts
    parties       cards, invitations, proposals, orders, answers, status
    methods       every remote call with its codec

Every check of what came in is here or in the constructors it calls; whatever fails is one BadEncoding.
"""
