"""What a pass over a watched folder did, in words: for the person who runs it."""

from collections import Counter
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from proofsweep.domain.items import Row
from proofsweep.domain.reasons import remedy_for
from proofsweep.domain.text import markdown, minute_of, printable
from proofsweep.ingest.rules import Decision, Disposition, PassReport

_NAMED_FILES = 20  # on a screen; the table names all
_WAITING = {
    Decision.SETTLING: "not settled yet",
    Decision.INCOMPLETE: "waiting for a sidecar or for their end",
    Decision.INCOMPLETE_BATCH: "waiting for the rest of their delivery",
    Decision.RESTING: "waiting for another try",
    Decision.GIVEN_UP: "given up after too many tries",
    Decision.LEFT_OUT: "left out by the conditions",
}


def line_of_pass(folder: str, report: PassReport) -> str:
    outcomes = Counter(str(row["outcome"]) for row in report.rows)
    moved = Counter(str(row["disposition"]) for row in report.rows)
    parts = [f"{count:,} {outcome}" for outcome, count in sorted(outcomes.items())] or ["nothing new"]
    parts += [
        f"{moved[word]:,} moved ({word})" for word in (Disposition.ACCEPTED, Disposition.QUARANTINED) if moved[word]
    ]
    parts += [f"{moved[Disposition.GONE]:,} gone meanwhile"] if moved[Disposition.GONE] else []
    parts += [f"{count:,} {words}" for decision, words in _WAITING.items() if (count := report.decisions[decision])]
    incomplete = [f"{printable(batch)} is not complete: {why}" for batch, why in sorted(report.incomplete.items())]
    ignored = [f"ignored: {ignored_words(report.ignored)}"] if report.ignored else []
    return "; ".join([f"{printable(folder)}: {', '.join(parts)}", *lines_of_unmoved(report), *incomplete, *ignored])


def ignored_words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {cause.replace('_', ' ')}" for cause, count in counts.items())


def lines_of_unmoved(report: PassReport) -> list[str]:
    reasons = Counter(str(row["detail"]) for row in report.not_moved)
    return [f"{count:,} not moved: {printable(detail)}" for detail, count in reasons.most_common()]


def messages_of(report: PassReport) -> list[str]:
    """Return of each move that was not made, why; of each file that was not accepted, what to do; and what waits."""
    messages = [f"{_audio(row)}: not moved. {row['detail']}" for row in report.not_moved]
    messages += [_message(row, report.given_up) for row in report.rows if row["outcome"] != "accepted"]
    messages += [f"{each['file']}: {_why_it_waits(each)}" for each in report.waiting]
    more = len(messages) - _NAMED_FILES
    return [*messages[:_NAMED_FILES], *([f"… and {more:,} more"] if more > 0 else [])]


def markdown_of_pass(folder: str, report: PassReport) -> str:
    return "\n".join(
        [line_of_pass(markdown(folder), report), "", *(f"- {markdown(each)}" for each in messages_of(report))]
    )


def json_of_pass(folder: str, report: PassReport) -> dict[str, object]:
    return {
        "folder": printable(folder),
        "files": {str(decision): report.decisions[decision] for decision in Decision},
        "ignored": dict(report.ignored),
        "runs": report.run_ids,
        "rows": report.rows,
        "not_moved": report.not_moved,
        "waiting": report.waiting,
        "incomplete_batches": {printable(batch): why for batch, why in report.incomplete.items()},
    }


def _why_it_waits(waiting: Row) -> str:
    if waiting["detail"] is not None:
        return str(waiting["detail"])
    due, words = waiting["due_at"], _WAITING[Decision(str(waiting["why"]))].replace("their", "its")
    return words + (f", due at {minute_of(due + timedelta(minutes=1))}" if isinstance(due, datetime) else "")


def _message(row: Row, given_up: Collection[str]) -> str:
    reason = str(row["reason"])
    end = f"; given up at try {row['tries']}" if row["item_id"] in given_up else ""
    remedy = remedy_for(reason, is_alone=row.get("sidecar", "") is None)
    return f"{_audio(row)}: {row['outcome']}, {printable(reason)}: {remedy}{end}"


def _audio(row: Row) -> str:
    return printable(str(row["audio"]))
