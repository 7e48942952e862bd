"""Who may see and do what."""

from collections.abc import Mapping

import pytest
from pydantic import SecretStr

from proofsweep.answers.serve.access import SESSION_SECONDS, Access, is_from_own_page, usable_token
from proofsweep.errors import ConfigError

TOKEN = "t" * 24
OWN = {"host": "localhost:8377", "sec-fetch-site": "same-origin"}


def access(now: float = 1_000.0, *, guards_reading: bool = False, token: str | None = TOKEN) -> Access:
    """Return the access of a server at `catalog.example`."""
    secret = None if token is None else SecretStr(token)
    names = frozenset({"catalog.example"})
    return Access(token=secret, guards_reading=guards_reading, names=names, clock=lambda: now)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost:8377", True),
        ("LOCALHOST", True),
        ("127.0.0.1:8377", True),
        ("[::1]:8377", True),
        ("192.168.1.9", True),
        ("catalog.example", True),
        ("Catalog.Example.:443", True),
        ("evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("localhost.evil.example", False),
        ("", False),
        ("[::1", False),
        ("a:b:c", False),
    ],
)
def test_a_name_of_another_site_is_refused(host: str, expected: bool) -> None:
    """Addresses and this server's names are its own; a name that anybody may have made to lead here is not."""
    assert access().is_own_host(host) is expected


@pytest.mark.parametrize("text", ["", "   \n", "short", "x" * 15, "two words that are long enough", "ü" * 24])
def test_a_token_that_can_be_guessed_or_sent_by_no_header_is_refused(text: str) -> None:
    """The message says how to make one, and does not show what was given."""
    with pytest.raises(ConfigError, match="openssl rand") as refused:
        usable_token(text, where="The file token")

    assert not text.strip() or text not in refused.value.message


def test_a_token_is_read_without_the_line_break_of_its_file() -> None:
    """Editors end the last line."""
    assert usable_token(f"{TOKEN}\n", where="The file").get_secret_value() == TOKEN


def test_a_session_is_made_of_the_token_and_ends() -> None:
    """It shows nothing of the token, and counts with this token alone, for half a day."""
    session = access().new_session()

    assert TOKEN not in session
    assert access(1_000.0 + SESSION_SECONDS - 1).is_session(session)
    assert not access(1_000.0 + SESSION_SECONDS).is_session(session)
    assert not access(token="u" * 24).is_session(session)
    assert not access(token=None).is_session(session)


@pytest.mark.parametrize("forged", ["", ".", "9999999999", "9999999999.", "²." + "0" * 64, "-1.x", "99999999999.é"])
def test_a_session_that_somebody_made_up_is_none(forged: str) -> None:
    """Whatever a cookie holds is answered, not raised."""
    assert not access().is_session(forged)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, False),
        ({"authorization": TOKEN}, False),
        ({"authorization": f"Bearer {TOKEN}"}, True),
        ({"authorization": f"bearer {TOKEN}"}, True),
        ({"authorization": "Bearer wrong"}, False),
        ({"authorization": "Bearer \udc80"}, False),
    ],
)
def test_a_program_acts_with_the_token_in_a_header(headers: Mapping[str, str], expected: bool) -> None:
    """No browser adds this header by itself, so it needs no page of this site."""
    assert access().may_act(headers, "") is expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (OWN, True),
        ({"host": "localhost:8377", "sec-fetch-site": "cross-site"}, False),
        ({"host": "localhost:8377", "sec-fetch-site": "same-site"}, False),
        ({"host": "localhost:8377", "sec-fetch-site": "none"}, False),
        ({"host": "localhost:8377", "origin": "http://localhost:8377"}, True),
        ({"host": "localhost:8377", "origin": "http://localhost:9"}, False),
        ({"host": "localhost:8377", "origin": "null"}, False),
        ({"host": "localhost:8377"}, False),
        ({}, False),
    ],
)
def test_a_session_acts_in_pages_of_this_site_alone(headers: Mapping[str, str], expected: bool) -> None:
    """A form on another site, or on another port of this machine, has the cookie perhaps, but not the origin."""
    assert is_from_own_page(headers) is expected
    assert access().may_act(headers, access().new_session()) is expected


def test_nobody_acts_where_there_is_no_token() -> None:
    """An empty token is not the missing one."""
    closed = access(token=None)

    assert not closed.may_act({"authorization": "Bearer "}, "")
    assert not closed.may_act(OWN, closed.new_session())


def test_reading_is_free_unless_the_token_guards_it() -> None:
    """A guarded page is shown to a session and to a program with the token."""
    guarded = access(guards_reading=True)

    assert access().may_read({}, "")
    assert not guarded.may_read({}, "")
    assert guarded.may_read({}, guarded.new_session())
    assert guarded.may_read({"authorization": f"Bearer {TOKEN}"}, "")
