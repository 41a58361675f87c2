"""How parties reach one another: TLS 1.3 with pinned certificates, limits, the table of errors, health, logs.

grpc is imported by `tls` alone, which prepares its environment: everything else takes it from there,
`from peos.net.tls import grpc`.
"""
