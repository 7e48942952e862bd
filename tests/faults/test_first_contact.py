"""Before a service was reached once: a wrong address, a dead proxy, and proxies of a desktop that mean others."""

import subprocess
import sys
import time

import pytest

from ..servers.free_ports import free_ports
from ..worlds.core import set_chosen
from ..worlds.foreign_world import ForeignWorld

DEAD = "http://127.0.0.1:9"
ELSEWHERE = "https://partner.invalid/v1"
"""Not on this machine, so that a proxy is on the way."""


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_proxies_of_a_desktop_reach_neither_prefect_nor_a_service_here(
    bare_world: ForeignWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command starts its own Prefect server, which no proxy can lead to; nor can its client read each exception."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    desktop = {"http_proxy": DEAD, "https_proxy": DEAD, "ALL_PROXY": DEAD}
    for name, text in (desktop | {"no_proxy": "[::1],fd00::/8,corp.example:80"}).items():
        monkeypatch.setenv(name, text)

    catalog = bare_world.catalog("valid", "tampered")
    command = [sys.executable, "-m", "proofsweep_cli", "verify", catalog, "--results", bare_world.results_url]
    done = subprocess.run(command, check=False, capture_output=True, text=True)

    assert done.returncode == 3, done.stderr
    assert [row["verdict"] for row in bare_world.rows()] == ["valid", "tampered"]
    assert "roxy" not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("command", "variable", "address", "line"),
    [
        ("verify", "https_proxy", "h:SECRET", "The proxy in https_proxy cannot be used: it must be a host and a port"),
        ("verify", "HTTPS_PROXY", DEAD, f"The service at {ELSEWHERE} is not reached through the proxy in HTTPS_PROXY"),
        ("verify", "ALL_PROXY", "socks://h/", "The proxy in ALL_PROXY cannot be used: it must be a host and a port"),
        ("doctor", "HTTPS_PROXY", DEAD, f"The service at {ELSEWHERE} is not reached through the proxy in HTTPS_PROXY"),
    ],
)
def test_a_proxy_that_leads_nowhere_is_named_before_anything_is_planned(
    world: ForeignWorld,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    *,
    command: str,
    variable: str,
    address: str,
    line: str,
) -> None:
    """Exit 2, with the variable and what to do; `doctor` says the same of the service."""
    monkeypatch.setenv("PROOFSWEEP_SERVICE__BASE_URL", ELSEWHERE)
    monkeypatch.setenv("PROOFSWEEP_CONFIG", "production")
    monkeypatch.setenv(variable, address)
    catalog = world.catalog("valid")

    code = world.run(*([command] if command == "doctor" else [command, catalog]))

    out, err = capfd.readouterr()
    (said,) = [each for each in (out + err).splitlines() if line in each]
    assert code == 2
    assert said.endswith("Correct or unset the variable, or name the host in NO_PROXY.")
    assert "SECRET" not in out + err
    assert not world.runs


def test_a_service_that_was_never_reached_is_named_soon_and_given_up(
    world: ForeignWorld, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A person who gave a wrong port learns it within seconds, and how long it is tried."""
    url = f"http://127.0.0.1:{free_ports(1)[0]}/v1"
    monkeypatch.setenv("PROOFSWEEP_SERVICE__BASE_URL", url)
    monkeypatch.setenv("PROOFSWEEP_RETRY__BREAKER_SECONDS", "600")
    set_chosen(monkeypatch, first_contact_seconds=5)
    catalog, began = world.catalog("valid"), time.monotonic()

    code = world.run("verify", catalog)

    said = capfd.readouterr().err.splitlines()
    assert code == 8
    assert said[0] == f"proofsweep: The service at {url} cannot be reached yet; it is tried for 5 s."
    assert f"The service at {url} does not answer" in said[-1]
    assert time.monotonic() - began < 15.0
    assert not world.runs
