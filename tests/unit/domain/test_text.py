"""Text that others wrote is shown on one line and steers nothing, in errors too."""

import json
from datetime import UTC, datetime

import pytest

from proofsweep.domain.errors import SourceError
from proofsweep.domain.text import markdown, printable, printable_json

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


def test_json_has_instants_in_iso_8601() -> None:
    assert printable_json({"at": datetime(2026, 11, 27, 6, 30, tzinfo=UTC)}) == '{"at": "2026-11-27T06:30:00+00:00"}'


def test_markdown_shows_the_text_itself() -> None:
    """No cell, link, picture, code or tag begins in it."""
    assert markdown("a|b\n`c` <d> [e](f) *g* h_i #") == r"a\|b\\n\`c\` \<d\> \[e\]\(f\) \*g\* h\_i \#"


def test_a_message_is_one_line() -> None:
    """It quotes names and answers that others wrote, and is shown in many places, Prefect's log among them."""
    error = SourceError("The file a\nb\x1b[2J is gone.", reason="missing_audio")

    assert str(error) == error.message == r"The file a\nb\x1b[2J is gone."
