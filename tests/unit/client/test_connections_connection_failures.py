"""A person learns which part of a connection failed."""

import socket
import ssl

import httpcore
import pytest

from proofsweep.client.connections import cause_of


def raised_from(cause: BaseException) -> httpcore.ConnectError:
    """Wrap an error of the system as the libraries do: one raise after the other."""
    try:
        try:
            raise cause
        except OSError as below:
            raise RuntimeError("https://slot.example/?sig=SECRET") from below
    except RuntimeError as error:
        outer = httpcore.ConnectError("https://slot.example/?sig=SECRET")
        outer.__cause__ = error
        return outer


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (socket.gaierror(-2, "Name or service not known"), "DNS does not know the host's name"),
        (ConnectionRefusedError(111, "Connection refused"), "the connection was refused: nothing listens"),
        (ssl.SSLCertVerificationError(1, "certificate verify failed"), "TLS: the host's certificate is not trusted"),
        (ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER]"), "TLS failed (no reason given): is this an https address?"),
        (ConnectionResetError(104, "reset"), "the other side closed the connection"),
        (OSError(101, "Network is unreachable"), "network is unreachable"),
    ],
)
def test_the_systems_own_error_tells_the_cause(cause: OSError, words: str) -> None:
    """However often libraries wrapped it; and never the URL."""
    said = cause_of(raised_from(cause))

    assert said is not None
    assert said.startswith(words)
    assert "SECRET" not in said


def test_without_an_error_of_the_system_nothing_is_said() -> None:
    """A guess would send a person the wrong way."""
    assert cause_of(httpcore.ConnectError("?")) is None
