"""A check from outside the runs: what nobody would tell if no run came to its end."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from proofsweep.alerts.ends import AlertScope, alerts_of_key, end_of_flow
from proofsweep.alerts.events import state_of_ending
from proofsweep.alerts.facts import LOOK_BACK, alerts_of_run, end_of_run, killed_work, recent_runs, work_facts
from proofsweep.alerts.messages import Alert
from proofsweep.alerts.rules import alerts_of_end, no_success, quota_low
from proofsweep.config.locations import path_of
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ProofsweepError, RunMustStop
from proofsweep.domain.headers import AnswerHeaders
from proofsweep.domain.items import printable
from proofsweep.domain.models import PartnerUsageResponse
from proofsweep.queries.describe_run import describe_run
from proofsweep.store.legs import Legs


@dataclass(slots=True, kw_only=True)
class Check:
    """Decides what must be told now, about some catalogs or, without names, about all together."""

    scope: AlertScope
    catalogs: Sequence[str]
    folder: str  # relative catalogs lie in it
    key_in_use: Callable[[], str]  # its fingerprint
    ask_usage: Callable[[], tuple[PartnerUsageResponse, AnswerHeaders]]  # one keyed call
    skipped: list[str] = field(default_factory=list)  # one line for each thing that could not be looked at

    def gather(self) -> tuple[Sequence[Alert], Sequence[str]]:
        now, since = self.scope.clock(), self._since()
        named: list[str | None] = [printable(path_of(name, self.folder)).rstrip("/") for name in self.catalogs]
        key_in_use = None
        with suppress(ProofsweepError):  # the call for the usage says it
            key_in_use = self.key_in_use()
        found: list[Alert | None] = [*alerts_of_key(self.scope, key_in_use, now), *self._of_quota()]
        for location in named or [None]:
            found += [self._no_success(location, now), *self._of_newest_run(location)]
        for end in killed_work(self.scope.results, self.scope.environment, since):
            found += alerts_of_end(end)
        return [alert for alert in found if alert is not None], []

    def _since(self) -> datetime:
        return self.scope.clock() - LOOK_BACK

    def _of_quota(self) -> Iterator[Alert | None]:
        """Ask for the usage, which is one keyed call; a refused key is an alert, and what else fails is said."""
        scope = self.scope
        try:
            usage, said = self.ask_usage()
        except ProofsweepError as error:
            if isinstance(error, RunMustStop) and error.ended_by == EndedBy.KEY_REFUSED:
                yield from end_of_flow(scope, "check-alerts", state_of_ending(error.ended_by), error.message)()[0]
            else:
                self.skipped.append(f"The quota was not checked: {error.message}")
            return
        limit = said.rate_limit or usage.plan.quota_limit
        yield quota_low(scope.environment, said.rate_remaining, limit, said.rate_reset, scope.low_quota_percent)

    def _no_success(self, location: str | None, now: datetime) -> Alert | None:
        scope, hours = self.scope, self.scope.no_success_hours
        since, enough = self._since(), now - timedelta(hours=hours)
        facts = work_facts(scope.results, scope.environment, location, since=since, enough=enough)
        return no_success(facts, now, hours)

    def _of_newest_run(self, location: str | None) -> Sequence[Alert]:
        results, label = self.scope.results, self.scope.environment
        runs = (run for run in recent_runs(results, self._since()) if run.plan.environment == label)
        mine = (run for run in runs if location in {None, run.plan.catalog} and not run.is_superseded)
        newest = next(mine, None)
        if newest is None or newest.is_over:
            return []
        legs = Legs(results, newest.plan.run_id)
        if not legs.last() or legs.active_claim() is not None:
            return []  # else its process may have been killed
        run = describe_run(results, newest.plan.run_id)
        return alerts_of_run(end_of_run(results, run, self.scope.clock()), run) if run.remaining else []
