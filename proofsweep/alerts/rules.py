"""What is told of ends of flow runs, of runs that did not come, of the key, and of probes of the service. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from proofsweep.alerts.events import ALERTED_STATES, COMPLETED, EVENTS, AlertKind, is_failure
from proofsweep.alerts.messages import About, Alert, cause_of, harmless, made_alert, quoted, shortened
from proofsweep.domain.endings import EndedBy, ending_of
from proofsweep.domain.text import minute_of
from proofsweep.store.key_rotation import Rotation

_WHOLE = {COMPLETED, "SomeFailed", "AllFailed", "FoundDifferences"}
"""States in which no work remains: then other ends of the same work are over."""
KEY_REFUSED, QUOTA_SPENT = (each.ending.state for each in (EndedBy.KEY_REFUSED, EndedBy.QUOTA))
"""States whose cause is the key's: it stops the runs of all its catalogs, and is told once for them together."""


@dataclass(frozen=True, slots=True)
class FlowEnd:
    environment: str
    flow: str
    state: str  # the name of its Prefect state
    about: About
    details: Sequence[str]  # lines of the message
    title: str | None = None  # what happened, with figures; None takes the event's own
    with_its_key: Sequence[str] = ()  # the catalogs that a cause of the key stops too
    tries_left: bool = False  # whether the flow run is tried again if it failed

    @property
    def subject(self) -> str:
        return self.about.catalog or self.flow


def alerts_of_end(end: FlowEnd) -> list[Alert]:
    """Return what must be told of an end: nothing, or one message; of a failure that is tried again, its last try's."""
    kind = ALERTED_STATES.get(end.state)
    if kind is None or (end.tries_left and is_failure(end.state)):
        return []
    of_what = "" if end.subject == end.flow else f" of {quoted(end.subject)}"
    lines = [f"Flow {quoted(end.flow)}{of_what} ended as {end.state}.", *end.details]
    title = EVENTS[kind].title if end.title is None else end.title
    if {*end.with_its_key} - {end.subject}:
        lines += ["The key is that of these catalogs:", *shortened([f"- {quoted(each)}" for each in end.with_its_key])]
    cause: tuple[str, ...] = (end.subject, end.state)
    if end.state == QUOTA_SPENT:
        title, cause = "the quota is spent or reserved", (end.state,)
    elif end.state == KEY_REFUSED:
        cause = ()
    alert = made_alert(kind, end.environment, title, lines, *cause, about=end.about)
    return [replace(alert, subjects=(end.subject,)) if end.state == QUOTA_SPENT else alert]


def over_after_end(end: FlowEnd) -> list[str]:
    """Return the begins of the causes that an end shows to be over.

    Work that was begun ends what kept earlier flow runs from beginning; only whole work ends what is told of itself.
    """
    is_whole = end.state in _WHOLE
    if ALERTED_STATES.get(end.state) is AlertKind.KEY_REFUSED or not (is_whole or end.subject != end.flow):
        return []
    subjects = dict.fromkeys((end.flow, end.subject) if is_whole else (end.flow,))
    others = [(kind, state) for state, kind in ALERTED_STATES.items() if state != end.state]
    causes = [
        (kind, (state, subject) if state == QUOTA_SPENT else (subject, state))
        for kind, state in others
        for subject in subjects
    ]
    over = [cause_of(kind, end.environment, *cause) for kind, cause in causes]
    return [*over, cause_of(AlertKind.KEY_REFUSED, end.environment)]


def sunset_seen(sunset: str | None, environment: str, about: About) -> list[Alert]:
    """Tell of a Sunset header (contract, Versioning 3)."""
    if sunset is None:
        return []
    title, line = "the partner announces a breaking change", f"The service sends the header Sunset: {quoted(sunset)}."
    return [made_alert(AlertKind.SUNSET, environment, title, [line], harmless(sunset), about=about)]


def did_its_work(ended_by: str | None, finished_rows: int, *, have_all_failed: bool) -> bool:
    """Return whether a leg did what it was to do: all rows, or as many as its window, calls and quota allowed."""
    if have_all_failed:
        return False
    ending = ending_of(ended_by)
    return ending is not None and ending.does_its_work and (finished_rows > 0 or ended_by == EndedBy.COMPLETE)


@dataclass(frozen=True, slots=True)
class WorkFacts:
    environment: str
    about: About
    last_success: datetime | None = None  # end of the last leg that did its work; None if there is none
    first_run: datetime | None = None  # when the oldest run that was looked at was planned; None without a run


def no_success(facts: WorkFacts, now: datetime, hours: float) -> Alert | None:
    """Tell that no leg has done its work for so many hours; of no catalog at all only if something was ever planned."""
    catalog, since = facts.about.catalog, facts.last_success or facts.first_run
    if (since is None and catalog is None) or (since is not None and now - since < timedelta(hours=hours)):
        return None
    last = "never" if facts.last_success is None else minute_of(facts.last_success)
    of_what = "any catalog" if catalog is None else f"catalog {quoted(catalog)}"
    lines = [f"The last run of {of_what} that did its work ended: {last}."]
    title, cause = f"no successful run for {hours:g} hours", (catalog or "", last)
    return made_alert(AlertKind.NO_SUCCESS, facts.environment, title, lines, *cause, about=facts.about)


# A rotated key works for 72 hours (contract, Limits). In the last 24, a night that begins may outlive it.
_GRACE_HOURS = 24


def key_expires(environment: str, expires_at: datetime | None, now: datetime) -> Alert | None:
    """Tell that the key ends within 24 hours, or has ended, by what a person has set (contract, Authentication 5)."""
    if expires_at is None or now < expires_at - timedelta(hours=_GRACE_HOURS):
        return None
    when, ends, state = _end_of_key(expires_at, now)
    lines = [f"The setting service.key_expires_at says that the key {ends} at {when}. Clear it with the new key."]
    return made_alert(AlertKind.KEY_EXPIRES, environment, f"the API key {ends} at {when}", lines, when, state)


def rotated_key_ends(rotation: Rotation, key_in_use: str | None, now: datetime) -> Alert | None:
    """Tell that a rotation's old key ends within 24 hours, or has ended and is in use here (`key_in_use`)."""
    ends_at, is_in_use = rotation.old_key_ends_at, key_in_use == rotation.key_fingerprint
    if now < ends_at - timedelta(hours=_GRACE_HOURS) or (ends_at <= now and not is_in_use):
        return None
    when, ends, state = _end_of_key(ends_at, now)
    use = "The settings still name the old key." if is_in_use else "The new one is in use here."
    lines = [f"The key was rotated at {minute_of(rotation.answered_at)}; the old one {ends} at {when}.", use]
    title, cause = f"the old API key {ends} at {when}", (rotation.operation_id, state)
    return made_alert(AlertKind.KEY_EXPIRES, rotation.environment, title, lines, *cause)


def _end_of_key(ends_at: datetime, now: datetime) -> tuple[str, str, str]:
    return (minute_of(ends_at), "ended", "over") if ends_at <= now else (minute_of(ends_at), "ends", "soon")


def quota_low(
    environment: str, left: int | None, limit: float | None, reset: datetime | None, percent: float
) -> Alert | None:
    """Tell that less than so many percent of the quota is left, once for each period of the quota."""
    if left is None or not limit or left >= limit * percent / 100:
        return None
    when = "the service did not say when it resets" if reset is None else f"it resets {minute_of(reset)}"
    line = f"The key's quota has {left:,} of {limit:,.0f} calls left; {when}."
    period = "" if reset is None else f"{reset:%Y-%m-%d}"
    return made_alert(AlertKind.QUOTA_LOW, environment, "the quota runs low", [line], period)


# Probes in a row, or of the last ones, that make a state a lasting one: of five minutes each, a quarter of an hour, or
# half of an hour.
_IN_A_ROW = 3
_LAST_ONES, _MANY_OF_THEM = 12, 6

_CALLS = {"health": "GET /health", "usage": "GET /partner/usage"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeFacts:
    call: str
    started_at: datetime
    trouble: str | None
    request_id: str | None = None
    rate_limit: int | None = None
    rate_remaining: int | None = None
    rate_reset: datetime | None = None

    @property
    def is_outage(self) -> bool:
        """Whether the service failed or throttled the call; a refused key and a spent quota are other alerts."""
        return self.trouble not in {None, "key_refused"} and self.rate_remaining != 0


def alerts_of_probes(
    probes: Sequence[ProbeFacts], environment: str, low_quota_percent: float
) -> tuple[list[Alert], list[str]]:
    """Return the alerts that hold by the last probes, the oldest first, and the begins of the causes that are over."""
    found: list[Alert | None] = []
    over: list[str] = []
    usage = [probe for probe in probes if probe.call == "usage"]
    for call in _CALLS:
        its_own = [probe for probe in probes if probe.call == call]
        found.append(_failing(its_own, call, environment))
        if its_own and its_own[-1].trouble is None:
            over.append(cause_of(AlertKind.OUTAGE, environment, call))
    found.append(_key_refused(usage, environment))
    if usage and usage[-1].trouble is None:
        over.append(cause_of(AlertKind.KEY_REFUSED, environment))
    for known in [probe for probe in usage if probe.rate_remaining is not None and probe.rate_limit][-1:]:
        left, limit = known.rate_remaining, known.rate_limit
        found.append(quota_low(environment, left, limit, known.rate_reset, low_quota_percent))
    return [alert for alert in found if alert is not None], over


def _lasting(probes: Sequence[ProbeFacts], is_so: Callable[[ProbeFacts], bool]) -> list[ProbeFacts]:
    last = probes[-_LAST_ONES:]
    those = [probe for probe in last if is_so(probe)]
    in_a_row = len(last) >= _IN_A_ROW and all(map(is_so, last[-_IN_A_ROW:]))
    return those if in_a_row or (len(those) >= _MANY_OF_THEM and is_so(last[-1])) else []


def _failing(probes: Sequence[ProbeFacts], call: str, environment: str) -> Alert | None:
    failed = _lasting(probes, lambda probe: probe.is_outage)
    if not failed:
        return None
    asked, since = len(probes[-_LAST_ONES:]), minute_of(failed[0].started_at)
    lines = [f"Of the last {asked} probes of {_CALLS[call]}, {len(failed)} failed since {since}:"]
    lines += [f"- {minute_of(each.started_at)} {each.trouble}, {_request_id(each)}" for each in failed[-_IN_A_ROW:]]
    return made_alert(AlertKind.OUTAGE, environment, f"{_CALLS[call]} fails", lines, call)


def _key_refused(usage: Sequence[ProbeFacts], environment: str) -> Alert | None:
    refused = _lasting(usage, lambda probe: probe.trouble == "key_refused")
    if not refused:
        return None
    line = f"The probes are answered 403 since {minute_of(refused[0].started_at)}, {_request_id(refused[-1])}."
    return made_alert(AlertKind.KEY_REFUSED, environment, "the service refuses the API key", [line])


def _request_id(probe: ProbeFacts) -> str:
    return "no request ID" if probe.request_id is None else f"request ID {quoted(probe.request_id)}"
