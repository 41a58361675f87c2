"""TLS 1.3 with pinned certificates for grpcio, which has no option for a minimum version (docs/decisions/0002).

This is the one module that imports grpc, because of what must be set before:

    from peos.net.tls import grpc

Trust is by pinning: a channel accepts exactly one server certificate, a peer port exactly those in its `Trust`, which
changes while the server runs. Every call is checked once more by `peos.net.guard`.
"""

import os
import sys
import threading
from collections.abc import Iterable
from typing import Final

from peos.errors import LocalFault, WrongInput
from peos.net.certificates import Certificate, as_pem, fingerprint, is_expired, read_certificate, require_pair

# A suite of TLS 1.2 that needs an RSA certificate, which no party has: 1.2 finds no cipher. 1.3 has its own suites.
_VARIABLE: Final = "GRPC_SSL_CIPHER_SUITES"
_SUITES: Final = "ECDHE-RSA-AES256-GCM-SHA384"

if "grpc" in sys.modules and os.environ.get(_VARIABLE) != _SUITES:
    raise LocalFault(
        "network.tls_late",
        "grpc was imported before TLS was confined to version 1.3",
        hint="import it from peos.net.tls, before anything else imports it",
    )
os.environ[_VARIABLE] = _SUITES
os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # its own lines on standard error are not ours to whitelist

import grpc  # noqa: E402 (after the environment it reads)
import grpc.aio  # noqa: E402
from grpc_health.v1 import health, health_pb2, health_pb2_grpc  # noqa: E402
from grpc_reflection.v1alpha import reflection, reflection_pb2, reflection_pb2_grpc  # noqa: E402

__all__ = [
    "TLS13",
    "Trust",
    "grpc",
    "health",
    "health_pb2",
    "health_pb2_grpc",
    "peer_port",
    "pinned",
    "reflection",
    "reflection_pb2",
    "reflection_pb2_grpc",
    "user_port",
]

TLS13: Final = b"TLSv1.3"


class Trust:
    """The client certificates that a peer port accepts; any thread may change it while the port is open.

    A certificate is accepted for as long as a collection needs it: `of` is its digest, or nothing for what is accepted
    as long as the process runs.
    """

    def __init__(self, certificates: Iterable[bytes] = ()) -> None:
        self._lock = threading.Lock()
        self._pinned: dict[bytes, bytes] = {}  # PEM by fingerprint
        self._needed: dict[bytes, set[bytes]] = {}  # by fingerprint: of what
        self._version = 0
        self.admit(certificates)

    def __repr__(self) -> str:
        return f"Trust({len(self._pinned)} certificates)"

    def __contains__(self, print_: object) -> bool:
        with self._lock:
            return print_ in self._pinned

    @property
    def version(self) -> int:
        """Grows with each change."""
        return self._version

    def check(self, certificates: Iterable[bytes]) -> dict[bytes, bytes]:
        """These certificates (PEM or DER) as PEM by fingerprint; WrongInput if they could not all be admitted."""
        new = {fingerprint(one): as_pem(one) for one in certificates}
        with self._lock:
            subjects = [read_certificate(pem).subject for pem in (self._pinned | new).values()]
        if len(set(subjects)) < len(subjects):
            raise WrongInput(
                "certificate.same_subject",
                "two different certificates have one subject, and TLS could not tell them apart",
                hint="their party used one key for both: it makes its certificates anew",
            )
        return new

    def admit(self, certificates: Iterable[bytes], of: bytes = b"") -> None:
        """Accept all of these from now on, or none of them: see `check`."""
        new = self.check(certificates)
        with self._lock:
            if new.keys() - self._pinned.keys():
                self._pinned |= new
                self._version += 1
            for print_ in new:
                self._needed.setdefault(print_, set()).add(of)

    def drop(self, of: bytes = b"") -> None:
        """What only this needed is accepted no longer: its next call is refused, on connections that are open too."""
        with self._lock:
            for print_ in [print_ for print_, needed in self._needed.items() if of in needed]:
                self._needed[print_].remove(of)
                if not self._needed[print_]:
                    del self._needed[print_], self._pinned[print_]
                    self._version += 1

    def is_trusted(self, print_: bytes) -> bool:
        """Whether a call under this certificate may be answered now: it is pinned and not expired."""
        with self._lock:
            pem = self._pinned.get(print_)
        return pem is not None and not is_expired(pem)

    def bundle(self) -> bytes:
        """All of them, PEM."""
        with self._lock:
            return b"".join(self._pinned.values())


def user_port(own: Certificate) -> grpc.ServerCredentials:
    """A port that shows `own` and asks callers for no certificate; users are admitted by their tickets."""
    require_pair(own)
    return grpc.ssl_server_credentials([(own.key, own.pem)])


def peer_port(own: Certificate, trust: Trust) -> grpc.ServerCredentials:
    """A port that shows `own` and demands one of `trust`'s certificates, as they are at the time of the handshake."""
    require_pair(own)

    def configuration() -> grpc.ServerCertificateConfiguration:
        # Never without any: an empty list would mean the authorities that the machine trusts. The guard refuses `own`.
        return grpc.ssl_server_certificate_configuration([(own.key, own.pem)], own.pem + trust.bundle())

    seen = trust.version
    first = configuration()

    def current() -> grpc.ServerCertificateConfiguration | None:
        nonlocal seen
        version = trust.version
        if version == seen:
            return None
        seen = version
        return configuration()

    return grpc.dynamic_ssl_server_credentials(
        first,
        current,  # type: ignore[arg-type]  # None means unchanged; the stubs do not know
        require_client_authentication=True,
    )


def pinned(server: bytes, own: Certificate | None = None) -> grpc.ChannelCredentials:
    """A channel that accepts the certificate `server` (PEM or DER) and no other, and shows `own` if it is given."""
    if own is None:
        return grpc.ssl_channel_credentials(as_pem(server))
    require_pair(own)
    return grpc.ssl_channel_credentials(as_pem(server), own.key, own.pem)
