"""Export rows as completion reports or as letters: one file, or one for each value of a tag."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from unicodedata import category, normalize

from proofsweep.config.local_files import new_file
from proofsweep.domain.errors import UsageError
from proofsweep.domain.reasons import advice_for_outcome, plain_words_for
from proofsweep.domain.tags import key_of_value, known_tag, tag_of, tags_of
from proofsweep.domain.text import printable
from proofsweep.queries.selected_rows import SelectedRows
from proofsweep.reports.letters import LetterTexts, letter_texts, name_for_supplier, tells_supplier, told_reason
from proofsweep.reports.sheets import (
    CompletionReport,
    GroupedRows,
    ReportRow,
    write_csv,
    write_json,
    write_parquet,
    write_xlsx,
)

LETTER = "letter"
_WRITERS = {"csv": write_csv, "xlsx": write_xlsx, "json": write_json, "parquet": write_parquet}
ENDINGS: Mapping[str, str] = {**{form: f".{form}" for form in _WRITERS}, LETTER: ".txt"}
# The own columns of a report: the file as seen from the catalog's root comes first, and the tags stand after it.
OWN_HEADER = (
    "file",
    *("outcome", "in_words", "what_to_do", "for_supplier", "detail", "reason", "verdict", "http_status", "error_code"),
    *("audio_bytes", "finished_at"),
    # Locations and IDs, for support.
    *("manifest_line", "audio", "sidecar", "id", "audio_sha256", "proof_id", "uploads_request_id", "verify_request_id"),
    "run_id",
)
_MADE = {"file", "in_words", "what_to_do", "for_supplier", "id"}
# The columns of `verdicts` that a report is made of, but for the tags.
CELLS = (
    *(name for name in OWN_HEADER[1:] if name not in _MADE),
    *("relative_path", "item_id"),
)
_LONGEST_BYTES = 120  # file systems allow 255, and a name has an ending and a prefix


@dataclass(frozen=True, slots=True)
class WrittenReport:
    path: Path
    rows: int


@dataclass(frozen=True, slots=True)
class Exported:
    reports: Sequence[WrittenReport]
    paths: Mapping[str, Path]  # by value of the tag; of all rows, and of rows without the tag, under the empty text


def export(
    selected: SelectedRows,
    path: Path,
    tag: str | None = None,
    texts: LetterTexts | None = None,
) -> Exported:
    """Write the rows to a file whose ending says its format; with a tag, to one for each of its values beside it.

    UsageError, and nothing is written, if a file exists or no row has the tag; UsageError if one cannot be written.
    """
    texts = texts or letter_texts()
    is_letter = path.suffix.lower() == ENDINGS[LETTER]
    with TemporaryDirectory(prefix="proofsweep-") as folder:
        groups, names = GroupedRows(Path(folder)), dict[str, None]()
        spellings: dict[str, str] = {}  # of the values of the tag
        for plan, row in selected.rows([*CELLS, "tags"]):
            tags = {name: str(value) for name, value in tags_of(str(row["tags"] or "")).items()}
            names.update(dict.fromkeys(tags))
            if not is_letter:
                own = own_cells(row, texts.for_supplier(row, tags))
            elif tells_supplier(row, tags):
                own = [name_for_supplier(row, plan.catalog_root), told_reason(row)]
            else:
                continue
            value = "" if tag is None else tag_of(tags, tag) or ""
            spellings[key_of_value(value)] = min(value, spellings.get(key_of_value(value), value))
            groups.add(key_of_value(value), ReportRow(tags, own))
        if tag is not None and spellings:
            tag = known_tag(tag, names)
        targets = {"": path} if tag is None else _targets(path, sorted(spellings.values()), tag)
        targets = {value: target for value, target in targets.items() if value in spellings.values()}
        _refuse_existing(targets.values())
        for value, target in targets.items():
            group = key_of_value(value)
            with new_file(target) as file:
                if is_letter:
                    told = ((str(row.own[0]), row.tags, str(row.own[1])) for row in groups.rows(group))
                    file.write(texts.letter_to(value, told).encode("utf-8", "backslashreplace"))
                else:
                    write = _WRITERS[target.suffix.lower().removeprefix(".")]
                    write(file, _completion_report(groups, group))
        reports = [WrittenReport(target, groups.counts[key_of_value(value)]) for value, target in targets.items()]
        return Exported(reports, targets)


def _completion_report(groups: GroupedRows, group: str) -> CompletionReport:
    return CompletionReport(list(groups.tag_names[group]), OWN_HEADER, groups.rows(group), groups.counts[group])


def own_cells(row: Mapping[str, object], for_supplier: str | None) -> list[object]:
    """Return the report's own cells of a row of `verdicts`, in the order of `OWN_HEADER`."""
    outcome, reason = str(row["outcome"]), str(row["reason"] or "")
    is_alone = row.get("sidecar", "") is None
    known = dict(row) | {
        "in_words": plain_words_for(outcome, reason),
        "what_to_do": advice_for_outcome(outcome, reason, is_alone=is_alone),
        "for_supplier": for_supplier,
        "id": row["item_id"],
    }
    file = row["audio"] if row["relative_path"] is None else row["relative_path"]
    return [file, *(known[name] for name in OWN_HEADER[1:])]


def file_name_of(value: str) -> str:
    """Name a file after a value, in letters of every script; others get a digest, so that no two are the same."""
    kept = "".join(
        each if each in "._-" or category(each)[0] in "LMN" else "_" for each in normalize("NFC", value)
    ).lstrip(".")
    plain = kept.encode()[:_LONGEST_BYTES].decode(errors="ignore")
    if plain == value and plain:
        return plain
    return f"{plain or 'supplier'}-{hashlib.sha256(value.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _targets(path: Path, values: Sequence[str], tag: str) -> dict[str, Path]:
    targets: dict[str, Path] = {}
    taken: set[str] = set()  # in small letters: a disk may not tell capital ones apart
    for value in values:
        plain = file_name_of(value) if value else f"no-{file_name_of(tag)}"
        names = (plain if number == 0 else f"{plain}-{number}" for number in count())
        name = next(each for each in names if each.lower() not in taken)
        taken.add(name.lower())
        targets[value] = path.with_name(f"{path.stem}-{name}{path.suffix}")
    return targets


def _refuse_existing(targets: Iterable[Path]) -> None:
    for target in targets:
        if target.exists():
            raise UsageError(
                f"{printable(str(target))} exists already; it is not overwritten. Name another with --file."
            )
