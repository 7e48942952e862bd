"""A proxy of the environment is used as it says, or refused in one line that names the variable."""

from importlib.util import find_spec

import pytest

from proofsweep.client.connections import proxy_for
from proofsweep.domain.errors import ConfigError

VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin without the proxies of this machine."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.mark.parametrize(
    ("address", "target"),
    [
        ("proxy.example:3128", (b"http", b"proxy.example", 3128)),
        ("http://proxy.example", (b"http", b"proxy.example", None)),
        ("https://[2001:db8::1]:8443", (b"https", b"2001:db8::1", 8443)),
    ],
)
def test_a_proxy_is_a_host_or_a_url(
    monkeypatch: pytest.MonkeyPatch, address: str, target: tuple[bytes, bytes, int | None]
) -> None:
    """All programs read these variables so."""
    monkeypatch.setenv("https_proxy", address)

    proxy = proxy_for("https", "partner.example")

    assert proxy is not None
    assert (proxy.url.scheme, proxy.url.host, proxy.url.port) == target
    assert proxy_for("https", "127.0.0.1") is None
    assert proxy_for("http", "partner.example") is None


def test_user_and_password_go_to_the_proxy_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are a header for it, and no part of its address."""
    monkeypatch.setenv("ALL_PROXY", "http://me:p%40ss@proxy.example:3128")

    proxy = proxy_for("https", "partner.example")

    assert proxy is not None
    assert proxy.auth == (b"me", b"p@ss")
    assert (proxy.url.host, proxy.url.port) == (b"proxy.example", 3128)


@pytest.mark.parametrize("variable", ["https_proxy", "ALL_PROXY"])
@pytest.mark.parametrize(
    "address", ["ftp://SECRET", "SECRET://", "http://", "http://:3128", "http://[::1", "http://h:99999999", "h:SECRET"]
)
def test_an_unusable_proxy_is_refused(monkeypatch: pytest.MonkeyPatch, variable: str, address: str) -> None:
    """It may hold a password, so it is not shown."""
    monkeypatch.setenv(variable, address)

    with pytest.raises(ConfigError) as refused:
        proxy_for("https", "partner.example")

    assert f"The proxy in {variable.lower()} or {variable.upper()} cannot be used" in refused.value.message
    assert "SECRET" not in refused.value.message
    assert proxy_for("https", "127.0.0.1") is None


@pytest.mark.skipif(find_spec("socksio") is not None, reason="the package is there")
def test_a_socks_proxy_needs_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no dependency: few need it."""
    monkeypatch.setenv("all_proxy", "socks5://proxy.example:1080")

    with pytest.raises(ConfigError, match="package socksio"):
        proxy_for("https", "partner.example")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.9.10", "::1"])
def test_no_proxy_is_on_the_way_to_this_machine(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    """It could not lead back here: a sandbox on this machine is reached with any setting."""
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")

    assert proxy_for("http", host) is None
    assert proxy_for("http", "partner.example") is not None


@pytest.mark.parametrize(
    ("host", "is_direct"),
    [
        ("10.1.2.3", True),
        ("11.1.2.3", False),
        ("fd00::1:2", True),
        ("fe00::1", False),
        ("192.0.2.7", True),
        ("192.0.2.8", False),
        ("2001:db8:0:0::7", True),
        ("in.corp.example", True),
        ("10.example", False),
        ("*", False),
    ],
)
def test_no_proxy_names_hosts_addresses_and_networks(
    monkeypatch: pytest.MonkeyPatch, host: str, *, is_direct: bool
) -> None:
    """As other programs read it, and in every spelling of an address; what is neither covers nothing."""
    monkeypatch.setenv("no_proxy", "10.0.0.0/8, fd00::/8,192.0.2.7, [2001:db8::7],corp.example, 1/2/3,")
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")

    assert (proxy_for("https", host) is None) is is_direct
