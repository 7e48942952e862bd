"""What is told of nights: that no run of a catalog has done its work for long, and each day the head of the records."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from proofsweep.alerts.events import AlertKind
from proofsweep.alerts.messages import Alert, cause_of, made_alert, quoted
from proofsweep.endings import EndedBy, ending_of
from proofsweep.text import minute_of


@dataclass(frozen=True, slots=True, kw_only=True)
class NightFacts:
    """When runs did their work."""

    environment: str
    results_url: str
    catalog: str | None  # whose runs; None for those of every catalog
    last_success: datetime | None = None  # end of the last leg that did its work; None if there is none
    first_run: datetime | None = None  # when the oldest run that was looked at was planned; None without a run


def did_its_work(ended_by: str | None, finished_rows: int, *, have_all_failed: bool) -> bool:
    """Return whether a leg did what it was to do: all rows, or as many as its window, calls and quota allowed."""
    if have_all_failed:
        return False
    ending = ending_of(ended_by)
    return ending is not None and ending.does_its_work and (finished_rows > 0 or ended_by == EndedBy.COMPLETE)


def no_success(night: NightFacts, now: datetime, longest_hours: float) -> Alert | None:
    """Tell that no leg has done its work for so many hours; of no catalog at all only if something was ever planned."""
    since = night.last_success or night.first_run
    if since is None and night.catalog is None:
        return None
    if since is not None and now - since < timedelta(hours=longest_hours):
        return None
    last = "never" if night.last_success is None else minute_of(night.last_success)
    of_what = "any catalog" if night.catalog is None else f"catalog {quoted(night.catalog)}"
    title = f"no successful run for {longest_hours:g} hours"
    cause = cause_of(AlertKind.NO_SUCCESS, night.environment, night.catalog or "", last)
    lines = [f"The last run of {of_what} that did its work ended: {last}."]
    return made_alert(AlertKind.NO_SUCCESS, night.environment, title, lines, [cause], results_url=night.results_url)


def daily_digest(environment: str, results_url: str, line: str, ended: datetime, head: str) -> Alert:
    """Tell of the newest leg, once for the UTC day on which it ended; `head` is the hex sha256 of its receipt."""
    day = ended.date().isoformat()
    lines = [f"Ended {minute_of(ended)}: {quoted(line)}", f"Head of the records: `{head}`"]
    cause = cause_of(AlertKind.DIGEST, environment, day)
    return made_alert(AlertKind.DIGEST, environment, f"the records of {day}", lines, [cause], results_url=results_url)
