"""What became of delivered files, in words: for the person who runs the pass, and for each supplier."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from unicodedata import category, normalize

from proofsweep.errors import ResultsError, UsageError
from proofsweep.files.locations import path_within
from proofsweep.model.ingest import Decision, Disposition, PassReport
from proofsweep.model.reasons import REASONS, about, remedy_for
from proofsweep.model.tables.columns import Row
from proofsweep.model.tags import tags_of
from proofsweep.new_file import new_file
from proofsweep.text import markdown, printable

# Chosen: file systems allow 255 bytes, and a name has an ending and a prefix.
_LONGEST_BYTES = 120


def file_name_of(value: str) -> str:
    """Name a file after a value; one with other characters gets a digest, so that no two are the same.

    Letters, marks and digits of every script stay: a supplier is found by its name.
    """
    kept = "".join(
        each if each in "._-" or category(each)[0] in "LMN" else "_" for each in normalize("NFC", value)
    ).lstrip(".")
    plain = kept.encode()[:_LONGEST_BYTES].decode(errors="ignore")
    if plain == value and plain:
        return plain
    return f"{plain or 'supplier'}-{hashlib.sha256(value.encode('utf-8', 'replace')).hexdigest()[:8]}"


# Files that are named on a screen. Chosen: a person reads them at once; the letters and the table name all.
_NAMED_FILES = 20

_WAITING = {
    Decision.UNFINISHED: "named as unfinished",
    Decision.SETTLING: "not settled yet",
    Decision.INCOMPLETE: "waiting for a sidecar or for their end",
    Decision.INCOMPLETE_BATCH: "waiting for the rest of their delivery",
    Decision.RESTING: "waiting for another try",
    Decision.GIVEN_UP: "given up after too many tries",
    Decision.LEFT_OUT: "left out by the conditions",
}


def line_of_pass(folder: str, report: PassReport) -> str:
    """Return on one line what a pass did."""
    outcomes = Counter(str(row["outcome"]) for row in report.rows)
    moved = Counter(str(row["disposition"]) for row in report.rows)
    parts = [f"{count:,} {outcome}" for outcome, count in sorted(outcomes.items())] or ["nothing new"]
    parts += [
        f"{moved[word]:,} moved ({word})" for word in (Disposition.ACCEPTED, Disposition.QUARANTINED) if moved[word]
    ]
    parts += [f"{moved[Disposition.GONE]:,} gone meanwhile"] if moved[Disposition.GONE] else []
    parts += [f"{count:,} {words}" for decision, words in _WAITING.items() if (count := report.decisions[decision])]
    lines = [f"{printable(folder)}: {', '.join(parts)}", *lines_of_unmoved(report), *lines_of_incomplete(report)]
    return "; ".join(lines)


def lines_of_incomplete(report: PassReport) -> list[str]:
    """Return of each delivery that has waited long enough why it is not complete."""
    return [f"{printable(batch)} is not complete: {why}" for batch, why in sorted(report.incomplete.items())]


def lines_of_unmoved(report: PassReport) -> list[str]:
    """Return how many files could not be moved, for each reason."""
    reasons = Counter(str(row["detail"]) for row in report.not_moved)
    return [f"{count:,} not moved: {printable(detail)}" for detail, count in reasons.most_common()]


def messages_of(report: PassReport) -> list[str]:
    """Return of each move that was not made, why; and of each file that was not accepted, what to do."""
    messages = [f"{_audio(row)}: not moved. {row['detail']}" for row in report.not_moved]
    messages += [_message(row, report.given_up) for row in report.rows if row["outcome"] != "accepted"]
    more = len(messages) - _NAMED_FILES
    return [*messages[:_NAMED_FILES], *([f"… and {more:,} more"] if more > 0 else [])]


def markdown_of_pass(folder: str, report: PassReport) -> str:
    """Write what a pass did as Markdown."""
    return "\n".join(
        [line_of_pass(markdown(folder), report), "", *(f"- {markdown(each)}" for each in messages_of(report))]
    )


def json_of_pass(folder: str, report: PassReport) -> dict[str, object]:
    """Return what a pass did as one object; the rows are those of the table `ingest`."""
    return {
        "folder": printable(folder),
        "files": {str(decision): report.decisions[decision] for decision in Decision},
        "runs": report.run_ids,
        "rows": report.rows,
        "not_moved": report.not_moved,
        "incomplete_batches": {printable(batch): why for batch, why in report.incomplete.items()},
        "acknowledgements": list(map(printable, report.acknowledgements)),
    }


def letters_of(rows: Iterable[Row]) -> Mapping[str, str]:
    """Write a letter about these files to each supplier, by its name; it is empty for files without one."""
    by_supplier: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_supplier[str(row["supplier"] or "")].append(row)
    return {supplier: _letter(supplier, rejected) for supplier, rejected in sorted(by_supplier.items())}


def write_letters(folder: str, name: str, rows: Sequence[Row]) -> list[str]:
    """Write letters about a part's rows; one that is there stays. ResultsError if the folder cannot be written."""
    letters = {Path(folder, f"{file_name_of(each)}-{name}.md"): letter for each, letter in letters_of(rows).items()}
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for path, letter in letters.items():
            if not path.exists():
                with new_file(path) as file:
                    file.write(letter.encode())
    except (OSError, UsageError) as error:
        because = error.message if isinstance(error, UsageError) else error.strerror or "unknown error"
        raise ResultsError(f"The letters cannot be written to {printable(folder)} ({because}).") from error
    return list(map(str, letters))


def _letter(supplier: str, rows: Sequence[Row]) -> str:
    title = f"Deliveries of {markdown(supplier)}" if supplier else "Deliveries"
    lines = [f"# {title}", "", "These files could not be accepted. For each kind, this is what we ask for."]
    for reason in sorted({str(row["reason"]) for row in rows}):
        of_reason = [row for row in rows if row["reason"] == reason]
        plain = about(reason).plain
        lines += ["", f"## {plain[0].upper()}{plain[1:]} ({markdown(reason)})", ""]
        lines += [REASONS[reason].meaning, ""] if reason in REASONS else []
        lines += [f"What to do: {remedy_for(reason)}.", ""]
        lines += [_entry(row) for row in of_reason]
    return "\n".join(lines) + "\n"


def _entry(row: Row) -> str:
    """Name a file as its supplier knows it: below the watched folder, and by what the delivery's message says of it."""
    name = printable(path_within(str(row["audio"]), str(row["watched"]))).replace("`", "'")
    tags = tags_of(str(row["tags"]) if row.get("tags") else None)
    track = [f"ISRC {markdown(tags['isrc'])}"] if tags.get("isrc") else []
    track += [f"“{markdown(tags['title'])}”"] if tags.get("title") else []
    named = f"- `{name}`" + (f": {', '.join(track)}" if track else "")
    return named + (f" (sha256 {row['audio_sha256']})" if row["audio_sha256"] else "")


def _message(row: Row, given_up: Collection[str]) -> str:
    reason = str(row["reason"])
    end = f"; given up at try {row['tries']}" if row["item_id"] in given_up else ""
    return f"{_audio(row)}: {row['outcome']}, {printable(reason)}: {remedy_for(reason)}{end}"


def _audio(row: Row) -> str:
    return printable(str(row["audio"]))
