"""The proxy on the way to a host: of HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, or the system's own settings."""

from contextlib import suppress
from importlib.util import find_spec
from ipaddress import ip_address, ip_network
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from proofsweep.errors import ConfigError

_LOOPBACK = ("127.0.0.0/8", "::1")
_NO_URL = "it must be a host and a port, or a URL that begins with http://, https://, socks5:// or socks5h://"
_NO_SOCKS = "SOCKS needs the Python package socksio; install it, or set an HTTP proxy"


def proxy_for(scheme: str, host: str) -> httpcore.Proxy | None:
    """Read the proxy on the way to a host; None if there is none.

    ConfigError if it cannot be used. The error does not show it: it may hold a password.
    """
    proxies = getproxies()
    kind = scheme if proxies.get(scheme) else "all"
    address = proxies.get(kind)
    if not address or _is_direct(host, proxies.get("no", "")):
        return None
    try:
        given = httpx.Proxy(address if "://" in address else f"http://{address}")
        proxy = httpcore.Proxy(str(given.url), auth=given.raw_auth)
    except (httpx.InvalidURL, ValueError):
        raise _unusable(kind, _NO_URL) from None
    if not given.url.host:
        raise _unusable(kind, _NO_URL)
    if given.url.scheme.startswith("socks") and find_spec("socksio") is None:
        raise _unusable(kind, _NO_SOCKS)
    return proxy


def _is_direct(host: str, no_proxy: str) -> bool:
    """Whether no proxy is on the way: never to this machine itself, nor to a host or network of NO_PROXY."""
    for network in (*_LOOPBACK, *no_proxy.split(",")):
        with suppress(ValueError):  # one of them is a name
            if ip_address(host) in ip_network(network.strip(" []"), strict=False):
                return True
    return host == "localhost" or bool(proxy_bypass(host))


def _unusable(kind: str, why: str) -> ConfigError:
    name = f"{kind}_proxy"
    return ConfigError(f"The proxy in {name} or {name.upper()} cannot be used: {why}.")
