"""What suppliers are told of their files: the words of a template, and letters made of them."""

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from textwrap import fill

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from proofsweep.config.locations import path_of
from proofsweep.domain.errors import ConfigError
from proofsweep.domain.items import PROOF_PREFIX, Row
from proofsweep.domain.reasons import Reason, about, reason_entries
from proofsweep.domain.tags import tag_of
from proofsweep.domain.text import did_you_mean, printable, text_of_file
from proofsweep.domain.verdicts import Verdict

TOLD_OUTCOMES = ("rejected", "ineligible")  # a file that failed at the service is none of a supplier's
_PLACEHOLDERS = ("supplier", "problems")
_PLACEHOLDER = re.compile(r"\{([^{}\n]*)\}")
_LINE_LETTERS = 78
_ALONE = "alone"  # the text of what is unreadable and came without a sidecar


class _Texts(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ProblemText(_Texts):
    what: str = Field(min_length=1)
    why: str = ""
    request: str = Field(min_length=1)

    @property
    def sentences(self) -> str:
        return " ".join(filter(None, (self.what_and_why, self.request)))

    @property
    def what_and_why(self) -> str:
        return f"{self.what.rstrip('.')}. {self.why}".rstrip()


class LetterTexts(_Texts):
    letter: str
    no_supplier: str = Field(min_length=1)
    no_name: str = Field(min_length=1)
    other: ProblemText
    alone: ProblemText
    reasons: dict[str, ProblemText]

    def about(self, reason: str) -> ProblemText:
        """Return what is said of a reason; a reason of a later version of the contract has no text of its own."""
        return self.alone if reason == _ALONE else self.reasons.get(reason, self.other)

    def for_supplier(self, row: Row, tags: Mapping[str, str]) -> str | None:
        """Return what the supplier of a row of `verdicts` is told of it; None if it is not theirs to know."""
        return self.about(told_reason(row)).sentences if tells_supplier(row, tags) else None

    def letter_to(self, supplier: str, told: Iterable[tuple[str, Mapping[str, str], str]]) -> str:
        """Write the letter about files (name, tags and reason), by what is asked for and then by what is wrong."""
        by_request: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for name, tags, reason in told:
            problem = self.about(reason)
            by_request[problem.request][problem.what_and_why].append(self._line(name, tags))
        parts = [
            "\n\n".join([_indented(request, f"{number}. "), *(_problem(*each) for each in problems.items())])
            for number, (request, problems) in enumerate(
                sorted(by_request.items(), key=lambda each: (-sum(map(len, each[1].values())), each[0])), 1
            )
        ]
        filled = {"supplier": printable(supplier) or self.no_supplier, "problems": "\n\n".join(parts)}
        return _PLACEHOLDER.sub(lambda found: filled[found[1]], self.letter.strip()) + "\n"

    def _line(self, name: str, tags: Mapping[str, str]) -> str:
        isrc, title = tag_of(tags, "isrc"), tag_of(tags, "title")
        facts = [printable(name) or self.no_name, *([f"ISRC {printable(isrc)}"] if isrc else [])]
        return ", ".join([*facts, *([f'"{printable(title)}"'] if title else [])])


def told_reason(row: Row) -> str:
    """Return the name of the text for a row's reason; what came without a sidecar may be half of a pair."""
    is_alone = row["reason"] == Verdict.UNREADABLE and row["sidecar"] is None
    return _ALONE if is_alone else str(row["reason"])


def tells_supplier(row: Row, tags: Mapping[str, str]) -> bool:
    """Whether a supplier hears of a row: if the file is wrong, or absent though a message of a delivery names it."""
    is_told = about(str(row["reason"])).tells_supplier
    is_absent = row["reason"] == Reason.MISSING_AUDIO and "message_id" in tags
    return row["outcome"] in TOLD_OUTCOMES and (is_told or is_absent)


def name_for_supplier(row: Row, root: str | None) -> str:
    """Name a file as its supplier knows it, below the catalog's root; empty for one that is known by its proof."""
    audio, relative = str(row["audio"] or ""), str(row["relative_path"] or "")
    if relative and not relative.startswith(("/", "../", PROOF_PREFIX)) and "://" not in relative:
        return relative
    if audio.startswith(PROOF_PREFIX):
        return ""
    above = "" if root is None else f"{path_of(root, '/').rstrip('/')}/"
    return audio.removeprefix(above) if above and audio.startswith(above) else audio.rpartition("/")[2]


def shipped_template() -> str:
    return files("proofsweep_configs").joinpath("letters", "en.toml").read_text(encoding="utf-8")


def letter_texts(template: Path | None = None) -> LetterTexts:
    """Read the texts of a template over the shipped ones; ConfigError if it cannot be read, or has an unknown name."""
    shipped = tomllib.loads(shipped_template())
    if template is None:
        return LetterTexts(**shipped)
    own = _read(template)
    reasons = own.get("reasons", {})
    if isinstance(reasons, dict):
        if unknown := sorted(reasons.keys() - reason_entries().keys()):
            raise _error(
                template, f"there is no reason {unknown[0]!r}{did_you_mean(unknown[0], list(reason_entries()))}"
            )
        own["reasons"] = shipped["reasons"] | reasons
    try:
        texts = LetterTexts(**shipped | own)
    except ValidationError as error:
        first = error.errors()[0]
        raise _error(template, f"{'.'.join(map(str, first['loc']))}: {first['msg'].lower()}") from None
    placeholders = _PLACEHOLDER.findall(texts.letter)
    if unknown := [name for name in placeholders if name not in _PLACEHOLDERS]:
        meant = did_you_mean(unknown[0], _PLACEHOLDERS)
        raise _error(
            template,
            f"letter: there is no placeholder {{{unknown[0]}}}{meant}; there are {{supplier}} and {{problems}}",
        )
    if "problems" not in placeholders:
        raise _error(template, "letter: it lacks {problems}, which stands for what is wrong and for the files")
    return texts


def _read(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(text_of_file(path.read_bytes()))
    except OSError as error:
        raise _error(path, error.strerror or "cannot be read") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _error(path, f"it is not TOML: {error}") from error


def _error(path: Path, because: str) -> ConfigError:
    return ConfigError(f"The template {printable(str(path))} cannot be used: {printable(because)}.")


def _problem(what_and_why: str, lines: list[str]) -> str:
    return "\n".join([_indented(what_and_why, "   "), *(f"   - {line}" for line in sorted(lines))])


def _indented(text: str, first: str) -> str:
    return fill(
        text,
        _LINE_LETTERS,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
