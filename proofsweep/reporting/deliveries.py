"""What became of delivered files, in words: for the person who runs the pass, and for each supplier."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain, count
from pathlib import Path

from proofsweep.domain.ingest import Decision, Disposition, PassReport
from proofsweep.domain.outcomes import MEANINGS
from proofsweep.domain.reasons import Reason, remedy_for
from proofsweep.domain.tables.columns import Row
from proofsweep.errors import ResultsError
from proofsweep.printable import markdown, printable
from proofsweep.reporting.file_names import file_name_of
from proofsweep.storage.locations import path_within

# Files that are named on a screen. Chosen: a person reads them at once; the letters and the table name all.
_NAMED_FILES = 20

_WAITING = {
    Decision.UNFINISHED: "named as unfinished",
    Decision.SETTLING: "not settled yet",
    Decision.INCOMPLETE: "waiting for a sidecar or for their end",
    Decision.RESTING: "waiting for another try",
    Decision.GIVEN_UP: "given up after too many tries",
}

_NOT_THE_SUPPLIERS = frozenset(
    {
        Reason.SIDECAR_FIELD_UNKNOWN,
        Reason.MISSING_AUDIO,
        Reason.UNREADABLE_FILE,
        Reason.UNREADABLE_FOLDER,
        Reason.SOURCE_FORBIDDEN,
        Reason.SOURCE_UNAVAILABLE,
        Reason.ARCHIVED,
    }
)
"""Reasons that the person who runs the pass must deal with."""


def line_of_pass(folder: str, report: PassReport) -> str:
    """Say on one line what a pass did."""
    outcomes = Counter(str(row["outcome"]) for row in report.rows)
    moved = Counter(str(row["disposition"]) for row in report.rows)
    parts = [f"{count:,} {outcome}" for outcome, count in sorted(outcomes.items())] or ["nothing new"]
    parts += [
        f"{moved[word]:,} moved ({word})" for word in (Disposition.ACCEPTED, Disposition.QUARANTINED) if moved[word]
    ]
    parts += [f"{count:,} {words}" for decision, words in _WAITING.items() if (count := report.decisions[decision])]
    return f"{printable(folder)}: {', '.join(parts)}"


def messages_of(report: PassReport) -> list[str]:
    """Say of each file that was not accepted what to do; and of each move that was not made, why."""
    messages = [_message(row) for row in report.rows if row["outcome"] != "accepted"]
    messages += [f"{_audio(row)}: not moved. {row['detail']}" for row in report.rows if row["detail"]]
    more = len(messages) - _NAMED_FILES
    return [*messages[:_NAMED_FILES], *([f"… and {more:,} more"] if more > 0 else [])]


def markdown_of_pass(folder: str, report: PassReport) -> str:
    """Write what a pass did as Markdown."""
    return "\n".join(
        [line_of_pass(markdown(folder), report), "", *(f"- {markdown(each)}" for each in messages_of(report))]
    )


def json_of_pass(folder: str, report: PassReport) -> dict[str, object]:
    """Give what a pass did as one object; the rows are those of the table `ingest`."""
    return {
        "folder": printable(folder),
        "files": {str(decision): report.decisions[decision] for decision in Decision},
        "runs": report.run_ids,
        "rows": report.rows,
    }


def letters_of(rows: Iterable[Row]) -> Mapping[str, str]:
    """Write a letter to each supplier whose files were rejected or cannot be sent, by the supplier's name.

    Files without a supplier are in the letter of an empty name.
    """
    by_supplier: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row["outcome"] in {"rejected", "ineligible"} and row["reason"] not in _NOT_THE_SUPPLIERS:
            by_supplier[str(row["supplier"] or "")].append(row)
    return {supplier: _letter(supplier, rejected) for supplier, rejected in sorted(by_supplier.items())}


def write_letters(folder: str, report: PassReport) -> list[Path]:
    """Write the letters of a pass, each into a file of its own; no file is ever overwritten.

    Raises:
        ResultsError: the folder cannot be written.
    """
    if not report.rows:
        return []
    run_id = str(report.rows[-1]["run_id"])
    written = []
    for supplier, letter in letters_of(report.rows).items():
        try:
            written.append(_write_new(Path(folder), f"{file_name_of(supplier)}-{run_id}", letter))
        except OSError as error:
            because = error.strerror or "unknown error"
            raise ResultsError(f"The letters cannot be written to {printable(folder)} ({because}).") from error
    return written


def _write_new(folder: Path, name: str, letter: str) -> Path:
    """Write a letter under a name that no file has."""
    folder.mkdir(parents=True, exist_ok=True)
    for ending in chain(("",), (f"-{number}" for number in count(2))):
        path = folder / f"{name}{ending}.md"
        with suppress(FileExistsError), path.open("x", encoding="utf-8") as file:
            file.write(letter)
            return path
    raise AssertionError  # the numbers never end


def _letter(supplier: str, rows: Sequence[Row]) -> str:
    title = f"Deliveries of {markdown(supplier)}" if supplier else "Deliveries"
    lines = [f"# {title}", "", "These files could not be accepted. For each kind, this is what we ask for."]
    for reason in sorted({str(row["reason"]) for row in rows}):
        of_reason = [row for row in rows if row["reason"] == reason]
        lines += ["", f"## {markdown(reason)}", ""]
        lines += [MEANINGS[reason], ""] if reason in MEANINGS else []
        lines += [f"What to do: {remedy_for(reason)}.", ""]
        lines += [_entry(row) for row in of_reason]
    return "\n".join(lines) + "\n"


def _entry(row: Row) -> str:
    """Name a file as its supplier knows it, below the watched folder."""
    name = printable(path_within(str(row["audio"]), str(row["watched"]))).replace("`", "'")
    return f"- `{name}`" + (f" (sha256 {row['audio_sha256']})" if row["audio_sha256"] else "")


def _message(row: Row) -> str:
    reason = str(row["reason"])
    return f"{_audio(row)}: {row['outcome']}, {printable(reason)}: {remedy_for(reason)}"


def _audio(row: Row) -> str:
    return printable(str(row["audio"]))
