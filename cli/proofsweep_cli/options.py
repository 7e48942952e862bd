"""The options that several commands share, each with one name and one meaning; and the bounds of a run in words."""

from datetime import datetime
from enum import StrEnum

import typer

from proofsweep.domain.errors import UsageError
from proofsweep.domain.runs import Bounds
from proofsweep_cli.screen import Screen


class ListFormat(StrEnum):
    TEXT = "text"
    CSV = "csv"


RunId = typer.Argument(
    None, metavar="[RUN]", help="A run; without one, how each file stands now by its newest answer of all runs."
)
Limit = typer.Option(20, "--limit", "-n", metavar="N", min=1, help="Name at most this many of each kind.")
Catalog = typer.Option(
    None, "--catalog", metavar="CATALOG", help="Without RUN: only this one, by its location or its `catalog.name`."
)
By = typer.Option(None, "--by", metavar="TAG", help="Apart for each value of a tag of the manifest, such as supplier.")

MaxCalls = typer.Option(
    None, "--max-calls", metavar="N", min=1, help="Make no more keyed calls than this, retries included."
)
Until = typer.Option(
    None,
    "--until",
    metavar="TIME",
    help="Begin no file after: 06:00, '06:00 Europe/Berlin', an ISO instant, or a span from now: 7h, 90m. Without a "
    "zone it is this machine's.",
)

SinceLast = typer.Option(
    False, "--since-last", help="Leave out files that are unchanged since their last answer, whatever its age."
)
MaxAge = typer.Option(
    None,
    "--max-age",
    metavar="SPAN",
    help="Leave out unchanged files whose answer is younger than this span: 30d, 12h.",
)
OldestFirst = typer.Option(
    False,
    "--oldest-first",
    help="With --max-calls: verify only as many files as these calls are enough for, those tried longest ago first.",
)
Where = typer.Option(
    None,
    "--where",
    metavar="SQL",
    help="Take only files that meet a condition on the manifest's columns, and on name, folder, size and modified: "
    "\"supplier = 'acme' AND size < 1000000\".",
)
NewerThan = typer.Option(
    None,
    "--newer-than",
    metavar="AGE",
    help="Take only files that were modified since: an age like 2d or 12h, a date, or an ISO instant.",
)
Only = typer.Option(
    [],
    "--only",
    metavar="REASON",
    help="Take only files that stand so by their newest answer: a reason as `rejects` names it, or an outcome: "
    "failed, rejected, ineligible. Repeatable.",
)


def words_in(only: list[str]) -> tuple[str, ...]:
    """Return the words of a repeatable option, of which one value may also hold several with commas."""
    words = [word.strip() for value in only for word in value.split(",")]
    return tuple(dict.fromkeys(words))


def print_bounds(out: Screen, bounds: Bounds, now: datetime) -> None:
    """Print the bounds, with the closing time in UTC and in local time; UsageError if the window is closed already."""
    refuse_closed_window(bounds, now)
    limits = []
    if bounds.closes_at is not None:
        limits.append(f"at {_instant_text(bounds.closes_at)}")
    if bounds.max_calls is not None:
        limits.append(f"after {bounds.max_calls:,} calls")
    if bounds.reserve:
        limits.append(f"with {bounds.reserve:,} calls of the quota left")
    if limits:
        words = " or ".join(limits)
        out.line(f"Stops {words}")


def refuse_closed_window(bounds: Bounds, now: datetime) -> None:
    if bounds.closes_at is not None and bounds.closes_at <= now:
        closed_at = _instant_text(bounds.closes_at)
        raise UsageError(f"The window is over: it closed at {closed_at}.")


def _instant_text(at: datetime) -> str:
    text = f"{at:%Y-%m-%d %H:%M:%S} UTC"
    local_time = at.astimezone()
    # A person reads the local time, unless it is the same.
    if local_time.utcoffset():
        return f"{text} ({local_time:%H:%M} {local_time:%Z})"
    return text
