"""Cryptography without I/O: random streams, secret sharing, signatures, and the encryption schemes.

Depends on nothing of the project but `peos.errors`. `randomness.system` alone asks the operating system for entropy.
"""
