"""The languages of what suppliers read: English, German, and those that a person has written into a file."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError, field_validator

from proofsweep.config.sections import ANY_SUPPLIER, Section
from proofsweep.domain.errors import UsageError
from proofsweep.domain.reasons import reason_entries
from proofsweep.domain.tags import key_of_value
from proofsweep.domain.text import counted, did_you_mean, printable, text_of_file

ENGLISH = "en"
_FOLDER = Path(__file__).parent / "languages"
_OTHER = "other"  # stands for each problem without words of its own
_MOST_MISTAKES = 3  # that are named
_SUPPLIER = "{supplier}"
_MOST_LETTERS_OF_SHEET, _NOT_OF_SHEET = 31, "[]:*?/\\'"  # a spreadsheet names a sheet so

Words = Annotated[str, Field(min_length=1)]


class Headings(Section):
    file: Words
    outcome: Words
    what: Words
    request: Words


class Outcomes(Section):
    accepted: Words
    rejected: Words
    ineligible: Words
    open: Words


class Problem(Section):
    what: Words
    why: str = ""
    request: Words

    @property
    def in_words(self) -> str:
        return f"{self.what.removesuffix('.')}. {self.why}".rstrip()

    @property
    def sentences(self) -> str:
        """What is wrong, why, and what is needed."""
        return f"{self.in_words} {self.request}"


class Language(Section):
    title: Words
    date: Words
    reference: Words
    files: Words
    opening: Words
    no_supplier: Words
    no_name: Words
    headings: Headings
    outcomes: Outcomes
    open: Problem
    reasons: dict[str, Problem]

    @field_validator("title")
    @classmethod
    def _names_the_supplier(cls, title: str) -> str:
        if _SUPPLIER not in title:
            raise ValueError(f"must hold {_SUPPLIER}")
        return title

    @field_validator("files")
    @classmethod
    def _can_name_a_sheet(cls, files: str) -> str:
        has_sign = not set(files).isdisjoint(_NOT_OF_SHEET)
        if has_sign or len(files) > _MOST_LETTERS_OF_SHEET:
            raise ValueError(f"must have at most {_MOST_LETTERS_OF_SHEET} letters, and none of {_NOT_OF_SHEET}")
        return files

    @field_validator("reasons")
    @classmethod
    def _are_known(cls, problems: dict[str, Problem]) -> dict[str, Problem]:
        known = {_OTHER, *reason_entries()}
        unknown: list[str] = []
        for reason in problems:
            if reason not in known:
                meant = did_you_mean(reason, known)
                unknown.append(f"{reason}{meant}")
        if unknown:
            listed = ", ".join(unknown)
            raise ValueError(f"there is no reason {listed}")
        if _OTHER not in problems:
            raise ValueError(f"{_OTHER} is missing, for problems without words of their own")
        return problems

    def title_for(self, supplier: str) -> str:
        name = printable(supplier) or self.no_supplier
        return self.title.replace(_SUPPLIER, name)

    def problem(self, reason: str) -> Problem:
        """Return what is said of a reason; one of a later version of the contract has no words of its own."""
        otherwise = self.reasons[_OTHER]
        return self.reasons.get(reason, otherwise)


@cache
def language_named(name: str) -> Language:
    """Read a language of the package by its code, or a file that ends in `.toml`.

    UsageError if there is none, or if words are missing in the file or not known.
    """
    codes = sorted(path.stem for path in _FOLDER.glob("*.toml"))
    code = name.lower()
    if code in codes:
        return _read(_FOLDER / f"{code}.toml")
    if name.endswith(".toml"):
        return _read(Path(name))
    listed = ", ".join(codes)
    there_are = f"{listed}, or a file of your own that ends in .toml"
    raise UsageError(f"There is no language {printable(name)!r}: --language and export.languages take {there_are}.")


def _read(path: Path) -> Language:
    shown = f"The language {printable(str(path))}"
    try:
        text = text_of_file(path.read_bytes())
        words = tomllib.loads(text)
        return Language.model_validate(words)
    except OSError as error:
        raise UsageError(f"{shown} cannot be read ({error.strerror}).") from error
    except ValidationError as error:
        mistakes = _mistakes_in(error)
        raise UsageError(f"{shown} is not whole: {mistakes}.") from None
    except (ValueError, RecursionError) as error:
        why = printable(str(error))
        raise UsageError(f"{shown} is not TOML: {why}.") from error


def _mistakes_in(error: ValidationError) -> str:
    texts = {"missing": " is missing", "extra_forbidden": " is not known"}
    mistakes: list[str] = []
    for mistake in error.errors(include_input=False, include_url=False):
        where = ".".join(map(str, mistake["loc"]))
        message = mistake["msg"].removeprefix("Value error, ")
        words = texts.get(mistake["type"], f": {message}")
        mistakes.append(f"{printable(where)}{words}")
    said = mistakes[:_MOST_MISTAKES]
    more = len(mistakes) - _MOST_MISTAKES
    if more > 0:
        said.append(f"and {counted(more, 'mistake')} more")
    return "; ".join(said)


@dataclass(frozen=True, slots=True)
class Languages:
    """The language of each supplier."""

    usual: Language
    own: Mapping[str, Language]  # by the key of a supplier's name

    @classmethod
    def of(cls, configured: Mapping[str, str], given: str | None = None) -> "Languages":
        """Read all languages that may be needed: the one that a person has given for all, or those of the config."""
        if given is not None:
            return cls(language_named(given), {})
        # All are read at once: a mistake in one language must not show after half of the letters are written.
        usual = configured.get(ANY_SUPPLIER, ENGLISH)
        own: dict[str, Language] = {}
        for name, code in configured.items():
            if name != ANY_SUPPLIER:
                own[key_of_value(name)] = language_named(code)
        return cls(language_named(usual), own)

    def of_supplier(self, key: str) -> Language:
        return self.own.get(key, self.usual)
