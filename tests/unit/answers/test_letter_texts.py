"""What letters say can be edited and translated."""

from pathlib import Path

import pytest

from proofsweep.answers.letter_texts import letter_texts, shipped_texts
from proofsweep.errors import ConfigError
from proofsweep.model.reasons import REASONS, Reason


def test_each_reason_that_a_supplier_hears_of_has_a_text_of_its_own() -> None:
    """Also those of which the sender of a delivery is told; texts of no use are none of them."""
    told = {word for word, entry in REASONS.items() if entry.tells_supplier} | {Reason.MISSING_AUDIO}

    assert letter_texts().reasons.keys() == told


def test_shipped_texts_use_none_of_our_words() -> None:
    """A supplier does not know what we do with a file, nor our commands and codes."""
    texts = letter_texts()
    said = " ".join(f"{each.what} {each.why} {each.request}" for each in texts.reasons.values()).lower()

    assert [
        word
        for word in ("reject", "supplier", "--", "_", "run", "row", "proofsweep", "ineligible")
        if word in said.replace("running", "").split()
    ] == []


def test_own_texts_take_the_place_of_the_shipped_ones(tmp_path: Path) -> None:
    """What they leave out is said as shipped."""
    own = tmp_path / "de.toml"
    own.write_text('title = "Dateien von {supplier}"\n[reasons.empty]\nwhat = "Leer"\nrequest = "Bitte neu senden."\n')

    texts = letter_texts(own)

    assert texts.title_for("Süd") == "Dateien von Süd"
    assert (texts.about("empty").what, texts.about("empty").why) == ("Leer", "")
    assert texts.about("tampered") == letter_texts().about("tampered")
    assert texts.about("a_reason_of_tomorrow") == texts.other


def test_the_printed_texts_can_be_read_back(tmp_path: Path) -> None:
    """Who edits them begins with these."""
    own = tmp_path / "en.toml"
    own.write_text(shipped_texts())

    assert letter_texts(own) == letter_texts()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[reasons.emty]\nwhat = 'x'\nrequest = 'y'", "no reason 'emty'.*did you mean empty"),
        ("[reasons.empty]\nwhat = 'x'", "reasons.empty.request: field required"),
        ("titel = 'x'", "titel: extra inputs"),
        ("reasons = 1", "reasons: input should be"),
        ("title = ", "not TOML"),
    ],
)
def test_texts_that_cannot_be_used_are_refused_in_one_line(tmp_path: Path, content: str, said: str) -> None:
    """It names the file and the place in it."""
    own = tmp_path / "own.toml"
    own.write_text(content)

    with pytest.raises(ConfigError, match=f"(?i)own.toml cannot be used: .*{said}"):
        letter_texts(own)


def test_texts_that_are_not_there_are_refused(tmp_path: Path) -> None:
    """With what the system says."""
    with pytest.raises(ConfigError, match="No such file"):
        letter_texts(tmp_path / "none.toml")
