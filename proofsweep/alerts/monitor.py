"""Look from outside the runs: probe the service, and tell what nobody would tell if no run came to its end."""

import json
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from proofsweep.alerts.facts import AlertFacts, alerts_of_run
from proofsweep.alerts.rules import (
    EVENTS,
    About,
    Alert,
    AlertKind,
    alerts_of_probes,
    cause_of,
    made_alert,
    quota_low,
    quoted,
)
from proofsweep.client.client import Partner
from proofsweep.config.locations import path_of
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import CallFailed, ProofsweepError, RunMustStop
from proofsweep.domain.exchanges import USAGE_DAYS, AnswerHeaders, Call, Exchange, Failure
from proofsweep.domain.items import Row, utf8_text
from proofsweep.domain.models import HealthResponse, PartnerUsageResponse
from proofsweep.domain.runs import new_run_id
from proofsweep.domain.text import counted, minute_of
from proofsweep.queries.status import describe_run
from proofsweep.store.legs import Legs
from proofsweep.store.operations import add_pass
from proofsweep.store.rows import probe_row, usage_rows
from proofsweep.store.runs import RunRecord
from proofsweep.verify.resume import resumable_since
from proofsweep.verify.service import Service

_LONGEST_START = timedelta(hours=1)  # from the plan of a run to its first leg


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeBatch:
    probes: Sequence[Row]
    usage: Sequence[Row]

    def line(self) -> str:
        return " · ".join(map(_words_of, self.probes))

    def rows(self, own: Row) -> list[Row]:
        """Return the rows as they are kept, with what they have in common; the row of `usage` holds what it said."""
        usage_json = self._usage_json()
        rows: list[Row] = []
        for probe in self.probes:
            row = own | probe
            row["usage_json"] = usage_json if probe["call"] == Call.USAGE else None
            rows.append(row)
        return rows

    def _usage_json(self) -> str | None:
        days = [dict(row) for row in self.usage]
        for day in days:
            day.pop("asked_at", None)  # the probe has it
        if not days:
            return None
        return json.dumps(days, ensure_ascii=False)


def probe_service(partner: Partner) -> ProbeBatch:
    """Ask /health and /partner/usage once; a failure is a row too. No other thread may use the partner."""
    seen: list[Exchange] = []
    once = partner.with_attempts(1).in_new_session(seen.append)
    health = HealthResponse()
    usage: list[Row] = []
    with _failure_kept(seen):
        health = once.health()
    with _failure_kept(seen):
        answer, _ = once.usage(days=USAGE_DAYS.start)
        usage = usage_rows(answer, seen[-1].started_at)
    probes: list[Row] = []
    for exchange in seen:
        said = health if exchange.call is Call.HEALTH else None
        probes.append(probe_row(exchange, said))
    return ProbeBatch(probes=probes, usage=usage)


def is_well(open_service: Callable[[], AbstractContextManager[Service]]) -> bool:
    """Ask once whether the service is well, without a key."""
    with suppress(ProofsweepError), open_service() as service:
        return service.partner.with_attempts(1).health().ok is not False
    return False


@contextmanager
def _failure_kept(seen: list[Exchange]) -> Iterator[None]:
    """End quietly if the call fails. JSON that lacks what it must have is a bad answer, whatever the status says."""
    try:
        yield
    except RunMustStop:  # the key was refused, or the quota is used up: the exchange says so
        return
    except CallFailed:
        if seen[-1].is_success:
            seen[-1] = replace(seen[-1], failure=Failure.BAD_ANSWER)


def _words_of(probe: Row) -> str:
    state = probe["trouble"]
    if state is None:
        state = "well"
    elapsed_ms = float(str(probe["elapsed_ms"]))
    words = f"{probe['call']} {state}, {elapsed_ms:,.0f} ms"
    left, limit = probe["rate_remaining"], probe["rate_limit"]
    if not isinstance(left, int):
        return words
    words += f", {left:,}"
    if isinstance(limit, int):
        words += f" of {limit:,}"
    words += " calls left"
    # Nothing is said of a reset that is past: the calls that are left are those of a new period by then.
    reset, started_at = probe["rate_reset"], probe["started_at"]
    if not isinstance(reset, datetime) or not isinstance(started_at, datetime):
        return words
    if reset > started_at:
        words += f" until {minute_of(reset)}"
    return words


def monitor(facts: AlertFacts, partner: Partner) -> tuple[ProbeBatch, list[Alert], list[str]]:
    """Make one pass: (1) probe, (2) write what was found, (3) decide which alerts hold, and which causes are over."""
    began = facts.clock()
    batch = probe_service(partner)  # (1)
    pass_id = new_run_id(began, secrets.token_hex(3))
    own: Row = {"operation_id": pass_id, "environment": facts.environment, "base_url": facts.service.base_url}
    add_pass(facts.results, facts.environment, began, batch.rows(own))  # (2)
    alerts, over = alerts_of_probes(facts.recent_probes(), facts.environment)  # (3)
    return batch, alerts, over


@dataclass(slots=True, kw_only=True)
class Check:
    """Decides what must be told now, about some catalogs or, without names, about all together."""

    facts: AlertFacts
    catalogs: Sequence[str]
    folder: str  # relative catalogs lie in it
    key_in_use: Callable[[], str]  # its fingerprint
    ask_usage: Callable[[], tuple[PartnerUsageResponse, AnswerHeaders]]  # one keyed call
    skipped: list[str] = field(default_factory=list)  # one line for each thing that could not be looked at

    def gather(self) -> tuple[Sequence[Alert], Sequence[str]]:
        named = list(map(self._meant, self.catalogs))
        key_in_use = None
        with suppress(ProofsweepError):  # the call for the usage says it
            key_in_use = self.key_in_use()
        # Damage of one catalog hinders no alert of another, and is not kept quiet.
        damaged = self.facts.results.log.runs().damaged
        if damaged:
            what = f"{counted(len(damaged), 'object')} of the results store"
            self.skipped.append(f"{what} cannot be read, and what they say was not looked at: see proofsweep audit")
        of_quota, over = self._of_quota()
        alerts = self.facts.key_alerts(key_in_use)
        alerts += of_quota
        locations: Sequence[str | None] = named or [None]
        for location in locations:
            alerts += self.facts.no_success(location)
            alerts += self._of_killed_runs(location)
        alerts += self.facts.open_outages(named)
        return alerts, over

    def _meant(self, catalog: str) -> str:
        """Return the name of a catalog that is known by it, or the location of any other."""
        if any(run.plan.identity == catalog for run in self.facts.runs()):
            return catalog
        return utf8_text(path_of(catalog, self.folder)).rstrip("/")

    def _of_quota(self) -> tuple[Sequence[Alert], Sequence[str]]:
        """Ask for the usage, which is one keyed call; a refused key is an alert, and what else fails is said."""
        facts = self.facts
        about = About(environment=facts.environment)
        try:
            usage, headers = self.ask_usage()
        except ProofsweepError as error:
            if isinstance(error, RunMustStop) and error.ended_by == EndedBy.KEY_REFUSED:
                title = EVENTS[AlertKind.KEY_REFUSED].title
                line = f"A check of the quota said: {quoted(error.message)}"
                return [made_alert(AlertKind.KEY_REFUSED, about, title, [line])], []
            self.skipped.append(f"The quota was not checked: {error.message}")
            return [], []
        limit = headers.rate_limit or usage.plan.quota_limit
        alerts = quota_low(about, headers.rate_remaining, limit, headers.rate_reset, facts.clock())
        # The call was answered, so the key is not refused any more.
        return alerts, [cause_of(AlertKind.KEY_REFUSED, facts.environment)]

    def _of_killed_runs(self, location: str | None) -> Iterator[Alert]:
        """Tell of the newest run of each catalog, as long as the next one of the schedule would resume it."""
        facts = self.facts
        oldest = new_run_id(resumable_since(facts.clock()), "")
        # Nobody resumes an older run. Each catalog's newest is looked at, however many newer ones others have.
        runs = [run for run in facts.runs(location) if run.plan.run_id >= oldest]
        newest = {run.plan.identity: run for run in reversed(runs) if not run.is_superseded}
        for record in newest.values():
            if record.is_over or self._is_at_work(record):
                continue
            run = describe_run(facts.results, record.plan.run_id)
            if run.remaining:
                yield from alerts_of_run(facts.end_of_run(run), run)

    def _is_at_work(self, run: RunRecord) -> bool:
        """Whether a process works on a run, or the one that planned it may still begin its first leg."""
        if run.begun:
            legs = Legs(self.facts.results, run.plan)
            return any(leg.is_alive for leg in legs.shown())
        planner = run.planned_by
        if planner is None:
            return True
        # Only its own machine can tell whether a process exists. Elsewhere it has an hour, since legs wait for workers.
        if planner.is_here:
            return not planner.is_gone
        return self.facts.clock() - planner.taken_at < _LONGEST_START
