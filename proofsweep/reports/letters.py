"""What a supplier is told of its files: in a letter, and in the cells of a list. Nothing of ours is in it."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from textwrap import TextWrapper

from proofsweep.config.locations import is_windows
from proofsweep.domain.items import PROOF_PREFIX, Row
from proofsweep.domain.tags import tag_of
from proofsweep.domain.text import printable
from proofsweep.reports.languages import Language, Problem

TOLD_OUTCOMES = ("rejected", "ineligible")  # a file that failed at the service is none of a supplier's
OPEN = "open"  # the outcome, as a supplier reads it, of a file of which it is not told
_LINE_LETTERS = 78
_REFERENCE_LETTERS = 6
# The tags that are in a supplier's list, without blanks and signs.
_TITLES = ("title", "titel", "tracktitle", "songtitle", "song")
_TAGS_OF_RECORDINGS = (
    *("isrc", "iswc", *_TITLES, "version", "subtitle"),
    *("artist", "artists", "mainartist", "displayartist", "trackartist", "interpret", "performer", "composer"),
    *("track", "tracknumber", "trackno", "disc", "discnumber"),
)
_TAGS_OF_RELEASES = (
    *("grid", "upc", "ean", "gtin", "icpn", "barcode", "catalognumber", "albumartist", "album", "albumtitle"),
    *("release", "releasetitle", "releasename", "releasedate", "label", "labelname", "supplier", "lieferant"),
)
_KNOWN_TAGS = frozenset([*_TAGS_OF_RECORDINGS, *_TAGS_OF_RELEASES])


def problem_of(row: Row, language: Language) -> tuple[str, Problem | None]:
    """Return the outcome of a file as its supplier reads it, and what is said of it; nothing if all is well."""
    outcome = str(row["outcome"])
    if outcome == "accepted":
        return outcome, None
    if row["is_told"]:
        reason = str(row["reason"] or "")
        return outcome, language.problem(reason)
    return OPEN, language.open


def letter_to(supplier: str, rows: Iterable[tuple[Row, Mapping[str, str]]], language: Language, today: date) -> str:
    """Write the letter about some files, each a row and its tags, by what is wrong with them."""
    by_reason: dict[str, list[str]] = {}
    for row, tags in rows:
        reason = str(row["reason"])
        lines = by_reason.setdefault(reason, [])
        lines.append(_line(row, tags, language))

    def most_first(reason: str) -> tuple[int, str]:
        return -len(by_reason[reason]), reason

    files = 0
    parts: list[str] = []
    reasons = sorted(by_reason, key=most_first)
    for number, reason in enumerate(reasons, 1):
        lines = sorted(by_reason[reason])
        files += len(lines)
        problem = language.problem(reason)
        parts.append(_part(number, problem, lines, language))
    body = "\n\n".join(parts)
    title = language.title_for(supplier)
    text = f"{title}\n{body}"
    facts = _facts(text, files, language, today)
    opening = _filled(language.opening)
    return f"{title}\n\n{facts}\n\n{opening}\n\n{body}\n"


def name_for_supplier(row: Row) -> str:
    """Name a file as its supplier knows it, below the catalog's root; empty for one that is known by its proof."""
    audio = str(row["audio"] or "")
    relative = str(row["file"] or "")
    if audio.startswith(PROOF_PREFIX):
        return ""
    if is_windows(relative):  # a path of another machine, which leads nowhere here
        return _end_of(relative.replace("\\", "/"))
    # A path that leaves the catalog's root would tell a supplier the names of our folders.
    is_absolute = relative.startswith("/") or "://" in relative
    leads_out = is_absolute or ".." in relative.split("/")
    is_whole_path = audio == f"/{relative}"  # seen from the root of our disk, with all our folders
    if relative and not leads_out and not is_whole_path:
        return relative
    return _end_of(audio or relative)


def _end_of(path: str) -> str:
    _, _, name = path.rpartition("/")
    return name


def is_known_to_supplier(tag: str) -> bool:
    """Whether a tag names a recording or a release, as a supplier's own delivery does."""
    # A catalog has columns of ours too, hidden ones among them, and nothing tells which: no other tag is told.
    return _letters_of(tag) in _KNOWN_TAGS


def _letters_of(tag: str) -> str:
    return "".join(filter(str.isalnum, tag)).lower()


def _facts(text: str, files: int, language: Language, today: date) -> str:
    # By its reference an answer finds its letter: two have one only if they say the same on the same day.
    encoded = text.encode("utf-8", "backslashreplace")
    digest = hashlib.sha256(encoded).hexdigest()
    reference = f"{today:%Y%m%d}-{digest[:_REFERENCE_LETTERS]}"
    lines = [f"{language.date}: {today}", f"{language.reference}: {reference}"]
    lines.append(f"{language.files}: {files}")
    return "\n".join(lines)


def _part(number: int, problem: Problem, lines: Sequence[str], language: Language) -> str:
    request = _filled(problem.request, f"{number}. ")
    because = _filled(problem.in_words, "   ")
    count = f"   {language.files}: {len(lines)}"
    listed = [f"   - {line}" for line in lines]
    return "\n".join([request, "", because, "", count, *listed])


def _line(row: Row, tags: Mapping[str, str], language: Language) -> str:
    name = printable(name_for_supplier(row))
    facts = [name or language.no_name]
    isrc = tag_of(tags, "isrc")
    if isrc:
        facts.append(f"ISRC {printable(isrc)}")
    title = _title_of(tags)
    if title:
        facts.append(f'"{printable(title)}"')
    return ", ".join(facts)


def _title_of(tags: Mapping[str, str]) -> str | None:
    values = {_letters_of(name): value for name, value in tags.items() if value}
    for name in _TITLES:
        title = values.get(name)
        if title:
            return title
    return None


def _filled(text: str, first: str = "") -> str:
    # A name or an ISRC that is cut in two cannot be searched for: a long one has a line of its own instead.
    rest = " " * len(first)
    filled = TextWrapper(_LINE_LETTERS, first, rest, break_long_words=False, break_on_hyphens=False)
    return filled.fill(text.strip())
