"""Why there was no connection: proxy, name, route, port or TLS. It names no URL: a slot's is a secret."""

import socket
import ssl
from collections.abc import Iterator

import httpcore

BROKEN_EXCHANGE = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
)
"""All that httpcore raises for an exchange that does not come to its end."""


def cause_of(error: BaseException) -> str | None:
    """Return in a clause why a connection failed, by the system's errors behind it; None if none of them tells."""
    return next((clause for each in _chain(error) if (clause := _clause(each))), None)


def _clause(error: BaseException) -> str | None:
    clause: str | None = None
    match error:
        case httpcore.ProxyError():
            clause = "the proxy refused the connection: check its user and password, and whether it allows this host"
        case socket.gaierror():
            clause = "DNS does not know the host's name: check service.base_url and the network"
        case ssl.SSLCertVerificationError():
            why = getattr(error, "verify_message", "no reason given")
            clause = f"TLS: the host's certificate is not trusted ({why})"
        case ssl.SSLError():
            clause = f"TLS failed ({getattr(error, 'reason', None) or 'no reason given'}): is this an https address?"
        case ConnectionRefusedError():
            clause = "the connection was refused: nothing listens at this address and port"
        case ConnectionResetError() | BrokenPipeError():
            clause = "the other side closed the connection"
        case OSError(strerror=str(why)):
            clause = why[:1].lower() + why[1:]
    return clause


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Return an error and what it was raised from, the first cause first."""
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__
    return reversed(seen)
