"""What is told of runs: how a leg ended and what it found, that none did its work for long, and each day their head."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from proofsweep.alerts.events import ALERTED_STATES, COMPLETED, EVENTS, AlertKind, is_failure
from proofsweep.alerts.messages import About, Alert, WasSent, cause_of, harmless, made_alert, quoted, shortened
from proofsweep.endings import EndedBy, ending_of
from proofsweep.model.reasons import remedy_for
from proofsweep.text import minute_of

_WHOLE = {COMPLETED, "SomeFailed", "AllFailed", "FoundDifferences"}
"""States in which no work remains: then other ends of the same work are over."""


@dataclass(frozen=True, slots=True)
class FlowEnd:
    """How a flow run, or a leg of one, has ended."""

    environment: str
    flow: str
    state: str  # the name of its Prefect state
    subject: str  # the catalog or folder that it worked on; the flow's name if there is none
    results_url: str
    details: Sequence[str]  # lines of the message
    title: str | None = None  # what happened, with figures; None takes the event's own
    tries_left: bool = False  # whether the flow run is tried again if it failed
    machine: str | None = None  # on which it ran
    rows: int | None = None  # that remain, or failed
    run_id: str | None = None

    @property
    def about(self) -> About:
        """What its alert is about."""
        return About(
            catalog=None if self.subject == self.flow else self.subject,
            machine=self.machine,
            rows=self.rows,
            run_id=self.run_id,
            results_url=self.results_url,
        )


def alerts_of_end(end: FlowEnd) -> list[Alert]:
    """Return what must be told of an end: nothing, or one message; of a failure that is tried again, its last try's."""
    kind = ALERTED_STATES.get(end.state)
    if kind is None or (end.tries_left and is_failure(end.state)):
        return []
    of_what = "" if end.subject == end.flow else f" of {quoted(end.subject)}"
    lines = [f"Flow {quoted(end.flow)}{of_what} ended as {end.state}.", *end.details]
    title = EVENTS[kind].title if end.title is None else end.title
    return [made_alert(kind, end.environment, title, lines, *_cause(kind, end), about=end.about)]


def over_after_end(end: FlowEnd) -> list[str]:
    """Return the begins of the causes that an end shows to be over.

    Work that was begun ends what kept earlier flow runs from beginning; only whole work ends what is told of itself.
    """
    own = ALERTED_STATES.get(end.state)
    is_whole = end.state in _WHOLE
    if own is AlertKind.KEY_REFUSED or not (is_whole or end.subject != end.flow):
        return []
    kinds = [kind for kind, event in EVENTS.items() if event.states and kind is not own]
    subjects = dict.fromkeys((end.flow, end.subject) if is_whole else (end.flow,))
    over = [cause_of(kind, end.environment, subject) for kind in kinds for subject in subjects]
    over.append(cause_of(AlertKind.KEY_REFUSED, end.environment))
    return [*over, cause_of(AlertKind.QUOTA_SHORT, end.environment, end.subject)] if is_whole else over


def files_given_up(environment: str, watched: str, results_url: str, given_up: Collection[str]) -> list[Alert]:
    """Tell of items of a watched folder that failed too often; each is a cause."""
    if not given_up:
        return []
    causes = [cause_of(AlertKind.GIVEN_UP, environment, watched, item) for item in sorted(given_up)]
    title = f"delivered files that are given up: {len(given_up):,}"
    lines = [f"Each failed as often as `ingest.tries` allows. No pass over {quoted(watched)} tries it again."]
    about = About(catalog=watched, rows=len(given_up), results_url=results_url)
    return [made_alert(AlertKind.GIVEN_UP, environment, title, lines, causes=causes, about=about)]


def incomplete_batches(environment: str, watched: str, results_url: str, why: Mapping[str, str]) -> list[Alert]:
    """Tell of deliveries in a watched folder that are not complete, by their folders; each is a cause."""
    if not why:
        return []
    causes = [cause_of(AlertKind.INCOMPLETE_BATCH, environment, watched, batch) for batch in sorted(why)]
    title = f"deliveries that are not complete: {len(why):,}"
    lines = shortened([f"- {quoted(batch)}: {why[batch]}" for batch in sorted(why)])
    about = About(catalog=watched, results_url=results_url)
    return [made_alert(AlertKind.INCOMPLETE_BATCH, environment, title, lines, causes=causes, about=about)]


def _cause(kind: AlertKind, end: FlowEnd) -> Sequence[str]:
    """Return what distinguishes the cause; a refused key is one for all flows."""
    return () if kind is AlertKind.KEY_REFUSED else (end.subject, end.state)


# Chosen: one night may be an outage, and two a weekend.
_NIGHTS_IN_DOUBT = 3


@dataclass(frozen=True, slots=True)
class RowKind:
    """Rows of one kind: how many, what they are, and what to do about them."""

    rows: int
    label: str
    advice: str


@dataclass(frozen=True, slots=True, order=True)
class SupplierRejections:
    """Rows of one supplier that were rejected for one reason."""

    supplier: str
    reason: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """How a run stands after a leg."""

    run_id: str
    environment: str
    catalog: str
    results_url: str
    state: str  # the name of the state in which its flow run ended
    ending: str  # how it ended, in one clause
    items: int
    remaining: int
    failed: int = 0  # its rows that failed
    answered: int = 0  # its rows that were accepted or rejected
    why: str | None = None  # the leg's own sentence, if it ended early
    kinds: Sequence[RowKind] = ()  # its finished rows
    rejections: Sequence[SupplierRejections] = ()  # its rejected files, by supplier; empty if no tag names the supplier
    sunset: str | None = None  # the last Sunset header of the run
    # hex sha256 of the receipt of the leg, which holds all earlier receipts; None if it is not known.
    head: str | None = None
    in_doubt: int = 0  # rows that the last leg could not decide about
    nights_in_doubt: int = 0  # on how many days in a row that was so
    tries_left: bool = False  # whether its flow run is tried again if it failed
    machine: str | None = None  # on which its last leg ran

    def about(self, rows: int | None) -> About:
        """What an alert of some of its rows is about."""
        return About(
            catalog=self.catalog,
            machine=self.machine,
            rows=rows,
            run_id=self.run_id,
            results_url=self.results_url,
        )


def alerts_of_run(run: RunFacts, was_sent: WasSent) -> list[Alert]:
    """Return what must be told of a run after a leg."""
    found = [still_in_doubt(run), first_rejections(run, was_sent), sunset_seen(run)]
    return [*alerts_of_end(end_of_run(run)), *(alert for alert in found if alert is not None)]


def end_of_run(run: RunFacts) -> FlowEnd:
    """Put the end of a leg into words, with the counts and reasons of its run."""
    but = "" if run.answered else ", and none was answered"
    failed = f"{run.failed:,} of {run.items:,} rows failed{but}" if run.failed else None
    return FlowEnd(
        environment=run.environment,
        flow="verify-catalog",
        state=run.state,
        subject=run.catalog,
        results_url=run.results_url,
        title=f"{run.remaining:,} of {run.items:,} rows remain" if run.remaining else failed,
        details=_details(run),
        tries_left=run.tries_left,
        machine=run.machine,
        rows=run.remaining or run.failed,
        run_id=run.run_id,
    )


def still_in_doubt(run: RunFacts) -> Alert | None:
    """Tell of rows that no control could decide about for three nights."""
    if run.nights_in_doubt < _NIGHTS_IN_DOUBT:
        return None
    first = f"Nothing shows whether {run.in_doubt:,} files are at fault."
    title, lines = f"{run.in_doubt:,} files in doubt for three nights", [first, *_details(run)]
    cause = (run.catalog, run.run_id)
    return made_alert(AlertKind.IN_DOUBT, run.environment, title, lines, *cause, about=run.about(run.in_doubt))


def first_rejections(run: RunFacts, was_sent: WasSent) -> Alert | None:
    """Tell of suppliers with rejected files, for each reason that was not told of them."""
    causes = {
        each: cause_of(AlertKind.REJECTIONS, run.environment, each.supplier, each.reason) for each in run.rejections
    }
    new = sorted(each for each, cause in causes.items() if not was_sent(cause))
    if not new:
        return None
    suppliers = len({each.supplier for each in new})
    who = "1 supplier" if suppliers == 1 else f"{suppliers:,} suppliers"
    lines = [
        f"- {each.rows:,} of {quoted(each.supplier)}, {quoted(each.reason)}: {remedy_for(each.reason)}" for each in new
    ]
    first = "Files were rejected for reasons that these suppliers did not have before:"
    told, causes_now = [first, *shortened(lines), *_head(run)], [causes[each] for each in new]
    title = f"first rejected files of {who}"
    about = run.about(sum(each.rows for each in new))
    return made_alert(AlertKind.REJECTIONS, run.environment, title, told, causes=causes_now, about=about)


def sunset_seen(run: RunFacts) -> Alert | None:
    """Tell of a Sunset header (contract, Versioning 3)."""
    if run.sunset is None:
        return None
    lines = [f"The service sends the header Sunset: {quoted(run.sunset)}.", *_head(run)]
    title, cause = "the partner announces a breaking change", harmless(run.sunset)
    return made_alert(AlertKind.SUNSET, run.environment, title, lines, cause, about=run.about(None))


def _details(run: RunFacts) -> list[str]:
    """Return how the run stands: its last leg, its counts, its kinds of rows and its names."""
    said = [] if run.why is None else [f"It said: {quoted(run.why)}"]
    kinds = [f"- {kind.rows:,} {quoted(kind.label)}: {kind.advice}" for kind in run.kinds]
    counts = f"{run.items - run.remaining:,} of {run.items:,} rows have their outcome{':' if kinds else '.'}"
    return [f"Run `{run.run_id}`: {harmless(run.ending)}.", *said, counts, *shortened(kinds), *_head(run)]


def _head(run: RunFacts) -> list[str]:
    return [] if run.head is None else [f"Head of the records: `{run.head}`"]


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
    lines = [f"The last run of {of_what} that did its work ended: {last}."]
    cause = (night.catalog or "", last)
    about = About(catalog=night.catalog, results_url=night.results_url)
    return made_alert(AlertKind.NO_SUCCESS, night.environment, title, lines, *cause, about=about)


def daily_digest(environment: str, results_url: str, line: str, ended: datetime, head: str) -> Alert:
    """Tell of the newest leg, once for the UTC day on which it ended; `head` is the hex sha256 of its receipt."""
    day = ended.date().isoformat()
    lines = [f"Ended {minute_of(ended)}: {quoted(line)}", f"Head of the records: `{head}`"]
    about = About(results_url=results_url)
    return made_alert(AlertKind.DIGEST, environment, f"the records of {day}", lines, day, about=about)
