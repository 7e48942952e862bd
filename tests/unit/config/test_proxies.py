"""Proxies are used as the environment says, and one that cannot be used is named."""

import pytest

from proofsweep.config.proxies import Proxies, Proxy
from proofsweep.domain.errors import ConfigError


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("proxy.example:3128", "http://proxy.example:3128"),
        ("http://proxy.example", "http://proxy.example"),
        ("https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443"),
    ],
)
def test_a_proxy_is_a_host_or_a_url(address: str, url: str) -> None:
    """All programs read these variables so."""
    proxies = Proxies({"https_proxy": address})

    assert proxies.to("https", "partner.example") == Proxy("https_proxy", url)
    assert proxies.to("http", "partner.example") is None


@pytest.mark.parametrize(
    ("environment", "variable"),
    [
        ({"HTTPS_PROXY": "a:1", "ALL_PROXY": "socks://b"}, "HTTPS_PROXY"),
        ({"https_proxy": "a:1", "HTTPS_PROXY": "b:1"}, "https_proxy"),
        ({"https_proxy": "", "HTTPS_PROXY": "b:1", "all_proxy": "c:1"}, "all_proxy"),
        ({"http_proxy": "a:1"}, None),
        ({"HTTPS_PROXY": "a:1", "no_proxy": "*"}, None),
    ],
)
def test_one_variable_names_the_proxy(environment: dict[str, str], variable: str | None) -> None:
    """That of the scheme before that for all; lower case before upper case, also if it is empty."""
    proxy = Proxies(environment).to("https", "partner.example")

    assert (None if proxy is None else proxy.variable) == variable


@pytest.mark.parametrize("variable", ["https_proxy", "HTTPS_PROXY", "ALL_PROXY"])
@pytest.mark.parametrize(
    "address",
    ["socks://h", "ftp://SECRET", "SECRET://", "http://", ":3128", "http://[::1", "http://h:99999999", "h:SECRET"],
)
def test_an_unusable_proxy_is_refused(variable: str, address: str) -> None:
    """It may hold a password, so it is not shown."""
    proxies = Proxies({variable: address})

    with pytest.raises(ConfigError) as refused:
        proxies.to("https", "partner.example")

    assert f"The proxy in {variable} cannot be used: it must be a host and a port" in refused.value.message
    assert "SECRET" not in f"{refused.value.message}{proxies!r}"


def test_socks_needs_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is no dependency of ours."""
    monkeypatch.setattr("proofsweep.config.proxies.find_spec", lambda _name: None)

    with pytest.raises(ConfigError, match=r"ALL_PROXY cannot be used: SOCKS needs the Python package socksio"):
        Proxies({"ALL_PROXY": "socks5://h:1080"}).to("https", "partner.example")


@pytest.mark.parametrize(
    ("host", "is_direct"),
    [
        ("192.0.2.7", True),
        ("192.0.2.8", False),
        ("in.corp.example", True),
        ("in.dotted.example", True),
        ("notcorp.example", False),
        *((own, True) for own in ("localhost", "127.0.0.1", "127.8.9.10", "::1")),
    ],
)
def test_no_proxy_is_on_the_way_to_this_machine_and_to_what_no_proxy_names(host: str, *, is_direct: bool) -> None:
    """Hosts and addresses, as other programs read it; networks are none of them."""
    proxies = Proxies({"no_proxy": "192.0.2.7,10.0.0.0/8, corp.example, .Dotted.example,", "https_proxy": "proxy:3128"})

    assert (proxies.to("https", host) is None) is is_direct
    assert proxies.to("https", "10.1.2.3") is not None
