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
    outage_of_cause,
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
from proofsweep.alerts.send import Gather, name_of, read_memory, sent_lately
from proofsweep.config.locations import identity_of
from proofsweep.config.sections import AlertsSettings, CatalogSettings, ServiceSettings
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.exchanges import Call
from proofsweep.domain.runs import OUTCOMES, new_run_id
from proofsweep.domain.text import counted, remaining_words
from proofsweep.ingest.pass_report import PassReport
from proofsweep.ingest.rules import Decision
from proofsweep.operations.rotate import recorded_rotations
from proofsweep.queries.status import Group, RunStatus, describe_run
from proofsweep.reports.run import ending_of
from proofsweep.store import layout
from proofsweep.store.objects import json_bytes, sha256_hex
from proofsweep.store.operations import probes_of
from proofsweep.store.parts import Results
from proofsweep.store.runs import LegRecord, RunRecord
from proofsweep.verify.resume import resumable_since

# How a leg ends of which the files and the service worked to its end.
_WORKED = {ended_by for ended_by in EndedBy if ended_by.ending.does_its_work}
_WORKED |= {EndedBy.CANCELLED, EndedBy.INTERRUPTED}
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
            end = self.end_of_run(run)
            leg = run.legs[-1]
            answered = leg.count("accepted") + leg.count("rejected")
            # An answer shows that the key works, unless the leg ended with a refusal.
            works = end.state != KEY_REFUSED and answered > 0
            over = self._works(works=works)
            over += self._over_after_leg(run, works=works)
            alerts = alerts_of_run(end, run)
            alerts += self.key_alerts(_key_of(run))
            return alerts, over

        return gather

    def _over_after_leg(self, run: RunStatus, *, works: bool) -> list[str]:
        plan = run.plan
        subject = (self.environment, plan.identity)
        is_whole = run.is_over and not run.remaining
        # As long as another run of it waits, the cause holds for that one.
        if self._has_unfinished(plan.identity, apart_from=plan.run_id):
            return []
        over: list[str] = []
        if is_whole or (works and run.ended_by in _WORKED):
            over += over_if_it_works(*subject)
        # A run of chosen rows is no success of the whole catalog.
        if is_whole and not plan.lists_a_part:
            over += over_without_rows(*subject)
            if not plan.unmet and not run.rows("failed"):
                over += over_without_failures(*subject)
        return over

    def end_of_idle(self, location: str, *, is_whole: bool) -> Gather:
        """Tell that a catalog was read, and that none of its rows is due; those that conditions leave out may be."""
        self.record_idle(location, is_part=not is_whole)

        def gather() -> tuple[list[Alert], list[str]]:
            identity = self.identity_of(location)
            if self._has_unfinished(identity):
                return [], []
            over: list[str] = []
            if is_whole:
                over += over_without_rows(self.environment, identity)
                over += over_without_failures(self.environment, identity)
            over += self._over_if_well(identity)
            return [], over

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
        details = [f"It said: {quoted(message)}"]
        end = FlowEnd(flow, state, self._here(catalog), details, title)
        over: list[str] = []
        if state == COMPLETED:  # only an operation has no run that tells it
            over += over_if_it_works(self.environment, end.subject)
            over += over_without_rows(self.environment, end.subject)
            over += self._works(works=True)

        def gather() -> tuple[list[Alert], list[str]]:
            if run_id is None:
                return alerts_of_end(end), over
            with_run = self._with_run(end, run_id)
            return alerts_of_end(with_run), over

        return gather

    def _with_run(self, end: FlowEnd, run_id: str) -> FlowEnd:
        """Name the run and its rows, which `status` counts so too."""
        rows = None
        # The flow may have failed because of the store, which then tells no rows either.
        with suppress(ResultsError):
            run = describe_run(self.results, run_id, is_left=True)
            rows = _rows_of(run)
        about = replace(end.about, run_id=run_id, rows=rows)
        return replace(end, about=about)

    def end_of_pass(self, watched: str, report: PassReport) -> Gather:
        unmoved: Counter[str] = Counter()
        for row in report.not_moved.values():
            unmoved[str(row["detail"])] += 1
        lines: list[str] = []
        for reason, count in unmoved.items():
            why = quoted(reason)
            lines.append(f"- {count:,}: {why}")
        state = "NotMoved" if unmoved else COMPLETED
        total = unmoved.total()
        files = counted(total, "file")
        about = self._here(watched, rows=f"{files} not moved")
        details = [f"They lie in {quoted(watched)} still:"]
        details += shortened(lines)
        title = f"verified files that are not moved: {total:,}"
        end = FlowEnd("check-ingest", state, about, details, title)
        if report.is_whole and not report.run_ids:
            self.record_idle(watched)

        def gather() -> tuple[list[Alert], list[str]]:
            # A pass over a part of a folder says nothing of the rest of it.
            if not report.is_whole:
                return alerts_of_end(end), []
            return alerts_of_end(end), self._over_after_pass(end.subject, report)

        return gather

    def _over_after_pass(self, identity: str, report: PassReport) -> list[str]:
        subject = (self.environment, identity)
        over = over_without_rows(*subject)
        # A file that failed is tried again when that is due; between its tries it fails still.
        has_failed = any(row["outcome"] == "failed" for row in report.rows)
        if not has_failed and not report.decisions[Decision.RESTING]:
            over += over_without_failures(*subject)
        if not report.not_moved:
            over.append(cause_of(AlertKind.NOT_MOVED, *subject))
        if not report.run_ids:
            over += self._over_if_well(identity)
        return over

    def _over_if_well(self, identity: str) -> list[str]:
        """Return what is over since the source was read, if the service works too; it is asked only if that matters."""
        over = over_if_it_works(self.environment, identity)
        # The service is asked only if somebody was told: a night with nothing due makes no call.
        was_told = any(map(self._is_remembered, over))
        if was_told and self.is_well():
            return over
        return []

    def _is_remembered(self, cause: str) -> bool:
        return read_memory(self.results.store, name_of(cause)) is not None

    def _has_unfinished(self, identity: str, apart_from: str = "") -> bool:
        """Whether a run of a catalog waits for the next one of the schedule, which resumes it."""
        oldest = new_run_id(resumable_since(self.clock()), "")
        for run in self.results.log.runs().counted_first():
            plan = run.plan
            if plan.environment != self.environment or plan.identity != identity:
                continue
            is_resumable = plan.run_id >= oldest and not run.is_over
            if is_resumable and plan.run_id != apart_from:
                return True
        return False

    def identity_of(self, location: str) -> str:
        return identity_of(location, self.catalogs.name)

    def end_of_run(self, run: RunStatus) -> FlowEnd:
        plan = run.plan
        rows = _rows_of(run)
        # A run whose last leg wrote no end was killed: nothing else leaves it so.
        ended_by = run.ended_by or EndedBy.KILLED
        state = state_of_run(ended_by, is_over=run.is_over, failed=run.rows("failed"), answered=run.answered)
        words = rows
        if rows is not None and not run.answered and not run.remaining:
            words = f"{rows}, and none was answered"
        here = self._here(plan.catalog, rows)
        machine = self._machine_of(plan.run_id)
        about = replace(here, identity=plan.identity, machine=machine, run_id=plan.run_id)
        title = title_of_run(state, words)
        return FlowEnd("verify-catalog", state, about, _details_of(run), title)

    def _machine_of(self, run_id: str) -> str | None:
        record = self.results.log.runs().records[run_id]
        holder = record.planned_by
        if record.begun:
            holder = record.begun[-1].holder
        return None if holder is None else holder.host

    def key_alerts(self, key_in_use: str | None) -> list[Alert]:
        """Return what is told of the ends of keys; `key_in_use` is a fingerprint."""
        now = self.clock()
        alerts: list[Alert] = []
        for rotation in recorded_rotations(self.results):
            if rotation.environment == self.environment:
                alerts += rotated_key_ends(rotation, key_in_use, now)
        return alerts

    def runs(self, catalog: str | None = None) -> Iterator[RunRecord]:
        """Yield the runs of the environment, of one catalog or of all, the newest first."""
        runs = self.results.log.runs()
        identities = None if catalog is None else self._identities_of(catalog)
        for run in runs.newest_first():
            is_meant = identities is None or run.plan.identity in identities
            if is_meant and run.plan.environment == self.environment:
                yield run

    def _identities_of(self, catalog: str) -> set[str]:
        """Return the identities of a catalog that a person names, also of one that was never verified."""
        runs = self.results.log.runs()
        return {*runs.identities_of(catalog), self.identity_of(catalog)}

    def record_idle(self, location: str, *, is_part: bool = False) -> None:
        """Record that a catalog, or a part, has nothing that is due: no run says it."""
        what = {"environment": self.environment, "catalog": self.identity_of(location), "is_part": is_part}
        digest = sha256_hex(json_bytes(what))[:16]
        name = f"{layout.IDLE_FOLDER}/{digest}.json"
        record = what | {"at": self.clock().isoformat()}
        # If that fails, an alert about a missing success comes too early, which is better than none.
        with suppress(ResultsError):
            self.results.store.replace(name, json_bytes(record))

    def _idle(self, catalog: str | None) -> Iterator[tuple[datetime, bool]]:
        """Yield when a catalog had nothing that was due, and whether only a part of it was looked at."""
        identities = None if catalog is None else self._identities_of(catalog)
        for name in self.results.store.names(layout.IDLE_FOLDER):
            with suppress(ValueError, TypeError, KeyError):  # somebody has damaged it
                content = self.results.store.read(name) or b""
                record = json.loads(content)
                is_meant = identities is None or record["catalog"] in identities
                if is_meant and record["environment"] == self.environment:
                    at = datetime.fromisoformat(record["at"])
                    yield at.astimezone(UTC), bool(record["is_part"])

    def no_success(self, catalog: str | None) -> list[Alert]:
        """Tell if no leg, of one catalog or of any, did its work lately."""
        ends = list(self._idle(catalog))
        first_run = None
        identity = None if catalog is None else self.identity_of(catalog)
        for run in self.runs(catalog):
            # A person may name a catalog by another of its names: its runs know the one that causes have.
            if identity is not None:
                identity = run.plan.identity
            first_run = datetime.fromisoformat(run.plan.created_at)
            is_part = run.plan.unmet > 0
            ends += [(finished_at, is_part) for finished_at in _ends_of_work(run)]
        # Rows that were chosen by conditions say nothing of the others: they count where nothing else was done.
        of_all = [at for at, is_part in ends if not is_part]
        of_any = [at for at, _ in ends]
        last = max(of_all or of_any, default=None)
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
        days = {oldest.date(), now.date()}
        table = probes_of(self.results, self.environment, _FACTS, days)
        recent = [row for row in table.to_pylist() if row["started_at"] >= oldest]
        probes = [ProbeFacts(**row) for row in recent]
        return sorted(probes, key=lambda probe: probe.started_at)

    def open_outages(self, catalogs: Sequence[str]) -> list[Alert]:
        """Return the outages that were told lately and are not over, of all catalogs or of some, and of the service."""
        # An outage of the service has an endpoint as its subject, and concerns each catalog.
        subjects: set[str] = set(Call)
        for catalog in catalogs:
            subjects |= self._identities_of(catalog)
        alerts: list[Alert] = []
        for memory in sent_lately(self.results.store, self.clock()):
            outage = outage_of_cause(self._here(None), memory.cause, memory.at)
            if outage is None:
                continue
            alert, subject = outage
            if not catalogs or subject in subjects:
                alerts.append(alert)
        return alerts

    def _works(self, *, works: bool) -> list[str]:
        if not works:
            return []
        return [cause_of(AlertKind.KEY_REFUSED, self.environment)]

    def _here(self, catalog: str | None, rows: str | None = None) -> About:
        identity = None
        if catalog is not None:
            identity = self.identity_of(catalog)
        return About(
            environment=self.environment,
            catalog=catalog,
            identity=identity,
            machine=socket.gethostname(),
            rows=rows,
            results_url=self.results.store.url,
        )


def _rows_of(run: RunStatus) -> str | None:
    """Say how many rows remain, or failed if none does; None if neither."""
    if run.remaining:
        return remaining_words(run.remaining, run.plan.items)
    failed = run.rows("failed")
    if not failed:
        return None
    rows = counted(run.plan.items, "row")
    return f"{failed:,} of {rows} failed"


def _details_of(run: RunStatus) -> list[str]:
    details = [f"How it ended: {harmless(ending_of(run))}."]
    if run.why is not None:
        details.append(f"It said: {quoted(run.why)}")
    counts = f"{run.finished:,} of {run.plan.items:,} rows have their outcome"
    kinds = list(map(_line_of_group, run.groups))
    if not kinds:
        details.append(f"{counts}.")
        return details
    details.append(f"{counts}:")
    details += shortened(kinds)
    return details


def _line_of_group(group: Group) -> str:
    label = quoted(group.label)
    return f"- {group.rows:,} {label}: {group.what_to_do}"


def _key_of(run: RunStatus) -> str | None:
    """Return the fingerprint of the key in use; a leg that lacks it leaves that to the leg before."""
    for leg in reversed(run.legs):
        fingerprint = leg.counts.get("key_fingerprint")
        if fingerprint:
            return str(fingerprint)
    return None


def alerts_of_run(end: FlowEnd, run: RunStatus) -> list[Alert]:
    about = replace(end.about, rows=None)
    return [*alerts_of_end(end), *sunset_seen(run.sunset, about)]


def _ends_of_work(run: RunRecord) -> Iterator[datetime]:
    for leg in run.legs:
        if leg.finished_at is not None and _did_its_work(leg):
            yield leg.finished_at


def _did_its_work(leg: LegRecord) -> bool:
    accepted, rejected, failed, ineligible = map(leg.count, OUTCOMES)
    answered = accepted + rejected
    return did_its_work(leg.ended_by, answered=answered, failed=failed, ineligible=ineligible)
