"""Suppliers read English, German, or what a person has written into a file."""

from collections.abc import Callable
from pathlib import Path

import pytest

from proofsweep.domain.errors import UsageError
from proofsweep.domain.reasons import Reason, reason_entries
from proofsweep.reports import languages
from proofsweep.reports.languages import Languages, language_named

TOLD = {word for word, entry in reason_entries().items() if entry.tells_supplier} | {Reason.MISSING_AUDIO}
WRITTEN = Path(languages.__file__).parent.joinpath("languages", "en.toml").read_text("utf-8")


@pytest.mark.parametrize("code", ["en", "de"])
def test_each_reason_that_a_supplier_hears_of_has_words_of_its_own(code: str) -> None:
    """Also those of which the sender of a delivery is told."""
    language = language_named(code)

    assert TOLD - language.reasons.keys() == set()
    assert not [problem for problem in (language.open, *language.reasons.values()) if ".." in problem.in_words]
    assert len({problem.sentences for problem in language.reasons.values()}) == len(language.reasons)


def test_german_says_of_each_reason_what_english_does() -> None:
    """No sentence of it is the English one."""
    english, german = language_named("en"), language_named("DE")

    assert english.reasons.keys() == german.reasons.keys()
    same = [name for name in english.reasons if english.reasons[name].sentences == german.reasons[name].sentences]
    assert same == []


def test_a_language_of_ones_own_is_a_file(tmp_path: Path) -> None:
    """It is a copy with other words; a reason that it leaves out has those of all others."""
    path = tmp_path / "fr.toml"
    known, _, _ = WRITTEN.partition("[reasons.audioChanged]")
    path.write_text(known.replace("Files from {supplier}", "Fichiers de {supplier}"), "utf-16")

    french = language_named(str(path))

    assert french.title == "Fichiers de {supplier}"
    assert french.problem("tampered") == french.reasons["other"]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (lambda text: text.replace("date =", "dat ="), "is not whole: date is missing; dat is not known."),
        (
            lambda text: text.replace("tampered", "tamperd"),
            r"reasons: there is no reason tamperd \(did you mean tampered\?\)",
        ),
        (lambda text: text.replace("reasons.other", "reasons.empty2"), "no reason empty2"),
        (
            lambda text: text.partition("[reasons.other]")[0] + "[reasons]",
            "reasons: other is missing, for problems without",
        ),
        (lambda text: text.replace("{supplier}", "you"), "title: must hold {supplier}"),
        (
            lambda text: text.replace('files = "Files"', 'files = "a/b"'),
            "files: must have at most 31 letters, and none of ",
        ),
        (lambda _: "", "title is missing; date is missing; reference is missing; and 8 mistakes more"),
        (lambda text: text.replace("date =", "date"), "is not TOML: "),
    ],
)
def test_a_file_that_is_not_whole_is_refused_with_its_mistakes(
    tmp_path: Path, changed: Callable[[str], str], words: str
) -> None:
    """No supplier gets half a letter, or words that were put into an entry that nobody reads."""
    path = tmp_path / "fr.toml"
    path.write_text(changed(WRITTEN), "utf-8")

    with pytest.raises(UsageError, match=words) as raised:
        language_named(str(path))

    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_language_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """The line says which there are."""
    with pytest.raises(UsageError, match=r"no language 'fr': --language and export\.languages take de, en, or a file"):
        language_named("fr")
    with pytest.raises(UsageError, match=r"none\.toml cannot be read \(No such file or directory\)"):
        language_named(str(tmp_path / "none.toml"))


def test_a_supplier_has_the_language_of_the_config_however_it_is_spelled() -> None:
    """What a person gives for one export is for all. Of several languages, each is read before a file is written."""
    english, german = language_named("en"), language_named("de")
    configured = {"*": "de", "Alba  RECORDS": "en"}

    chosen = Languages.of(configured)

    assert [chosen.of_supplier(key) for key in ("alba records", "nord", "")] == [english, german, german]
    assert Languages.of(configured, "de").of_supplier("alba records") is german
    assert Languages.of({}).of_supplier("nord") is english
    with pytest.raises(UsageError, match="no language 'xx'"):
        Languages.of({"Nord": "xx"})
