"""What somebody is told, when and in which words: the one list of alerts, and what decides each. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType

from proofsweep.domain.endings import ENDINGS, EndedBy, ending_of
from proofsweep.domain.operations import Rotation
from proofsweep.domain.text import minute_of, printable

COMPLETED, FAILED, CRASHED = (each.ending.state for each in (EndedBy.COMPLETE, EndedBy.ERROR, EndedBy.KILLED))
ALREADY_ACTIVE = "AlreadyActive"

OF_TYPE_COMPLETED = {COMPLETED, "SomeFailed"}
OF_TYPE_CANCELLED = {ALREADY_ACTIVE, *(ending.state for ending in ENDINGS.values() if ending.is_cancelled)}


def state_of_ending(ended_by: str | None) -> str:
    ending = ending_of(ended_by)
    return FAILED if ending is None else ending.state


def state_of_run(ended_by: str | None, *, is_over: bool, failed: int, answered: int) -> str:
    """Return the name of the state of a flow run that worked on a run: rows remain, or some or all of them failed."""
    if not is_over:
        return state_of_ending(ended_by)
    if not failed:
        return COMPLETED
    return "SomeFailed" if answered else "AllFailed"


class AlertKind(StrEnum):
    """What an alert is about; docs/alerts.md has a section for each."""

    ROWS_REMAIN = "rows_remain"
    OUTAGE = "outage"
    KEY_REFUSED = "key_refused"
    FAILED = "failed"
    CRASHED = "crashed"
    NO_SUCCESS = "no_success"
    KEY_EXPIRES = "key_expires"
    QUOTA_LOW = "quota_low"
    SUNSET = "sunset"
    NOT_MOVED = "not_moved"


@dataclass(frozen=True, slots=True)
class AlertRule:
    """When an alert is told, what happens if nobody acts, and what to do; `title` and `states` are of flow runs."""

    when: str
    unattended: str
    advice: str
    title: str = ""
    states: tuple[str, ...] = ()
    severity: str = "warning"  # in the words of apprise


def _states_of(kind: AlertKind) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ending.state for ending in ENDINGS.values() if ending.alert == kind))


EVENTS: Mapping[AlertKind, AlertRule] = MappingProxyType(
    {
        AlertKind.ROWS_REMAIN: AlertRule(
            "the quota, the window or the calls were used up, or SIGTERM came, as at a shutdown, and work remains",
            "the next run of the schedule resumes them; nothing is lost, and nothing is paid twice.",
            "nothing, if the rest may wait: the next run resumes it, or `proofsweep resume`.",
            *("work remains", _states_of(AlertKind.ROWS_REMAIN)),
        ),
        AlertKind.OUTAGE: AlertRule(
            "the service or the files' source could not be relied on; monitoring tells it after three failed probes",
            "the next run of the schedule tries again, and resumes what remains.",
            "if files or a catalog are away, see whether their share is mounted. Else nothing at first: the next run "
            "resumes. If it stays, report request IDs of `exchanges` to the partner.",
            *("the service or the source failed", _states_of(AlertKind.OUTAGE)),
        ),
        AlertKind.KEY_REFUSED: AlertRule(
            "the service refuses the key; monitoring tells it after three probes",
            "every run stops before its first file, until the right key is in place.",
            "put the right key in place, and try it with `proofsweep doctor`; the next run resumes.",
            *("the service refused the API key", _states_of(AlertKind.KEY_REFUSED), "failure"),
        ),
        AlertKind.FAILED: AlertRule(
            "a flow run failed (settings, catalog, store, a mistake of this program), rows of a whole run failed, "
            "or the partner's record differs from the tables",
            "it ends the same way next time if the cause stays; rows that failed have no answer until then.",
            "see the message, then `proofsweep doctor`, or `proofsweep rejects` if rows failed.",
            "a flow run failed",
            (*_states_of(AlertKind.FAILED), "TimedOut", "SomeFailed", "AllFailed", "FoundDifferences"),
            "failure",
        ),
        AlertKind.CRASHED: AlertRule(
            "the process was killed, or its machine is gone, and what it left unended, nobody works on",
            "the next run of the schedule takes over, and resumes what remains.",
            "see whether the worker and its machine are well; the next run resumes, or `proofsweep resume`.",
            *("a flow run was killed, and nobody works on it", (CRASHED,), "failure"),
        ),
        AlertKind.NO_SUCCESS: AlertRule(
            "no run has done its work for `alerts.no_success_hours`",
            "nothing is verified, until a run does its work.",
            "see `proofsweep status --runs`, the worker and its schedule; then `proofsweep doctor`.",
            severity="failure",
        ),
        AlertKind.KEY_EXPIRES: AlertRule(
            "a key ends within 24 hours, or has ended, after a rotation of `rotations`",
            "from its end on the service refuses the key, and every run stops.",
            "where the old key is still in use, put the new one in place, and try it with `proofsweep doctor`.",
            severity="failure",
        ),
        AlertKind.QUOTA_LOW: AlertRule(
            "less than a tenth of the quota is left",
            "runs stop when it is spent, and resume after the reset.",
            "nothing, if the rest may wait for the reset; else ask the partner for more quota.",
        ),
        AlertKind.SUNSET: AlertRule(
            "the service sends a `Sunset` header: a breaking change is announced",
            "from that day on the service may answer otherwise, and rows may fail.",
            "ask the partner for the migration guide, and plan the update of proofsweep before that day.",
        ),
        AlertKind.NOT_MOVED: AlertRule(
            "a pass over a watched folder could not move verified files",
            "the next pass tries to move them again; their verdicts are kept.",
            "make room at the target, or give the right to write there; the next pass moves what remains.",
            *("verified files are not moved", ("NotMoved",)),
        ),
    }
)
"""Every alert. Each state holds for each flow; what has no state, a flow or a check finds."""

ALERTED_STATES: Mapping[str, AlertKind] = MappingProxyType(
    {state: kind for kind, event in EVENTS.items() for state in event.states}
)
"""The states that somebody is told of: not a good end, a person's own wish, or work that another process does."""


_LONGEST_TEXT = 300  # letters, whatever a catalog or the service writes
_MOST_LINES = 10  # of the list in a message

# Look-alikes: chat programs read the originals as a mention, a link or the end of the code span, each in its own way.
LOOK_ALIKES = {
    "<": "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}",
    ">": "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}",
    "&": "\N{FULLWIDTH AMPERSAND}",
    "@": "\N{FULLWIDTH COMMERCIAL AT}",
    "`": "\N{MODIFIER LETTER GRAVE ACCENT}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One message. It holds no secret, no proof ID, and foreign text only as `quoted` or `harmless` gives it."""

    kind: AlertKind | None  # None for a test message
    cause: str  # a cause that was sent is not sent again soon
    subject: str  # one line
    body: str  # lines of plain text, with code spans
    subjects: tuple[str, ...] = ()  # catalogs and flows that have a cause together; each can be over for itself

    @property
    def severity(self) -> str:
        return "warning" if self.kind is None else EVENTS[self.kind].severity

    def beside(self, other: "Alert") -> "Alert":
        """Return this alert for its own subjects, and those of another one with the same cause."""
        return replace(self, subjects=tuple(dict.fromkeys((*other.subjects, *self.subjects))))

    def with_page(self, url: str | None) -> "Alert":
        return self if url is None else replace(self, body=f"{self.body}\nSee: {url}")


def harmless(text: str) -> str:
    """Make foreign text one short line that no chat program reads as a mention, a link or the end of a code span."""
    line = printable(text)
    cut = line if len(line) <= _LONGEST_TEXT else line[: _LONGEST_TEXT - 1] + "…"
    return cut.translate({ord(letter): other for letter, other in LOOK_ALIKES.items()})


def quoted(text: str) -> str:
    """Make foreign text a code span, in which Markdown means nothing."""
    return f"`{harmless(text) or ' '}`"


def cause_of(kind: AlertKind, *parts: str) -> str:
    """Name a cause: its kind, then what distinguishes it, from the general to the special."""
    return "\t".join([kind, *(part.replace("\t", " ") for part in parts)])


def shortened(lines: list[str]) -> list[str]:
    left_out = len(lines) - _MOST_LINES
    return lines if left_out <= 0 else [*lines[:_MOST_LINES], f"- and {left_out:,} more"]


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    catalog: str | None = None
    machine: str | None = None  # that worked on it, or found it
    rows: int | None = None  # that are at risk
    results_url: str | None = None

    def line(self, environment: str) -> str:
        named = {"environment": environment, "catalog": self.catalog, "machine": self.machine}
        parts = [f"{word} {quoted(name)}" for word, name in named.items() if name is not None]
        parts += [] if self.rows is None else [f"{self.rows:,} {'row' if self.rows == 1 else 'rows'} at risk"]
        line = ", ".join(parts)
        return f"{line[0].upper()}{line[1:]}."


_NOTHING_MORE = About()


def made_alert(
    kind: AlertKind, environment: str, title: str, lines: Sequence[str], *cause: str, about: About = _NOTHING_MORE
) -> Alert:
    """Make a message; `cause` is what distinguishes its cause from others of its kind and environment."""
    event = EVENTS[kind]
    where = [] if about.results_url is None else [f"Tables: {quoted(about.results_url)}"]
    acts = [f"If nobody acts: {event.unattended}", f"To do: {event.advice}"]
    return Alert(
        kind=kind,
        cause=cause_of(kind, environment, *cause),
        subject=f"proofsweep: {title} ({harmless(environment)})",
        body="\n".join([*lines, about.line(environment), *acts, *where]),
    )


TEST_ALERT = Alert(
    kind=None,
    cause="",
    subject="proofsweep: a test message",
    body="Alerts of proofsweep arrive here. There is nothing to do.",
)


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

    @property
    def subject(self) -> str:
        return self.about.catalog or self.flow


def alerts_of_end(end: FlowEnd) -> list[Alert]:
    """Return what must be told of an end: nothing, or one message."""
    kind = ALERTED_STATES.get(end.state)
    if kind is None:
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


def no_success(  # noqa: PLR0917 - what is known, then what decides
    environment: str,
    about: About,
    last_success: datetime | None,
    first_run: datetime | None,
    now: datetime,
    hours: float,
) -> Alert | None:
    """Tell that no leg has done its work for so many hours; of no catalog at all only if something was ever planned.

    `last_success` is the end of the last leg that did its work, and `first_run` when the oldest run that was looked at
    was planned; each is None if there is none.
    """
    catalog, since = about.catalog, last_success or first_run
    if (since is None and catalog is None) or (since is not None and now - since < timedelta(hours=hours)):
        return None
    last = "never" if last_success is None else minute_of(last_success)
    of_what = "any catalog" if catalog is None else f"catalog {quoted(catalog)}"
    lines = [f"The last run of {of_what} that did its work ended: {last}."]
    title, cause = f"no successful run for {hours:g} hours", (catalog or "", last)
    return made_alert(AlertKind.NO_SUCCESS, environment, title, lines, *cause, about=about)


# A rotated key works for 72 hours (contract, Limits). In the last 24, a night that begins may outlive it.
_GRACE_HOURS = 24


def rotated_key_ends(rotation: Rotation, key_in_use: str | None, now: datetime) -> Alert | None:
    """Tell that a rotation's old key ends within 24 hours, or has ended and is in use here (`key_in_use`)."""
    ends_at, is_in_use = rotation.old_key_ends_at, key_in_use == rotation.key_fingerprint
    if ends_at <= now and not is_in_use:
        return None
    use = "The settings still name the old key." if is_in_use else "The new one is in use here."
    lines = [f"The key was rotated at {minute_of(rotation.answered_at)}.", use]
    return _key_ends(rotation.environment, "the old API key", ends_at, now, lines, rotation.operation_id)


def _key_ends(  # noqa: PLR0917 - one alert, from two sources
    environment: str, key: str, ends_at: datetime, now: datetime, lines: list[str], cause: str
) -> Alert | None:
    if now < ends_at - timedelta(hours=_GRACE_HOURS):
        return None
    ends, state = ("ended", "over") if ends_at <= now else ("ends", "soon")
    title = f"{key} {ends} at {minute_of(ends_at)}"
    return made_alert(AlertKind.KEY_EXPIRES, environment, title, lines, cause, state)


def quota_low(environment: str, left: int | None, limit: float | None, reset: datetime | None) -> Alert | None:
    """Tell that less than a tenth of the quota is left, once for each period of the quota."""
    if left is None or not limit or left >= limit / 10:
        return None
    when = "the service did not say when it resets" if reset is None else f"it resets {minute_of(reset)}"
    line = f"The key's quota has {left:,} of {limit:,.0f} calls left; {when}."
    period = "" if reset is None else f"{reset:%Y-%m-%d}"
    return made_alert(AlertKind.QUOTA_LOW, environment, "the quota runs low", [line], period)


IN_A_ROW = 3  # probes that make a state a lasting one: of five minutes each, a quarter of an hour

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


def alerts_of_probes(probes: Sequence[ProbeFacts], environment: str) -> tuple[list[Alert], list[str]]:
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
        found.append(quota_low(environment, left, limit, known.rate_reset))
    return [alert for alert in found if alert is not None], over


def _lasting(probes: Sequence[ProbeFacts], is_so: Callable[[ProbeFacts], bool]) -> list[ProbeFacts]:
    last = [*probes[-IN_A_ROW:]]
    return last if len(last) == IN_A_ROW and all(map(is_so, last)) else []


def _failing(probes: Sequence[ProbeFacts], call: str, environment: str) -> Alert | None:
    failed = _lasting(probes, lambda probe: probe.is_outage)
    if not failed:
        return None
    lines = [f"The last {len(failed)} probes of {_CALLS[call]} failed:"]
    lines += [f"- {minute_of(each.started_at)} {each.trouble}, {_request_id(each)}" for each in failed]
    return made_alert(AlertKind.OUTAGE, environment, f"{_CALLS[call]} fails", lines, call)


def _key_refused(usage: Sequence[ProbeFacts], environment: str) -> Alert | None:
    refused = _lasting(usage, lambda probe: probe.trouble == "key_refused")
    if not refused:
        return None
    line = f"The probes are answered 403 since {minute_of(refused[0].started_at)}, {_request_id(refused[-1])}."
    return made_alert(AlertKind.KEY_REFUSED, environment, "the service refuses the API key", [line])


def _request_id(probe: ProbeFacts) -> str:
    return "no request ID" if probe.request_id is None else f"request ID {quoted(probe.request_id)}"
