"""What letters to suppliers say: the shipped texts, and those of a file that somebody edits or translates."""

import tomllib
from importlib.resources import files
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from proofsweep.errors import ConfigError
from proofsweep.model.reasons import REASONS
from proofsweep.text import did_you_mean, printable


class _Texts(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ProblemText(_Texts):
    """What a supplier reads of one reason: a heading, an explanation and a request, in sentences."""

    what: str = Field(min_length=1)
    why: str = ""
    request: str = Field(min_length=1)


class LetterTexts(_Texts):
    """All that a letter says beside the names of files; `{supplier}` in a title stands for the supplier's name."""

    title: str
    title_without_supplier: str
    opening: str
    request: str
    closing: str
    other: ProblemText
    reasons: dict[str, ProblemText]

    def title_for(self, supplier: str) -> str:
        """Return the title of a letter; an empty name is none."""
        return self.title.replace("{supplier}", supplier) if supplier else self.title_without_supplier

    def about(self, reason: str) -> ProblemText:
        """Return what is said of a reason; a reason of a later version of the contract has no text of its own."""
        return self.reasons.get(reason, self.other)


def shipped_texts() -> str:
    """Return the file of the texts that letters have by default."""
    return files("proofsweep_configs").joinpath("letters", "en.toml").read_text(encoding="utf-8")


def letter_texts(path: Path | None = None) -> LetterTexts:
    """Read the texts of a file over the shipped ones.

    Raises:
        ConfigError: the file cannot be read, is not TOML, or has a text of an unknown name or kind.
    """
    shipped = tomllib.loads(shipped_texts())
    if path is None:
        return LetterTexts(**shipped)
    own = _read(path)
    reasons = own.get("reasons", {})
    if unknown := sorted(reasons.keys() - REASONS.keys()) if isinstance(reasons, dict) else []:
        raise _error(path, f"there is no reason {unknown[0]!r}{did_you_mean(unknown[0], list(REASONS))}")
    if isinstance(reasons, dict):
        own["reasons"] = shipped["reasons"] | reasons
    try:
        return LetterTexts(**shipped | own)
    except ValidationError as error:
        first = error.errors()[0]
        raise _error(path, f"{'.'.join(map(str, first['loc']))}: {first['msg'].lower()}") from None


def _read(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _error(path, error.strerror or "cannot be read") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _error(path, f"it is not TOML: {error}") from error


def _error(path: Path, because: str) -> ConfigError:
    return ConfigError(f"The texts of letters in {printable(str(path))} cannot be used: {because}.")
