"""What is told of the service by its last probes (contract, Versioning 7); one failed probe is no alarm. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from proofsweep.alerts.events import AlertKind
from proofsweep.alerts.messages import Alert, cause_of, made_alert, quoted
from proofsweep.text import minute_of

# Probes in a row, or of the last ones, that make a state a lasting one. Chosen: of five minutes each, a quarter of an
# hour, or half of an hour.
_IN_A_ROW = 3
_LAST_ONES, _MANY_OF_THEM = 12, 6

# Probes whose median is compared, and least ones to compare it with. Chosen: half an hour, and the hour before.
_RECENT = 6
_LEAST_BEFORE = 12
# A slowdown that nobody would feel. Chosen: a probe of some ms triples by chance.
_LEAST_SLOWDOWN_MS = 200.0

_CALLS = {"health": "GET /health", "usage": "GET /partner/usage"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeFacts:
    """What is looked at of one row of `probes`."""

    call: str
    started_at: datetime
    elapsed_ms: float
    trouble: str | None
    request_id: str | None = None
    rate_limit: int | None = None
    rate_remaining: int | None = None
    rate_reset: datetime | None = None

    @property
    def is_failure(self) -> bool:
        """Return whether the service failed; a 429 and a refused key are told apart from that."""
        return self.trouble is not None and self.trouble not in {"throttled", "key_refused"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorRules:
    """When the state of the service must be told; the settings `alerts.*` say what the fields mean."""

    environment: str
    low_quota_percent: float
    slow_factor: float


def alerts_of_probes(probes: Sequence[ProbeFacts], rules: MonitorRules) -> tuple[list[Alert], list[str]]:
    """Return the alerts that hold by the last probes, the oldest first, and the begins of the causes that are over."""
    found: list[Alert | None] = []
    over: list[str] = []
    for call in _CALLS:
        its_own = [probe for probe in probes if probe.call == call]
        found += [_failing(its_own, call, rules), _slower(its_own, call, rules)]
        if its_own and its_own[-1].trouble is None:
            over.append(cause_of(AlertKind.SERVICE, rules.environment, call))
        if found[-1] is None:
            over.append(cause_of(AlertKind.LATENCY, rules.environment, call))
    usage = [probe for probe in probes if probe.call == "usage"]
    found += [_throttled(usage, rules), _key_refused(usage, rules), _quota_low(usage, rules)]
    if usage and usage[-1].trouble is None:
        kinds = (AlertKind.THROTTLED, AlertKind.KEY_REFUSED)
        over += [cause_of(kind, rules.environment) for kind in kinds]
    return [alert for alert in found if alert is not None], over


def _lasting(probes: Sequence[ProbeFacts], is_so: Callable[[ProbeFacts], bool]) -> list[ProbeFacts]:
    """Return the last probes of which something is so, if it is so for long enough; else none."""
    last = probes[-_LAST_ONES:]
    those = [probe for probe in last if is_so(probe)]
    in_a_row = len(last) >= _IN_A_ROW and all(map(is_so, last[-_IN_A_ROW:]))
    return those if in_a_row or (len(those) >= _MANY_OF_THEM and is_so(last[-1])) else []


def _failing(probes: Sequence[ProbeFacts], call: str, rules: MonitorRules) -> Alert | None:
    failed = _lasting(probes, lambda probe: probe.is_failure)
    if not failed:
        return None
    asked, since = len(probes[-_LAST_ONES:]), minute_of(failed[0].started_at)
    lines = [f"Of the last {asked} probes of {_CALLS[call]}, {len(failed)} failed since {since}:"]
    lines += [f"- {minute_of(each.started_at)} {each.trouble}, {_request_id(each)}" for each in failed[-_IN_A_ROW:]]
    return made_alert(AlertKind.SERVICE, rules.environment, f"{_CALLS[call]} fails", lines, call)


def _slower(probes: Sequence[ProbeFacts], call: str, rules: MonitorRules) -> Alert | None:
    times = [probe.elapsed_ms for probe in probes if probe.trouble is None]
    if len(times) < _RECENT + _LEAST_BEFORE:
        return None
    now, before = median(times[-_RECENT:]), median(times[:-_RECENT])
    if now < before * rules.slow_factor or now < before + _LEAST_SLOWDOWN_MS:
        return None
    line = f"Half of the last {_RECENT} answers of {_CALLS[call]} took {now:,.0f} ms or more; before, {before:,.0f} ms."
    return made_alert(AlertKind.LATENCY, rules.environment, f"{_CALLS[call]} is slower than before", [line], call)


def _throttled(usage: Sequence[ProbeFacts], rules: MonitorRules) -> Alert | None:
    refused = _lasting(usage, lambda probe: probe.trouble == "throttled")
    if not refused:
        return None
    asked, last = len(usage[-_LAST_ONES:]), refused[-1]
    lines = [
        f"Of the last {asked} probes, {len(refused)} were answered 429.",
        f"The last one: {minute_of(last.started_at)}, {_request_id(last)}.",
    ]
    return made_alert(AlertKind.THROTTLED, rules.environment, "the service throttles again and again", lines)


def _key_refused(usage: Sequence[ProbeFacts], rules: MonitorRules) -> Alert | None:
    refused = _lasting(usage, lambda probe: probe.trouble == "key_refused")
    if not refused:
        return None
    line = f"The probes are answered 403 since {minute_of(refused[0].started_at)}, {_request_id(refused[-1])}."
    return made_alert(AlertKind.KEY_REFUSED, rules.environment, "the service refuses the API key", [line])


def _quota_low(usage: Sequence[ProbeFacts], rules: MonitorRules) -> Alert | None:
    """Tell of the headroom of the newest probe that knows it, once for each period of the quota."""
    known = [probe for probe in usage if probe.rate_remaining is not None and probe.rate_limit]
    if not known:
        return None
    left, limit, reset = known[-1].rate_remaining or 0, known[-1].rate_limit or 0, known[-1].rate_reset
    if left >= limit * rules.low_quota_percent / 100:
        return None
    when = "the service did not say when it resets" if reset is None else f"it resets {minute_of(reset)}"
    line = f"The key's quota has {left:,} of {limit:,} calls left; {when}."
    period = "" if reset is None else f"{reset:%Y-%m-%d}"
    return made_alert(AlertKind.QUOTA_LOW, rules.environment, "the quota runs low", [line], period)


def _request_id(probe: ProbeFacts) -> str:
    return "no request ID" if probe.request_id is None else f"request ID {quoted(probe.request_id)}"
