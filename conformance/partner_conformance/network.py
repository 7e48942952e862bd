"""How the suite reaches the network: a proxy, certificate authorities, time limits, and why a call has no answer."""

import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import httpx

# Chosen, in seconds: far above any normal answer, so that only a hung service is a missing answer.
_TIMEOUTS = httpx.Timeout(60.0, connect=10.0)


@dataclass(frozen=True)
class Network:
    """What all clients of the suite share.

    Attributes:
        ca: a file with further certificate authorities.
        proxy: the URL of a proxy.
        uses_environment: whether HTTPS_PROXY, HTTP_PROXY and NO_PROXY count where no proxy is named.
    """

    ca: Path | None = None
    proxy: str | None = None
    uses_environment: bool = False

    @cached_property
    def certificates(self) -> ssl.SSLContext:
        """The authorities of the system and of `ca`; read once, because this is slow."""
        context = ssl.create_default_context()
        if self.ca is not None:
            context.load_verify_locations(self.ca)
        return context

    def client(self) -> httpx.Client:
        """Return a client that follows no redirect and holds no key."""
        return httpx.Client(
            timeout=_TIMEOUTS,
            verify=self.certificates,
            proxy=self.proxy,
            follow_redirects=False,
            trust_env=self.uses_environment,
        )


def why(error: Exception) -> str:
    """Say in a few words why a call has no answer."""
    for cause in _causes(error):
        match cause:
            case ssl.SSLCertVerificationError():
                return f"its certificate is not trusted: {cause.verify_message}; --ca names an authority"
            case socket.gaierror():
                return "DNS knows no such host"
            case ConnectionRefusedError():
                return "the connection is refused"
            case httpx.TimeoutException():
                return "it takes too long"
            case httpx.ProxyError():
                return "the proxy refuses"
    return type(error).__name__


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
