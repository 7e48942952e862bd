"""Text that others wrote is shown on one line and steers nothing, in errors too."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from math import inf, nan

import pytest

from proofsweep.domain.errors import SourceError
from proofsweep.domain.text import csv_cell, markdown, percent_of, printable, printable_json, without_logins

HOSTILE = [
    ("a\nb", r"a\nb"),
    ("a\r\tb", r"a\r\tb"),
    ("\x1b[2J", r"\x1b[2J"),
    ("\x00\x7f", r"\x00\x7f"),
    ("\x9b31m", r"\x9b31m"),  # one character that begins a terminal's command, too
    ("\x85\u2028\u2029", r"\x85\u2028\u2029"),
    ("gpj\u202e\u2066\u200f", r"gpj\u202e\u2066\u200f"),
    ("soft\u00adhy\ufeff\u200b", r"soft\xadhy\ufeff\u200b"),
    ("undecodable \udcff", r"undecodable \udcff"),
    ("no letters \ufffe\uffff", r"no letters \ufffe\uffff"),  # a workbook cannot hold them
]


@pytest.mark.parametrize(("text", "shown"), HOSTILE)
def test_what_is_not_seen_becomes_an_escape(text: str, shown: str) -> None:
    """No newline ends a line, no sequence clears a screen; a program that reads JSON gets every character back."""
    written = printable_json({"audio": text, "é": "é"})

    assert printable(text) == shown
    assert printable(shown) == shown
    assert json.loads(written) == {"audio": text, "é": "é"}
    assert printable(written) == written
    assert "é" in written


@pytest.mark.parametrize(
    "name",
    ["Sigur Rós - Glósóli.wav", "初音ミク\u3000夏.flac", "क\u200dष.wav", "👩\u200d🎤.wav", "a\u00a0b", "C:\\n"],
)
def test_what_is_seen_is_shown_as_it_is(name: str) -> None:
    """Names come in all languages; a joiner spells some of them."""
    assert printable(name) == name


def test_json_knows_no_infinity_and_no_nan() -> None:
    """A division by zero, however deep, is null: every other program refuses the whole document."""
    document = {"a": inf, "b": [nan, {"c": -inf}], "d": Decimal("1.50"), "e": 2}

    assert json.loads(printable_json(document)) == {"a": None, "b": [None, {"c": None}], "d": 1.5, "e": 2}


def test_json_can_be_written_in_ascii() -> None:
    """A stream that lacks a letter gets its escape; the reader gets the letter back."""
    written = printable_json({"audio": "Köln 🎤\u202e"}, is_ascii=True)

    assert written.isascii()
    assert json.loads(written) == {"audio": "Köln 🎤\u202e"}


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("+49 30 1234", "'+49 30 1234"),
        ("-1+cmd", "'-1+cmd"),
        ("\t=1", "'\t'=1"),
        ("-5", "'-5"),
        (-5, "-5"),
        (-1.5e-7, "-1.5e-07"),
        (Decimal("-0.0000001"), "-0.0000001"),
        (None, ""),
        (True, "true"),
        ([{"a": "=1"}], '[{"a": "=1"}]'),
    ],
)
def test_a_cell_is_no_formula_and_a_number_stays_a_number(cell: object, written: str) -> None:
    """A negative number begins like a formula, and a spreadsheet can add it up all the same; a tag is text."""
    assert csv_cell(cell) == written


@pytest.mark.parametrize(
    ("part", "whole", "says"),
    [
        (0, 0, "0.0"),
        (999_999, 1_000_000, "99.9"),
        (1, 1_000_000, "0.1"),
        (3, 3, "100"),
        (1, 3, "33.3"),
        (2, 3, "66.7"),
    ],
)
def test_a_share_is_rounded(part: int, whole: int, says: str) -> None:
    """One hundred percent means all, and none means none."""
    assert percent_of(part, whole) == says


def test_json_has_instants_in_iso_8601() -> None:
    assert printable_json({"at": datetime(2026, 11, 27, 6, 30, tzinfo=UTC)}) == '{"at": "2026-11-27T06:30:00+00:00"}'


def test_markdown_shows_the_text_itself() -> None:
    """No cell, link, picture, code or tag begins in it."""
    assert markdown("a|b\n`c` <d> [e](f) *g* h_i #") == r"a\|b\\n\`c\` \<d\> \[e\]\(f\) \*g\* h\_i \#"


def test_a_message_is_one_line() -> None:
    """It quotes names and answers that others wrote, and is shown in many places, Prefect's log among them."""
    error = SourceError("The file a\nb\x1b[2J is gone.", reason="missing_audio")

    assert str(error) == error.message == r"The file a\nb\x1b[2J is gone."


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Failed to reach API at http://admin:s3cret@host:4200/api", "Failed to reach API at http://host:4200/api"),
        ("https://token@host/ and tcp://a:b@host:1.", "https://host/ and tcp://host:1."),
        (
            "abfss://container@account/a.wav, s3://bucket/me@home",
            "abfss://container@account/a.wav, s3://bucket/me@home",
        ),
        ("https://host:8080/cover@2x.png", "https://host:8080/cover@2x.png"),
    ],
)
def test_a_login_in_a_url_is_not_shown(text: str, shown: str) -> None:
    """Whatever a library says is printed through it; a container of Azure and a sign in a path are no login."""
    assert without_logins(text) == shown
