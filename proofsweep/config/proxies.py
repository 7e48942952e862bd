"""The proxies that an environment names, and the way to a host: through which of them, or direct."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from proofsweep.config.sections import is_loopback
from proofsweep.domain.errors import ConfigError

PROXY_KINDS = ("http", "https", "all")
_LOWER = [f"{kind}_proxy" for kind in (*PROXY_KINDS, "no")]
PROXY_VARIABLES = (*_LOWER, *map(str.upper, _LOWER))
AS_GIVEN = "_PROXIES_AS_GIVEN"  # holds these variables as JSON while they are changed for Prefect
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
    """The variables as they were given: while an embedded Prefect server runs, they are changed for Prefect."""

    environment: Mapping[str, str] = field(repr=False)

    @classmethod
    def given_in(cls, environment: Mapping[str, str]) -> "Proxies":
        as_given = environment.get(AS_GIVEN)
        given = environment if as_given is None else json.loads(as_given)
        return cls({name: given[name] for name in PROXY_VARIABLES if name in given})

    def to(self, scheme: str, host: str) -> Proxy | None:
        """Return the proxy on the way to a host, if any; ConfigError, which does not show it, if it cannot be used."""
        kind = scheme if self._value(scheme) else "all"
        if not self._value(kind) or self._is_direct(host):
            return None
        proxy = self._proxy(kind)
        if why := _trouble(proxy.url):
            raise ConfigError(f"The proxy in {proxy.variable} cannot be used: {why}. {OTHERWISE}")
        return proxy

    def is_usable(self, kind: str) -> bool:
        return not _trouble(self._proxy(kind).url)

    @property
    def exceptions(self) -> list[str]:
        """The entries of NO_PROXY; an IPv6 address without its brackets."""
        return [each for entry in self._value("no").split(",") if (each := entry.strip(" []"))]

    def _variable(self, kind: str) -> str:
        lower = f"{kind}_proxy"  # goes first, as in other programs
        return lower if lower in self.environment else lower.upper()

    def _value(self, kind: str) -> str:
        return self.environment.get(self._variable(kind), "").strip()

    def _proxy(self, kind: str) -> Proxy:
        value = self._value(kind)
        return Proxy(self._variable(kind), value if "://" in value else f"http://{value}")

    def _is_direct(self, host: str) -> bool:
        """Whether no proxy is on the way: never to this machine itself, nor to a host or network of NO_PROXY."""
        return is_loopback(host) or any(_covers(entry.lower(), host.lower()) for entry in self.exceptions)


def _covers(entry: str, host: str) -> bool:
    with suppress(ValueError):  # one of them is a name
        return ip_address(host) in ip_network(entry, strict=False)
    name = entry.removeprefix("*").removeprefix(".")
    return not name or host == name or host.endswith(f".{name}")


def _trouble(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    if not is_url:
        return _NO_URL
    return _NO_SOCKS if parts.scheme.startswith("socks") and find_spec("socksio") is None else None
