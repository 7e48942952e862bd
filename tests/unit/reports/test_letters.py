"""What suppliers are told of their files, and the template of it."""

from pathlib import Path

import pytest

from proofsweep.domain.errors import ConfigError
from proofsweep.domain.items import Row
from proofsweep.domain.reasons import Reason, reason_entries
from proofsweep.reports.letters import letter_texts, name_for_supplier, shipped_template, tells_supplier

TEXTS = letter_texts()
OURS = ("reject", "supplier", "--", "_", "run", "row", "proofsweep", "ineligible")


def row_of(reason: str | None, outcome: str = "rejected", **cells: object) -> Row:
    """Return a row of the table `verdicts`, as far as it is read here."""
    return {"outcome": outcome, "reason": reason, "audio": "/music/a.wav", "relative_path": "a.wav"} | cells


def test_a_letter_groups_files_by_what_is_asked_for() -> None:
    """Then by what is wrong. Most files come first; a name cannot forge a line."""
    letter = TEXTS.letter_to(
        "No\nrth",
        [
            ("b.wav", {}, "tampered"),
            ("x\n2. y.wav", {"ISRC": "QZABC2600001", "Title": "A *song*"}, "empty"),
            ("c.wav", {}, "damaged_in_delivery"),
        ],
    )

    assert letter.startswith("Files from No\\nrth\n")
    asked = [line for line in letter.splitlines() if line[:1].isdigit()]
    assert asked == ["1. Please send the file again.", "2. Please send the original, untouched delivery again."]
    assert '   - x\\n2. y.wav, ISRC QZABC2600001, "A *song*"\n' in letter
    assert letter.index("The file is empty.") < letter.index("   - c.wav") < letter.index("2. Please")


def test_a_letter_to_nobody_says_so() -> None:
    """So does a line about a file whose name is none of the supplier's."""
    letter = TEXTS.letter_to("", [("", {}, "no_asset")])

    assert letter.startswith("Files from an unknown supplier\n")
    assert letter.endswith("   - a file without a name\n")


@pytest.mark.parametrize(
    ("row", "tags", "is_told"),
    [
        (row_of("tampered"), {}, True),
        (row_of("a_verdict_of_tomorrow"), {}, True),
        (row_of("too_large", "ineligible"), {}, True),
        (row_of(None, "accepted"), {}, False),
        (row_of("source_changed", "failed"), {}, False),
        (row_of("timeout", "failed"), {}, False),
        (row_of("contradictory_answer"), {}, False),
        (row_of("source_forbidden", "ineligible"), {}, False),
        (row_of("missing_audio", "ineligible"), {}, False),
        (row_of("missing_audio", "ineligible"), {"message_id": "M1"}, True),
    ],
)
def test_a_supplier_hears_of_what_is_wrong_with_a_file_alone(row: Row, tags: dict[str, str], *, is_told: bool) -> None:
    """What is our own fault, or the service's, is told to nobody; nor is a file that only our catalog names."""
    assert tells_supplier(row, tags) is is_told
    assert (TEXTS.for_supplier(row, tags) is not None) is is_told


@pytest.mark.parametrize(
    ("audio", "relative", "root", "name"),
    [
        ("/music/acme/a.wav", "acme/a.wav", "file:///music", "acme/a.wav"),
        ("/music/acme/a.wav", None, "file:///music", "acme/a.wav"),
        ("/music/acme/a.wav", "/music/acme/a.wav", "file:///music", "acme/a.wav"),
        ("/other/a.wav", "../other/a.wav", "file:///music", "a.wav"),
        ("/other/a.wav", None, None, "a.wav"),
        ("s3://ours/in/acme/a.wav", "s3://ours/in/acme/a.wav", "s3://ours/in", "acme/a.wav"),
        ("s3://ours/in/a.wav", None, None, "a.wav"),
        ("proof:prf_1", None, "file:///music", ""),
        ("proof:prf_1", "proof:prf_1", None, ""),
    ],
)
def test_a_file_has_the_name_that_its_supplier_knows(
    audio: str, relative: str | None, root: str | None, name: str
) -> None:
    """Never our own folders or buckets, nor the ID of a proof."""
    assert name_for_supplier(row_of("empty", audio=audio, relative_path=relative), root) == name


def test_each_reason_that_a_supplier_hears_of_has_a_text_of_its_own() -> None:
    """Also those of which the sender of a delivery is told; texts of no use are none of them."""
    told = {word for word, entry in reason_entries().items() if entry.tells_supplier} | {Reason.MISSING_AUDIO}

    assert TEXTS.reasons.keys() == told


def test_shipped_texts_use_none_of_our_words() -> None:
    """A supplier does not know what we do with a file, nor our commands and codes."""
    said = " ".join(each.sentences for each in TEXTS.reasons.values()).lower().split()

    assert [word for word in OURS if word in said] == []


def test_own_texts_take_the_place_of_the_shipped_ones(tmp_path: Path) -> None:
    """What they leave out is said as shipped; only `letter` has placeholders."""
    own = tmp_path / "de.toml"
    own.write_text(
        'letter = "Dateien von {supplier}\\n{problems}"\n'
        '[reasons.empty]\nwhat = "{Leer}."\nrequest = "Bitte neu senden."\n'
    )

    texts = letter_texts(own)

    assert texts.letter_to("Süd", [("{supplier}.wav", {}, "empty")]) == (
        "Dateien von Süd\n1. Bitte neu senden.\n\n   {Leer}.\n   - {supplier}.wav\n"
    )
    assert texts.for_supplier(row_of("empty"), {}) == "{Leer}. Bitte neu senden."
    assert texts.about("tampered") == TEXTS.about("tampered")
    assert texts.about("a_reason_of_tomorrow") == texts.other


def test_the_printed_template_can_be_read_back(tmp_path: Path) -> None:
    """Who edits it begins with it; an editor may put a mark at its start."""
    own = tmp_path / "en.toml"
    own.write_text(shipped_template(), encoding="utf-8-sig")

    assert letter_texts(own) == TEXTS


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[reasons.emty]\nwhat = 'x'\nrequest = 'y'", "no reason 'emty'.*did you mean empty"),
        ("[reasons.empty]\nwhat = 'x'", "reasons.empty.request: field required"),
        ("titel = 'x'", "titel: extra inputs"),
        ("reasons = 1", "reasons: input should be"),
        ("letter = ", "not TOML"),
        ("letter = '{suplier} {problems}'", r"no placeholder \{suplier\} \(did you mean supplier\?\)"),
        ("letter = 'Dear {supplier.name}, {problems}'", r"no placeholder \{supplier\.name\}"),
        ("letter = 'Dear {supplier}'", r"it lacks \{problems\}"),
    ],
)
def test_a_template_that_cannot_be_used_is_refused_in_one_line(tmp_path: Path, content: str, said: str) -> None:
    """It names the file and the place in it."""
    own = tmp_path / "own.toml"
    own.write_text(content)

    with pytest.raises(ConfigError, match=f"(?i)own.toml cannot be used: .*{said}") as refused:
        letter_texts(own)
    assert "\n" not in refused.value.message


def test_a_template_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """With what the system says."""
    with pytest.raises(ConfigError, match="No such file"):
        letter_texts(tmp_path / "none.toml")
