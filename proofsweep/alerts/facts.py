"""What alerts are decided by, read from the store: how runs, flows and passes ended, late runs, killed work, probes."""

import json
import socket
from collections import Counter
from collections.abc import Callable, Iterator
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
    over_after_end,
    quoted,
    rotated_key_ends,
    shortened,
    state_of_run,
    sunset_seen,
)
from proofsweep.alerts.send import Gather
from proofsweep.config.sections import AlertsSettings, ServiceSettings
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import utf8_text
from proofsweep.domain.runs import OUTCOMES
from proofsweep.ingest.one_pass import PassReport
from proofsweep.operations.rotate import recorded_rotations
from proofsweep.queries.status import RunStatus
from proofsweep.reports.run import ending_of
from proofsweep.store import layout
from proofsweep.store.objects import json_bytes, sha256_hex
from proofsweep.store.operations import probes_of
from proofsweep.store.parts import Results
from proofsweep.store.runs import LegRecord, RunRecord

_OLDEST_PASS = timedelta(hours=12)  # of monitoring, by which a lasting state is decided
_FACTS = [field.name for field in fields(ProbeFacts)]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertFacts:
    """What alerts of one environment are decided by. A `Gather` reads the store only if somebody is to be told."""

    results: Results
    service: ServiceSettings
    settings: AlertsSettings
    clock: Callable[[], datetime]

    @property
    def environment(self) -> str:
        return self.service.environment

    def end_of_leg(self, run: RunStatus) -> Gather:
        def gather() -> tuple[list[Alert], list[str]]:
            end, leg = self.end_of_run(run), run.legs[-1]
            in_use = next((str(key) for each in run.legs[::-1] if (key := each.counts.get("key_fingerprint"))), None)
            works = end.state != KEY_REFUSED and leg.count("accepted") + leg.count("rejected") > 0
            return [*alerts_of_run(end, run), *self.key_alerts(in_use)], [*over_after_end(end), *self._works(works)]

        return gather

    def end_of_flow(self, flow: str, state: str, message: str, *, away: str | None = None) -> Gather:
        """Tell of the end of a flow run; a catalog that is `away` is a cause of its own, and ends no other one."""
        title = None if away is None else "the catalog cannot be read"
        end = FlowEnd(flow, state, self._here(catalog=away), [f"It said: {quoted(message)}"], title)
        over = [*over_after_end(end), *self._works(state == COMPLETED)]  # only an operation has no run that tells it
        return lambda: (alerts_of_end(end), over if away is None else [])

    def end_of_pass(self, watched: str, report: PassReport) -> Gather:
        unmoved = Counter(str(row["detail"]) for row in report.not_moved.values())
        lines = [f"- {count:,}: {quoted(reason)}" for reason, count in unmoved.items()]
        end = FlowEnd(
            "check-ingest",
            "NotMoved" if unmoved else "Completed",
            self._here(catalog=watched, rows=unmoved.total()),
            details=[f"They lie in {quoted(watched)} still:", *shortened(lines)],
            title=f"verified files that are not moved: {unmoved.total():,}",
        )
        if report.is_whole and not report.run_ids:
            self.record_idle(watched)
        over = over_after_end(end) if report.is_whole and not unmoved else []
        return lambda: (alerts_of_end(end), over)

    def end_of_run(self, run: RunStatus) -> FlowEnd:
        items, remaining, failed = run.plan.items, run.remaining, run.rows("failed")
        begun = self.results.log.runs().records[run.plan.run_id].begun
        holder = begun[-1].holder if begun else None
        but = "" if run.answered else ", and none was answered"
        some_failed = f"{failed:,} of {items:,} rows failed{but}" if failed else None
        said = [] if run.why is None else [f"It said: {quoted(run.why)}"]
        kinds = [f"- {group.rows:,} {quoted(group.label)}: {group.what_to_do}" for group in run.groups]
        counts = f"{items - remaining:,} of {items:,} rows have their outcome{':' if kinds else '.'}"
        state = state_of_run(run.ended_by or EndedBy.KILLED, is_over=run.is_over, failed=failed, answered=run.answered)
        return FlowEnd(
            "verify-catalog",
            state,
            replace(self._here(run.plan.catalog, remaining or failed), machine=None if holder is None else holder.host),
            title=f"{remaining:,} of {items:,} rows remain" if remaining else some_failed,
            details=[
                *(f"Run `{run.plan.run_id}`: {harmless(ending_of(run))}.", *said, counts),
                *shortened(kinds),
            ],
        )

    def key_alerts(self, key_in_use: str | None) -> list[Alert]:
        """Return what is told of the ends of keys; `key_in_use` is a fingerprint."""
        now = self.clock()
        own = (each for each in recorded_rotations(self.results) if each.environment == self.environment)
        return [alert for rotation in own for alert in rotated_key_ends(rotation, key_in_use, now)]

    def runs(self, catalog: str | None = None) -> Iterator[RunRecord]:
        """Yield the runs of the environment, of one catalog or of all, the newest first."""
        runs = self.results.log.runs().newest_first()
        mine = (run for run in runs if run.plan.environment == self.environment)
        return (run for run in mine if catalog in {None, run.plan.catalog})

    def record_idle(self, catalog: str) -> None:
        """Record that a catalog has nothing that is due, which no run says; if that fails, an alert comes too early."""
        what = {"environment": self.environment, "catalog": utf8_text(catalog)}
        name = f"{layout.IDLE_FOLDER}/{sha256_hex(json_bytes(what))[:16]}.json"
        with suppress(ResultsError):
            self.results.store.replace(name, json_bytes(what | {"at": self.clock().isoformat()}))

    def _idle(self, catalog: str | None) -> Iterator[datetime]:
        for name in self.results.store.names(layout.IDLE_FOLDER):
            with suppress(ValueError, TypeError, KeyError):  # somebody has damaged it
                found = json.loads(self.results.store.read(name) or b"")
                if found["environment"] == self.environment and catalog in {None, found["catalog"]}:
                    yield datetime.fromisoformat(found["at"]).astimezone(UTC)

    def no_success(self, catalog: str | None) -> list[Alert]:
        """Tell if no leg, of one catalog or of any, did its work lately."""
        ends, first_run = list(self._idle(catalog)), None
        for run in self.runs(catalog):
            first_run = datetime.fromisoformat(run.plan.created_at)
            ends += [leg.finished_at for leg in run.legs if leg.finished_at is not None and _did_its_work(leg)]
        about = About(environment=self.environment, catalog=catalog, results_url=self.results.store.url)
        return no_success(about, max(ends, default=None), first_run, self.clock(), self.settings.no_success_hours)

    def recent_probes(self) -> list[ProbeFacts]:
        """Return the probes of the last hours, the oldest first; ResultsError if the store cannot be read."""
        now = self.clock()
        oldest = now - _OLDEST_PASS
        rows = probes_of(self.results, self.environment, _FACTS, {oldest.date(), now.date()}).to_pylist()
        recent = [ProbeFacts(**row) for row in rows if row["started_at"] >= oldest]
        return sorted(recent, key=lambda probe: probe.started_at)

    def _works(self, works: bool) -> list[str]:
        return [cause_of(AlertKind.KEY_REFUSED, self.environment)] if works else []

    def _here(self, catalog: str | None, rows: int | None = None) -> About:
        host, url = socket.gethostname(), self.results.store.url
        return About(environment=self.environment, catalog=catalog, machine=host, rows=rows, results_url=url)


def alerts_of_run(end: FlowEnd, run: RunStatus) -> list[Alert]:
    return [*alerts_of_end(end), *sunset_seen(run.sunset, replace(end.about, rows=None))]


def _did_its_work(leg: LegRecord) -> bool:
    accepted, rejected, failed, ineligible = map(leg.count, OUTCOMES)
    return did_its_work(leg.ended_by, answered=accepted + rejected, failed=failed, ineligible=ineligible)
