"""What is told of a run when a leg of it has ended, or could not begin."""

from collections.abc import Sequence
from dataclasses import dataclass

from proofsweep.domain.alerts.memory import IsTold
from proofsweep.domain.alerts.messages import Alert, AlertKind, cause_of, harmless, quoted, shortened
from proofsweep.domain.reasons import remedy_for
from proofsweep.domain.runs import EndedBy

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
    """How a run stands after a leg.

    Attributes:
        ended_by: of the last leg.
        ending: how it ended, in one clause.
        failed: its rows that failed.
        answered: its rows that were accepted or rejected.
        why: the leg's own sentence, if it ended early.
        kinds: its finished rows.
        rejections: of the last leg, by supplier; empty if no tag names the supplier.
        sunset: the last Sunset header of the run.
        in_doubt: rows that the last leg could not decide about.
        nights_in_doubt: on how many days in a row that was so.
        head: hex sha256 of the receipt of the leg, which holds all earlier receipts; None if it is not known.
    """

    run_id: str
    environment: str
    catalog: str
    results_url: str
    ended_by: str
    ending: str
    items: int
    remaining: int
    failed: int = 0
    answered: int = 0
    why: str | None = None
    kinds: Sequence[RowKind] = ()
    rejections: Sequence[SupplierRejections] = ()
    sunset: str | None = None
    head: str | None = None
    in_doubt: int = 0
    nights_in_doubt: int = 0


def alerts_of_run(run: RunFacts, is_told: IsTold) -> list[Alert]:
    """Say what must be told of a run after a leg."""
    found = [
        rows_remain(run),
        still_in_doubt(run),
        rows_failed(run),
        key_refused(run),
        first_rejections(run, is_told),
        sunset_seen(run),
    ]
    return [alert for alert in found if alert is not None]


def over_after_run(run: RunFacts) -> list[str]:
    """Name the begins of causes that a leg shows to be over: it began, its key worked, or no row remains."""
    over = [cause_of(AlertKind.NOT_BEGUN, run.environment)]
    if run.ended_by != EndedBy.KEY_REFUSED:
        over.append(cause_of(AlertKind.KEY_REFUSED, run.environment))
    if run.remaining == 0:
        failed = rows_failed(run)
        kinds = (AlertKind.ROWS_REMAIN, AlertKind.QUOTA_SHORT, AlertKind.SOME_FAILED, AlertKind.ALL_FAILED)
        over += [
            cause_of(kind, run.environment, run.catalog) for kind in kinds if failed is None or kind != failed.kind
        ]
    return over


def rows_remain(run: RunFacts) -> Alert | None:
    """Tell that a leg ended and rows of its run remain; a refused key is told by `key_refused`."""
    if not run.remaining or run.ended_by == EndedBy.KEY_REFUSED:
        return None
    return Alert(
        kind=AlertKind.ROWS_REMAIN,
        causes=(cause_of(AlertKind.ROWS_REMAIN, run.environment, run.catalog, run.ended_by),),
        subject=f"proofsweep: {run.remaining:,} of {run.items:,} rows remain ({harmless(run.environment)})",
        body=_body(run, f"Run `{run.run_id}`: {harmless(run.ending)}."),
    )


def still_in_doubt(run: RunFacts) -> Alert | None:
    """Tell of rows that no control could decide about for three nights."""
    if run.nights_in_doubt < _NIGHTS_IN_DOUBT:
        return None
    do = f"To do: see why, and if the files are at fault: `proofsweep resume {run.run_id} --believe`."
    return Alert(
        kind=AlertKind.IN_DOUBT,
        causes=(cause_of(AlertKind.IN_DOUBT, run.environment, run.catalog, run.run_id),),
        subject=f"proofsweep: {run.in_doubt:,} files in doubt for three nights ({harmless(run.environment)})",
        body=_body(run, f"Run `{run.run_id}`: nothing shows whether {run.in_doubt:,} files are at fault.", do),
    )


def rows_failed(run: RunFacts) -> Alert | None:
    """Tell that rows of a finished run failed: some, or all that the service was asked about."""
    if run.remaining or not run.failed:
        return None
    kind, but = (AlertKind.SOME_FAILED, "") if run.answered else (AlertKind.ALL_FAILED, ", and none was answered")
    what = f"{run.failed:,} of {run.items:,} rows failed{but}"
    redrive = f"`proofsweep redrive {run.run_id} --reason REASON`"
    return Alert(
        kind=kind,
        causes=(cause_of(kind, run.environment, run.catalog),),
        subject=f"proofsweep: {what} ({harmless(run.environment)})",
        body=_body(run, f"Run `{run.run_id}`: {what}.", f"To do: as above for each reason; then {redrive}."),
    )


def key_refused(run: RunFacts) -> Alert | None:
    """Tell that the service refused the key while a leg worked."""
    if run.ended_by != EndedBy.KEY_REFUSED or not run.remaining:
        return None
    return Alert(
        kind=AlertKind.KEY_REFUSED,
        causes=(cause_of(AlertKind.KEY_REFUSED, run.environment),),
        subject=f"proofsweep: the service refused the API key ({harmless(run.environment)})",
        body=_body(run, f"Run `{run.run_id}` stopped: {run.remaining:,} of {run.items:,} rows remain.", _KEY_ADVICE),
    )


def first_rejections(run: RunFacts, is_told: IsTold) -> Alert | None:
    """Tell of suppliers with rejected files, for each reason that was not told of them."""
    causes = {
        each: cause_of(AlertKind.REJECTIONS, run.environment, each.supplier, each.reason) for each in run.rejections
    }
    new = sorted(each for each, cause in causes.items() if not is_told(cause))
    if not new:
        return None
    suppliers = len({each.supplier for each in new})
    who = "1 supplier" if suppliers == 1 else f"{suppliers:,} suppliers"
    lines = [
        f"- {each.rows:,} of {quoted(each.supplier)}, {quoted(each.reason)}: {remedy_for(each.reason)}" for each in new
    ]
    return Alert(
        kind=AlertKind.REJECTIONS,
        causes=tuple(causes[each] for each in new),
        subject=f"proofsweep: first rejected files of {who} ({harmless(run.environment)})",
        body="\n".join(
            [
                "Files were rejected for reasons that these suppliers did not have before:",
                *shortened(lines),
                *_places(run),
            ]
        ),
    )


def sunset_seen(run: RunFacts) -> Alert | None:
    """Tell of a Sunset header (contract, Versioning 3)."""
    if run.sunset is None:
        return None
    lines = [
        f"The service sends the header Sunset: {quoted(run.sunset)}.",
        "To do: ask the partner for the migration guide, and plan the update of proofsweep before that day.",
    ]
    return Alert(
        kind=AlertKind.SUNSET,
        causes=(cause_of(AlertKind.SUNSET, run.environment, harmless(run.sunset)),),
        subject=f"proofsweep: the partner announces a breaking change ({harmless(run.environment)})",
        body="\n".join([*lines, *_places(run)]),
    )


def not_begun(environment: str, ended_by: str, message: str, results_url: str) -> Alert | None:
    """Tell that a run could not begin, or that its leg could not; nothing to tell if somebody asked it to stop."""
    if ended_by == EndedBy.CANCELLED:
        return None
    is_key = ended_by == EndedBy.KEY_REFUSED
    what = "the service refused the API key" if is_key else "a run could not begin"
    advice = (
        _KEY_ADVICE if is_key else "To do: see `proofsweep doctor`; the next run begins by itself if it is scheduled."
    )
    kind = AlertKind.KEY_REFUSED if is_key else AlertKind.NOT_BEGUN
    return Alert(
        kind=kind,
        causes=(cause_of(kind, environment) if is_key else cause_of(kind, environment, ended_by),),
        subject=f"proofsweep: {what} ({harmless(environment)})",
        body="\n".join([f"It said: {quoted(message)}", advice, f"Tables: {quoted(results_url)}"]),
    )


_KEY_ADVICE = "To do: put the right key in place, try it with `proofsweep doctor`, and resume."


def _body(run: RunFacts, first: str, advice: str | None = None) -> str:
    said = [] if run.why is None else [f"It said: {quoted(run.why)}"]
    kinds = [f"- {kind.rows:,} {quoted(kind.label)}: {kind.advice}" for kind in run.kinds]
    counts = f"{run.items - run.remaining:,} of {run.items:,} rows have their outcome{':' if kinds else '.'}"
    do = (
        f"To do: `proofsweep resume {run.run_id}`; a deployment's next run resumes by itself."
        if advice is None
        else advice
    )
    return "\n".join([first, *said, counts, *shortened(kinds), do, *_places(run)])


def _places(run: RunFacts) -> list[str]:
    places = [f"Run: `{run.run_id}`, catalog {quoted(run.catalog)}", f"Tables: {quoted(run.results_url)}"]
    if run.head is None:
        return places
    return [*places, f"Head of the records: `{run.head}` (a later `proofsweep audit --head` checks them by it)"]
