"""What is told when no run of a catalog has done its work for long."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from proofsweep.domain.alerts.messages import Alert, AlertKind, cause_of, harmless, minute_of, quoted
from proofsweep.domain.runs import EndedBy


@dataclass(frozen=True, slots=True, kw_only=True)
class NightFacts:
    """When runs did their work.

    Attributes:
        catalog: whose runs; None for those of every catalog.
        last_success: end of the last leg that did its work; None if there is none.
        first_run: when the oldest run that was looked at was planned; None without a run.
    """

    environment: str
    results_url: str
    catalog: str | None
    last_success: datetime | None = None
    first_run: datetime | None = None


def did_its_work(ended_by: str | None, finished_rows: int, *, have_all_failed: bool) -> bool:
    """Say whether a leg did what it was to do: all rows, or as many as its window, calls and quota allowed."""
    if have_all_failed:
        return False
    if ended_by == EndedBy.COMPLETE:
        return True
    return ended_by in {EndedBy.QUOTA, EndedBy.WINDOW} and finished_rows > 0


def no_success(night: NightFacts, now: datetime, longest_hours: float) -> Alert | None:
    """Tell that no leg has done its work for so many hours; of no catalog at all only if something was ever planned."""
    since = night.last_success or night.first_run
    if since is None and night.catalog is None:
        return None
    if since is not None and now - since < timedelta(hours=longest_hours):
        return None
    last = "never" if night.last_success is None else minute_of(night.last_success)
    of_what = "any catalog" if night.catalog is None else f"catalog {quoted(night.catalog)}"
    lines = [
        f"The last run of {of_what} that did its work ended: {last}.",
        "To do: see `proofsweep runs`, the worker and its schedule; then `proofsweep doctor`.",
        f"Tables: {quoted(night.results_url)}",
    ]
    return Alert(
        kind=AlertKind.NO_SUCCESS,
        causes=(cause_of(AlertKind.NO_SUCCESS, night.environment, night.catalog or "", last),),
        subject=f"proofsweep: no successful run for {longest_hours:g} hours ({harmless(night.environment)})",
        body="\n".join(lines),
    )
