"""`proofsweep serve`: what it refuses, each with one line and exit code 2, before it listens."""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Command = Callable[..., CompletedProcess[str]]


@pytest.fixture
def taken() -> Iterator[int]:
    """A port at which something listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param(("--host", "0.0.0.0"), "--read-only", id="others could read without a token"),  # noqa: S104 - nothing listens
        pytest.param(("--token-file", "nothing"), "cannot be read", id="no such token file"),
        pytest.param(("--token-file", "short"), "holds no token", id="a token that can be guessed"),
        pytest.param(("--host", "no.such.host.invalid", "--read-only"), "cannot be used", id="no such host"),
        pytest.param(("--port", "70000"), "65535", id="no such port"),
        pytest.param(("--results", "ftp://x"), "not supported", id="no such kind of store"),
        pytest.param(("--config", "nothing"), "There is no profile", id="no such profile"),
    ],
)
def test_what_cannot_be_served_is_one_line(
    proofsweep: Command, workdir: Path, options: tuple[str, ...], said: str
) -> None:
    """Nothing listens, and nothing is written."""
    (workdir / "short").write_text("1234\n")

    done = proofsweep("serve", "--port", "0", *options)

    assert (done.returncode, done.stdout, done.stderr.strip().count("\n")) == (2, "", 0)
    assert said in done.stderr
    assert [path.name for path in workdir.iterdir()] == ["short"]


def test_a_taken_port_is_one_line(proofsweep: Command, taken: int) -> None:
    """It names the port, and what to do."""
    done = proofsweep("serve", "--port", str(taken))

    assert done.returncode == 2
    because = "cannot be used (Address already in use): name others with --host and --port."
    assert done.stderr == f"proofsweep: 127.0.0.1, port {taken} {because}\n"


@pytest.mark.parametrize(
    "url", ["catalog.example", "ftp://catalog.example", "https://a:b@catalog.example", "https://x/y"]
)
def test_an_address_that_cannot_be_one_is_refused(
    proofsweep: Command, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    """The line names the setting, and does not show its value."""
    monkeypatch.setenv("PROOFSWEEP_SERVE__URL", url)

    done = proofsweep("serve", "--port", "0")

    assert done.returncode == 2
    assert "serve.url: must be an address like https://host:8377" in done.stderr
    assert "a:b" not in done.stderr
