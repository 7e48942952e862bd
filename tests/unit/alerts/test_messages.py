"""Text that others wrote cannot act in a message: it mentions nobody, links nowhere and stays on its line."""

import pytest

from proofsweep.alerts.rules import AlertKind, cause_of, harmless, quoted, shortened

HOSTILE = [
    "<!channel> everybody",
    "<@U024BE7LH>",
    "@everyone @here @channel",
    "[click](https://evil.example)",
    "` closes the span",
    "a\nTo do: pay\r\n",
    "\x1b[31mred\x07",
    "left \u202e right \u2066",
    "line\u2028separator\x00",
    "caf\udce9",
    "&lt;!here&gt;",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_foreign_text_leaves_its_code_span(text: str) -> None:
    """Chat programs read `<…>` and `@…` as mentions even inside a code span, so these letters are replaced."""
    span = quoted(text)

    assert span[0] == span[-1] == "`"
    assert not set("<>@&`\n\r\x1b\x00\u202e\u2028") & set(span[1:-1])
    assert span[1:-1].isprintable()
    span.encode("utf-8")


def test_plain_text_stays_as_it_is() -> None:
    """A path or a name is found by searching for it; underscores and stars mean nothing in a code span."""
    assert quoted("s3://label/catalog_2026/*.csv") == "`s3://label/catalog_2026/*.csv`"
    assert harmless("Größe 東京") == "Größe 東京"


def test_long_text_is_cut_and_empty_text_is_still_a_span() -> None:
    """A supplier's name of a megabyte does not fill the message."""
    assert len(harmless("x" * 1_000_000)) == 300
    assert harmless("x" * 301).endswith("…")
    assert quoted("") == "` `"


def test_a_long_list_is_shortened_and_says_by_how_much() -> None:
    """A catalog may have hundreds of suppliers."""
    assert shortened([str(number) for number in range(12)])[-2:] == ["9", "- and 2 more"]
    assert shortened(["one"]) == ["one"]


def test_parts_of_a_cause_cannot_be_confused() -> None:
    """A name with a tab is not two names."""
    assert cause_of(AlertKind.SUNSET, "a\tb", "c") != cause_of(AlertKind.SUNSET, "a", "b", "c")
