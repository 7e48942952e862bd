"""What alerts are decided by, read from the store: how runs, flows and passes ended, late runs, killed work, probes."""

import json
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta

from proofsweep.alerts.rules import (
    COMPLETED,
    KEY_REFUSED,
    About,
    Alert,
    AlertKind,
    FlowEnd,
    ProbeFacts,
    alerts_of_end,
    cause_of,
    did_its_work,
    harmless,
    no_success,
    outage_told,
    over_if_it_works,
    over_without_failures,
    over_without_rows,
    quoted,
    rotated_key_ends,
    shortened,
    state_of_run,
    sunset_seen,
    title_of_run,
)
from proofsweep.alerts.send import Gather, name_of, read_memory, told_lately
from proofsweep.config.locations import identity_of
from proofsweep.config.sections import AlertsSettings, CatalogSettings, ServiceSettings
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.exchanges import Call
from proofsweep.domain.runs import OUTCOMES, new_run_id
from proofsweep.domain.text import counted, remaining_words
from proofsweep.ingest.one_pass import PassReport
from proofsweep.ingest.rules import Decision
from proofsweep.operations.rotate import recorded_rotations
from proofsweep.queries.status import RunStatus, describe_run
from proofsweep.reports.run import ending_of
from proofsweep.store import layout
from proofsweep.store.objects import json_bytes, sha256_hex
from proofsweep.store.operations import probes_of
from proofsweep.store.parts import Results
from proofsweep.store.runs import LegRecord, RunRecord
from proofsweep.verify.resume import resumable_since

# How a leg ends of which the files and the service worked to its end.
_WORKED = {*(each for each in EndedBy if each.ending.does_its_work), EndedBy.CANCELLED, EndedBy.INTERRUPTED}
_OLDEST_PASS = timedelta(hours=12)  # of monitoring, by which a lasting state is decided
_FACTS = [field.name for field in fields(ProbeFacts)]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertFacts:
    """What alerts of one environment are decided by. A `Gather` reads the store only if somebody is to be told."""

    results: Results
    service: ServiceSettings
    catalogs: CatalogSettings
    settings: AlertsSettings
    clock: Callable[[], datetime]
    is_well: Callable[[], bool]  # asks the service, without a key

    @property
    def environment(self) -> str:
        return self.service.environment

    def end_of_leg(self, run: RunStatus) -> Gather:
        """Tell of the end of a run's last leg; of a watched folder only a pass knows what is over."""

        def gather() -> tuple[list[Alert], list[str]]:
            end, leg = self.end_of_run(run), run.legs[-1]
            in_use = next((str(key) for each in run.legs[::-1] if (key := each.counts.get("key_fingerprint"))), None)
            works = end.state != KEY_REFUSED and leg.count("accepted") + leg.count("rejected") > 0
            over = [*self._works(works=works), *self._over_after_leg(run, works=works)]
            return [*alerts_of_run(end, run), *self.key_alerts(in_use)], over

        return gather

    def _over_after_leg(self, run: RunStatus, *, works: bool) -> list[str]:
        """Return the causes of a catalog that are over; none as long as another run of it waits for the next one."""
        plan, subject = run.plan, (self.environment, run.plan.identity)
        is_whole = run.is_over and not run.remaining
        if self._has_unfinished(plan.identity, apart_from=plan.run_id):
            return []
        over = over_if_it_works(*subject) if is_whole or (works and run.ended_by in _WORKED) else []
        if is_whole and not plan.lists_a_part:
            over += over_without_rows(*subject)
            over += [] if plan.unmet or run.rows("failed") else over_without_failures(*subject)
        return over

    def end_of_idle(self, location: str, *, is_whole: bool) -> Gather:
        """Tell that a catalog was read, and that none of its rows is due; those that conditions leave out may be."""
        self.record_idle(location, is_part=not is_whole)

        def gather() -> tuple[list[Alert], list[str]]:
            subject = (self.environment, self.identity_of(location))
            if self._has_unfinished(subject[1]):
                return [], []
            over = [*over_without_rows(*subject), *over_without_failures(*subject)] if is_whole else []
            return [], [*over, *self._over_if_well(subject[1])]

        return gather

    def end_of_flow(
        self,
        flow: str,
        state: str,
        message: str,
        *,
        catalog: str | None = None,
        run_id: str | None = None,
        title: str | None = None,
    ) -> Gather:
        """Tell of the end of a flow run that could not work on a catalog or folder, or not write the end of its run."""
        end = FlowEnd(flow, state, self._here(catalog), [f"It said: {quoted(message)}"], title)
        over: list[str] = []
        if state == COMPLETED:  # only an operation has no run that tells it
            subject = (self.environment, end.subject)
            over = [*over_if_it_works(*subject), *over_without_rows(*subject), *self._works(works=True)]
        return lambda: (alerts_of_end(end if run_id is None else self._with_run(end, run_id)), over)

    def _with_run(self, end: FlowEnd, run_id: str) -> FlowEnd:
        """Name the run and its rows, which `status` counts so too; the store may be too ill to be read."""
        rows = None
        with suppress(ResultsError):
            rows = _rows_of(describe_run(self.results, run_id, is_left=True))
        return replace(end, about=replace(end.about, run_id=run_id, rows=rows))

    def end_of_pass(self, watched: str, report: PassReport) -> Gather:
        unmoved = Counter(str(row["detail"]) for row in report.not_moved.values())
        lines = [f"- {count:,}: {quoted(reason)}" for reason, count in unmoved.items()]
        state = "NotMoved" if unmoved else COMPLETED
        about = self._here(watched, rows=f"{counted(unmoved.total(), 'file')} not moved")
        details = [f"They lie in {quoted(watched)} still:", *shortened(lines)]
        title = f"verified files that are not moved: {unmoved.total():,}"
        end = FlowEnd("check-ingest", state, about, details, title)
        if report.is_whole and not report.run_ids:
            self.record_idle(watched)
        return lambda: (alerts_of_end(end), self._over_after_pass(end.subject, report) if report.is_whole else [])

    def _over_after_pass(self, identity: str, report: PassReport) -> list[str]:
        subject = (self.environment, identity)
        over = over_without_rows(*subject)
        # A file that failed is tried again when that is due; between its tries it fails still.
        is_failing = report.decisions[Decision.RESTING] or any(row["outcome"] == "failed" for row in report.rows)
        over += [] if is_failing else over_without_failures(*subject)
        over += [] if report.not_moved else [cause_of(AlertKind.NOT_MOVED, *subject)]
        return [*over, *([] if report.run_ids else self._over_if_well(identity))]

    def _over_if_well(self, identity: str) -> list[str]:
        """Return what is over since the source was read, if the service works too; it is asked only if that matters."""
        over = over_if_it_works(self.environment, identity)
        is_told = any(read_memory(self.results.store, name_of(cause)) is not None for cause in over)
        return over if is_told and self.is_well() else []

    def _has_unfinished(self, identity: str, apart_from: str = "") -> bool:
        """Whether a run of a catalog waits for the next one of the schedule, which resumes it."""
        oldest = new_run_id(resumable_since(self.clock()), "")
        for run in self.results.log.runs().counted_first():
            is_own = (run.plan.environment, run.plan.identity) == (self.environment, identity)
            if is_own and oldest <= run.plan.run_id != apart_from and not run.is_over:
                return True
        return False

    def identity_of(self, location: str) -> str:
        return identity_of(location, self.catalogs.name)

    def end_of_run(self, run: RunStatus) -> FlowEnd:
        items, failed, rows = run.plan.items, run.rows("failed"), _rows_of(run)
        record = self.results.log.runs().records[run.plan.run_id]
        holder = record.begun[-1].holder if record.begun else record.planned_by
        but = "" if run.answered or run.remaining else ", and none was answered"
        said = [] if run.why is None else [f"It said: {quoted(run.why)}"]
        kinds = [f"- {group.rows:,} {quoted(group.label)}: {group.what_to_do}" for group in run.groups]
        counts = f"{run.finished:,} of {items:,} rows have their outcome{':' if kinds else '.'}"
        state = state_of_run(run.ended_by or EndedBy.KILLED, is_over=run.is_over, failed=failed, answered=run.answered)
        machine = None if holder is None else holder.host
        about = replace(
            self._here(run.plan.catalog, rows), identity=run.plan.identity, machine=machine, run_id=run.plan.run_id
        )
        details = [f"How it ended: {harmless(ending_of(run))}.", *said, counts, *shortened(kinds)]
        title = title_of_run(state, None if rows is None else f"{rows}{but}")
        return FlowEnd("verify-catalog", state, about, details, title)

    def key_alerts(self, key_in_use: str | None) -> list[Alert]:
        """Return what is told of the ends of keys; `key_in_use` is a fingerprint."""
        now = self.clock()
        own = (each for each in recorded_rotations(self.results) if each.environment == self.environment)
        return [alert for rotation in own for alert in rotated_key_ends(rotation, key_in_use, now)]

    def runs(self, catalog: str | None = None) -> Iterator[RunRecord]:
        """Yield the runs of the environment, of one catalog or of all, the newest first."""
        runs = self.results.log.runs()
        identities = None if catalog is None else self._identities_of(catalog)
        for run in runs.newest_first():
            if run.plan.environment == self.environment and (identities is None or run.plan.identity in identities):
                yield run

    def _identities_of(self, catalog: str) -> set[str]:
        """Return the identities of a catalog that a person names, also of one that was never verified."""
        return {*self.results.log.runs().identities_of(catalog), self.identity_of(catalog)}

    def record_idle(self, location: str, *, is_part: bool = False) -> None:
        """Record that a catalog, or a part, has nothing that is due: no run says it.

        If that fails, an alert comes too early.
        """
        what = {"environment": self.environment, "catalog": self.identity_of(location), "is_part": is_part}
        name = f"{layout.IDLE_FOLDER}/{sha256_hex(json_bytes(what))[:16]}.json"
        with suppress(ResultsError):
            self.results.store.replace(name, json_bytes(what | {"at": self.clock().isoformat()}))

    def _idle(self, catalog: str | None) -> Iterator[tuple[datetime, bool]]:
        """Yield when a catalog had nothing that was due, and whether only a part of it was looked at."""
        identities = None if catalog is None else self._identities_of(catalog)
        for name in self.results.store.names(layout.IDLE_FOLDER):
            with suppress(ValueError, TypeError, KeyError):  # somebody has damaged it
                found = json.loads(self.results.store.read(name) or b"")
                is_own = identities is None or found["catalog"] in identities
                if is_own and found["environment"] == self.environment:
                    yield datetime.fromisoformat(found["at"]).astimezone(UTC), bool(found["is_part"])

    def no_success(self, catalog: str | None) -> list[Alert]:
        """Tell if no leg, of one catalog or of any, did its work lately.

        Rows that were chosen by conditions say nothing of the others, so they count only where nothing else was done.
        """
        ends, first_run = list(self._idle(catalog)), None
        identity = None if catalog is None else self.identity_of(catalog)
        for run in self.runs(catalog):
            identity = identity and run.plan.identity
            first_run = datetime.fromisoformat(run.plan.created_at)
            legs = (leg for leg in run.legs if leg.finished_at is not None and _did_its_work(leg))
            ends += [(leg.finished_at, run.plan.unmet > 0) for leg in legs if leg.finished_at is not None]
        of_all = [at for at, is_part in ends if not is_part]
        last = max(of_all or [at for at, _ in ends], default=None)
        about = About(
            environment=self.environment,
            catalog=catalog,
            identity=identity,
            results_url=self.results.store.url,
        )
        return no_success(about, last, first_run, self.clock(), self.settings.no_success_hours)

    def recent_probes(self) -> list[ProbeFacts]:
        """Return the probes of the last hours, the oldest first; ResultsError if the store cannot be read."""
        now = self.clock()
        oldest = now - _OLDEST_PASS
        rows = probes_of(self.results, self.environment, _FACTS, {oldest.date(), now.date()}).to_pylist()
        recent = [ProbeFacts(**row) for row in rows if row["started_at"] >= oldest]
        return sorted(recent, key=lambda probe: probe.started_at)

    def told_outages(self, catalogs: Sequence[str]) -> list[Alert]:
        """Return the outages that were told lately and are not over, of all catalogs or of some, and of the service."""
        own = {identity for catalog in catalogs for identity in self._identities_of(catalog)} | {*Call}
        told = told_lately(self.results.store, self.clock())
        alerts = [outage_told(self._here(None), memory.cause, memory.at) for memory in told]
        return [alert for alert, subject in filter(None, alerts) if not catalogs or subject in own]

    def _works(self, *, works: bool) -> list[str]:
        return [cause_of(AlertKind.KEY_REFUSED, self.environment)] if works else []

    def _here(self, catalog: str | None, rows: str | None = None) -> About:
        return About(
            environment=self.environment,
            catalog=catalog,
            identity=None if catalog is None else self.identity_of(catalog),
            machine=socket.gethostname(),
            rows=rows,
            results_url=self.results.store.url,
        )


def _rows_of(run: RunStatus) -> str | None:
    """Say how many rows remain, or failed if none does; None if neither."""
    if run.remaining:
        return remaining_words(run.remaining, run.plan.items)
    failed = run.rows("failed")
    return f"{failed:,} of {counted(run.plan.items, 'row')} failed" if failed else None


def alerts_of_run(end: FlowEnd, run: RunStatus) -> list[Alert]:
    return [*alerts_of_end(end), *sunset_seen(run.sunset, replace(end.about, rows=None))]


def _did_its_work(leg: LegRecord) -> bool:
    accepted, rejected, failed, ineligible = map(leg.count, OUTCOMES)
    return did_its_work(leg.ended_by, answered=accepted + rejected, failed=failed, ineligible=ineligible)
