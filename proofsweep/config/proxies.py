"""The proxies that an environment names, and the way to a host: through which of them, or direct."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec

from proofsweep.config.locations import split_url
from proofsweep.config.sections import is_loopback
from proofsweep.domain.errors import ConfigError

_SCHEMES = ("http", "https", "socks5", "socks5h")
_NO_URL = "it must be a host and a port, or a URL that begins with http://, https://, socks5:// or socks5h://"
_NO_SOCKS = "SOCKS needs the Python package socksio: install it, or set an HTTP proxy"
OTHERWISE = "Correct or unset the variable, or name the host in NO_PROXY."


@dataclass(frozen=True, slots=True)
class Proxy:
    variable: str  # that names it
    url: str = field(repr=False)  # may hold a password


@dataclass(frozen=True, slots=True)
class Proxies:
    environment: Mapping[str, str] = field(repr=False)

    def to(self, scheme: str, host: str) -> Proxy | None:
        """Return the proxy on the way to a host, if any; ConfigError, which does not show it, if it cannot be used."""
        if self._is_direct(host):
            return None
        variable, value = self._named(scheme)
        if not value:
            variable, value = self._named("all")
        if not value:
            return None
        url = value if "://" in value else f"http://{value}"
        why = _trouble(url)
        if why:
            raise ConfigError(f"The proxy in {variable} cannot be used: {why}. {OTHERWISE}")
        return Proxy(variable, url)

    @property
    def exceptions(self) -> list[str]:
        """The hosts and addresses of NO_PROXY; an IPv6 address without its brackets."""
        _, listed = self._named("no")
        entries = [entry.strip(" []") for entry in listed.split(",")]
        return [entry for entry in entries if entry and "/" not in entry]

    def _is_direct(self, host: str) -> bool:
        """Whether no proxy is on the way: never to this machine itself, nor to a host of NO_PROXY."""
        if is_loopback(host):
            return True
        for entry in self.exceptions:
            domain = entry.lower().removeprefix("*").removeprefix(".")
            # A lone `*` stands for all hosts.
            if not domain or f".{host.lower()}".endswith(f".{domain}"):
                return True
        return False

    def _named(self, kind: str) -> tuple[str, str]:
        """Return the variable of a kind, lower case first as in other programs, and its value."""
        lower = f"{kind}_proxy"
        variable = lower if lower in self.environment else lower.upper()
        return variable, self.environment.get(variable, "").strip()


def _trouble(url: str) -> str | None:
    parts = split_url(url)
    if parts.scheme not in _SCHEMES or not parts.hostname:
        return _NO_URL
    if parts.scheme.startswith("socks") and find_spec("socksio") is None:
        return _NO_SOCKS
    return None
