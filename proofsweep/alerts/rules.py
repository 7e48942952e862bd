"""What somebody is told, when and in which words: the one list of alerts, and what decides each. Pure."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from pkgutil import get_data
from types import MappingProxyType

from proofsweep.domain.endings import ENDINGS, EndedBy, ending_of
from proofsweep.domain.errors import ProofsweepError, ResultsError, RunIsActive, RunMustStop
from proofsweep.domain.exchanges import Call
from proofsweep.domain.runs import Rotation
from proofsweep.domain.text import minute_of, printable, reset_clause

COMPLETED = EndedBy.COMPLETE.ending.state
FAILED = EndedBy.ERROR.ending.state
ALREADY_ACTIVE = "AlreadyActive"

OF_TYPE_COMPLETED = {COMPLETED, "SomeFailed"}
OF_TYPE_CANCELLED = {ending.state for ending in ENDINGS.values() if ending.is_cancelled} | {ALREADY_ACTIVE}


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


def state_after_error(error: ProofsweepError) -> str:
    """Return the name of the state of a flow run that a known error ended."""
    match error:
        case RunIsActive():  # somebody else does this work: nothing failed
            return ALREADY_ACTIVE
        case RunMustStop(ended_by=ended_by):
            return state_of_ending(ended_by)
        case ResultsError(is_outage=True):
            return state_of_ending(EndedBy.BREAKER)
    return FAILED


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


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRule:
    when: str
    unattended: str
    advice: str
    title: str = ""  # if a flow run ended so
    resumes: bool = False  # whether a run that is named can be gone on with now
    states: Sequence[str] = ()  # of flow runs
    severity: str = "warning"  # in the words of apprise


def _rules() -> Iterator[tuple[AlertKind, AlertRule]]:
    """Read alerts.toml; a kind has the states of the endings that lead to it, and those that are named there."""
    content = get_data(__package__, "alerts.toml") or b""
    for name, entry in tomllib.loads(content.decode()).items():
        states = [ending.state for ending in ENDINGS.values() if ending.alert == name]
        states += entry.pop("states", [])
        once = tuple(dict.fromkeys(states))
        yield AlertKind(name), AlertRule(states=once, **entry)


EVENTS: Mapping[AlertKind, AlertRule] = MappingProxyType(dict(_rules()))
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

    @property
    def severity(self) -> str:
        return "warning" if self.kind is None else EVENTS[self.kind].severity

    def with_page(self, url: str | None) -> "Alert":
        if url is None:
            return self
        return replace(self, body=f"{self.body}\nSee: {url}")


def harmless(text: str) -> str:
    """Make foreign text one short line that no chat program reads as a mention, a link or the end of a code span."""
    line = printable(text)
    if len(line) > _LONGEST_TEXT:
        line = line[: _LONGEST_TEXT - 1] + "…"
    for letter, look_alike in LOOK_ALIKES.items():
        line = line.replace(letter, look_alike)
    return line


def quoted(text: str) -> str:
    """Make foreign text a code span, in which Markdown means nothing."""
    return f"`{harmless(text) or ' '}`"


def cause_of(kind: AlertKind, *parts: str) -> str:
    """Name a cause: its kind, then what distinguishes it, from the general to the special."""
    # A tab separates the parts, so none may hold one: `outage_of_cause` takes a cause apart again.
    plain = [part.replace("\t", " ") for part in parts]
    return "\t".join([kind, *plain])


def shortened(lines: list[str]) -> list[str]:
    left_out = len(lines) - _MOST_LINES
    if left_out <= 0:
        return lines
    return [*lines[:_MOST_LINES], f"- and {left_out:,} more"]


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    environment: str
    catalog: str | None = None  # a catalog or a watched folder, by its location
    identity: str | None = None  # what stands for it in causes, as in the plans of its runs; None for the location
    machine: str | None = None  # that worked on it, or found it
    run_id: str | None = None
    rows: str | None = None  # in words, how many of the run's rows remain or failed, as `status` counts them
    results_url: str | None = None

    def line(self) -> str:
        """Name what it is about, and where that is, in a sentence each."""
        what = _named(catalog=self.catalog, run=self.run_id)
        if self.rows is not None:
            what = f"{what}: {self.rows}"
        where = _named(environment=self.environment, machine=self.machine)
        sentences = map(_as_sentence, filter(None, (what, where)))
        return " ".join(sentences)


def _as_sentence(words: str) -> str:
    first = words[0].upper()
    return f"{first}{words[1:]}."


def _named(**names: str | None) -> str:
    parts: list[str] = []
    for word, name in names.items():
        if name is None:
            continue
        parts.append(f"{word} {quoted(name)}")
    return ", ".join(parts)


def made_alert(
    kind: AlertKind,
    about: About,
    title: str,
    lines: Sequence[str],
    *cause: str,
    of: str | None = None,
    event: AlertRule | None = None,
) -> Alert:
    """Make a message; `cause` is what distinguishes its cause from others of its kind and environment.

    What a tired person must know comes first: what happens without them, then what to do, and for what. The title
    names the catalog that it is `of`; an `event` says it otherwise than the kind's own.
    """
    event = event or EVENTS[kind]
    to_do = event.advice
    if event.resumes and about.run_id is not None:
        to_resume = quoted(f"proofsweep resume {about.run_id}")
        to_do += f" To go on now: {to_resume}."
    body = [f"If nobody acts: {event.unattended}", f"To do: {to_do}"]
    body += [about.line(), *lines]
    if about.results_url is not None:
        body.append(f"Tables: {quoted(about.results_url)}")
    where = f"{harmless(about.environment)}{_end_of(of)}"
    return Alert(
        kind=kind,
        cause=cause_of(kind, about.environment, *cause),
        subject=f"proofsweep: {title} ({where})",
        body="\n".join(body),
    )


TEST_ALERT = Alert(
    kind=None,
    cause="",
    subject="proofsweep: a test message",
    body="Alerts of proofsweep arrive here. There is nothing to do.",
)


KEY_REFUSED = EndedBy.KEY_REFUSED.ending.state
QUOTA_SPENT = EndedBy.QUOTA.ending.state
"""States whose cause is the key's: it stops the runs of all catalogs, and is told once for them together."""
_OF_ROWS = {"SomeFailed", "AllFailed"}
"""States in which a run came to its end, and rows of it failed: another cause than a flow that could not work."""


@dataclass(frozen=True, slots=True)
class FlowEnd:
    flow: str
    state: str  # the name of its Prefect state
    about: About
    details: Sequence[str]  # lines of the message
    title: str | None = None  # what happened, with figures; None takes the event's own

    @property
    def subject(self) -> str:
        """The catalog or folder that has the cause; the flow itself if it has none, as an operation."""
        return self.about.identity or self.about.catalog or self.flow


def alerts_of_end(end: FlowEnd) -> list[Alert]:
    """Return what must be told of an end: nothing, or one message.

    Its cause is the kind with the environment and the catalog or folder, whichever flow or command ended so.
    """
    kind = ALERTED_STATES.get(end.state)
    if kind is None:
        return []
    flow = quoted(end.flow)
    lines = [f"Flow {flow} ended as {end.state}.", *end.details]
    # Quota and key are of all catalogs: with a catalog in their causes, one refused key would be told for each of them.
    if end.state == QUOTA_SPENT:
        title = "the quota is spent or reserved"
        return [made_alert(kind, end.about, title, lines, end.state, event=QUOTA_IS_SPENT)]
    if end.state == KEY_REFUSED:
        return [made_alert(kind, end.about, EVENTS[kind].title, lines)]
    title = end.title or EVENTS[kind].title
    cause = [end.subject]
    if end.state in _OF_ROWS:
        cause.append(_ROWS)
    return [made_alert(kind, end.about, title, lines, *cause, of=end.about.catalog)]


QUOTA_IS_SPENT = AlertRule(
    when="",
    unattended="runs with this key end so until the quota resets; the first one after that goes on with what remains. "
    "Nothing is lost, and nothing is paid twice.",
    advice="nothing, if it may wait for the reset: `proofsweep service usage` says when that is. Else ask the partner "
    "for more, or lower `bounds.reserve` if calls are held back.",
)


def title_of_run(state: str, words: str | None) -> str | None:
    """Say what happened to a run, with its rows in words: two alerts of one run never have one title."""
    kind = ALERTED_STATES.get(state)
    if words is None or kind is None:
        return words
    # These words say all that happened: their rows remain, or failed.
    if kind is AlertKind.ROWS_REMAIN or state in _OF_ROWS:
        return words
    return f"{EVENTS[kind].title}: {words}"


def _end_of(catalog: str | None) -> str:
    """Name a catalog in a title by the end of its location; the message has all of it."""
    if catalog is None:
        return ""
    names = catalog.rstrip("/").split("/")
    end = "/".join(names[-2:])
    return f", {harmless(end)}"


_ROWS = "rows"


def title_of_error(error: ProofsweepError) -> str | None:
    """Say what an error keeps a flow from; None if the kind of its alert says it."""
    if error.catalog is not None:
        return "the catalog cannot be read"
    if isinstance(error, ResultsError) and error.is_outage:
        return "the results store cannot be used"
    return None


def outage_of_cause(about: About, cause: str, at: datetime) -> tuple[Alert, str] | None:
    """Make the message of an outage that was told at an instant, with its subject; None if it is another cause."""
    kind, environment, *parts = cause.split("\t")
    if kind != AlertKind.OUTAGE or environment != about.environment or not parts:
        return None
    subject = parts[0]
    line = f"It was told at {minute_of(at)} of {quoted(subject)}, and is not known to be over."
    title = EVENTS[AlertKind.OUTAGE].title
    alert = made_alert(AlertKind.OUTAGE, about, title, [line], *parts, of=subject)
    return alert, subject


def over_if_it_works(environment: str, subject: str) -> list[str]:
    """Return the causes that are over when the source and the service of a catalog were seen to work."""
    kinds = (AlertKind.OUTAGE, AlertKind.FAILED, AlertKind.CRASHED)
    return [cause_of(kind, environment, subject) for kind in kinds]


def over_without_rows(environment: str, subject: str) -> list[str]:
    """Return the causes that are over when no row of a catalog remains."""
    return [cause_of(AlertKind.ROWS_REMAIN, environment, subject)]


def over_without_failures(environment: str, subject: str) -> list[str]:
    """Return the causes that are over when a pass over all of a catalog left no failed row."""
    return [cause_of(AlertKind.FAILED, environment, subject, _ROWS)]


def sunset_seen(sunset: str | None, about: About) -> list[Alert]:
    """Tell of a Sunset header (contract, Versioning 3)."""
    if sunset is None:
        return []
    title = "the partner announces a breaking change"
    line = f"The service sends the header Sunset: {quoted(sunset)}."
    # With the date in the cause, another date is told at once.
    return [made_alert(AlertKind.SUNSET, about, title, [line], harmless(sunset))]


def did_its_work(ended_by: str | None, *, answered: int, failed: int, ineligible: int) -> bool:
    """Return whether a leg did what it was to do: all rows, or as many as its window, calls and quota allowed."""
    ending = ending_of(ended_by)
    if ending is None or not ending.does_its_work:
        return False
    if failed and not answered:
        return False
    return ended_by == EndedBy.COMPLETE or answered + ineligible > 0


def no_success(
    about: About, last_success: datetime | None, first_run: datetime | None, now: datetime, hours: float
) -> list[Alert]:
    """Tell that no leg has done its work for so many hours; of no catalog at all only if something was ever planned."""
    catalog = about.catalog
    since = last_success or first_run
    if since is None and catalog is None:
        return []
    if since is not None and now - since < timedelta(hours=hours):
        return []
    last = "never" if last_success is None else minute_of(last_success)
    of_what = "any catalog"
    if catalog is not None:
        of_what = f"catalog {quoted(catalog)}"
    lines = [f"The last run of {of_what} that did its work ended: {last}."]
    title = f"no successful run for {hours:g} hours"
    # With the last success in it, the cause is a new one after the next success, and is told at once.
    subject = about.identity or catalog or ""
    return [made_alert(AlertKind.NO_SUCCESS, about, title, lines, subject, last, of=catalog)]


# A rotated key works for 72 hours (contract, Limits). In the last 24, a night that begins may outlive it.
_GRACE_HOURS = 24


def rotated_key_ends(rotation: Rotation, key_in_use: str | None, now: datetime) -> list[Alert]:
    """Tell that a rotation's old key ends within 24 hours, or has ended and is in use here (`key_in_use`)."""
    ends_at = rotation.old_key_ends_at
    has_ended = ends_at <= now
    if now < ends_at - timedelta(hours=_GRACE_HOURS):
        return []
    # A key that has ended hurts only where it is still in use.
    if has_ended and key_in_use != rotation.key_fingerprint:
        return []
    uses = {
        rotation.key_fingerprint: "The settings still name the old key.",
        rotation.new_key_fingerprint: "The new one is in use here.",
        None: "The key that is in use here could not be read.",
    }
    neither = "Which key is in use here is not the old one, nor the new one of this rotation."
    use = uses.get(key_in_use, neither)
    lines = [f"The key was rotated at {minute_of(rotation.answered_at)}.", use]
    about = About(environment=rotation.environment)
    # That it ends and that it has ended are two causes: who was told of the first hears of the second too.
    verb, state = ("ended", "over") if has_ended else ("ends", "soon")
    title = f"the old API key {verb} at {minute_of(ends_at)}"
    return [made_alert(AlertKind.KEY_EXPIRES, about, title, lines, rotation.operation_id, state)]


def quota_low(
    about: About, left: int | None, limit: float | None, reset: datetime | None, now: datetime
) -> list[Alert]:
    """Tell that less than a tenth of the quota is left, once for each period of the quota."""
    if left is None or not limit or left >= limit / 10:
        return []
    when = reset_clause(reset, now)
    line = f"The key's quota has {left:,} of {limit:,.0f} calls left; {when}."
    # The day of the reset names the period: each period is told once, however long the quota stays low.
    period = "" if reset is None else f"{reset:%Y-%m-%d}"
    return [made_alert(AlertKind.QUOTA_LOW, about, "the quota runs low", [line], period)]


IN_A_ROW = 3  # probes that make a state a lasting one: of five minutes each, a quarter of an hour


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeFacts:
    call: str
    started_at: datetime
    trouble: str | None
    request_id: str | None = None
    rate_limit: int | None = None
    rate_remaining: int | None = None
    rate_reset: datetime | None = None
    sunset: str | None = None

    @property
    def is_outage(self) -> bool:
        """Whether the service failed or throttled the call; a refused key and a spent quota are other alerts."""
        return self.trouble not in {None, "key_refused"} and self.rate_remaining != 0


def alerts_of_probes(probes: Sequence[ProbeFacts], environment: str) -> tuple[list[Alert], list[str]]:
    """Return the alerts that hold by the last probes, the oldest first, and the causes that are over."""
    about = About(environment=environment)
    alerts: list[Alert] = []
    over: list[str] = []
    for call in (Call.HEALTH, Call.USAGE):
        of_call = [probe for probe in probes if probe.call == call]
        # A single failed probe is no outage yet: only what lasts is told.
        if len(of_call) >= IN_A_ROW:
            alerts += _lasting(of_call[-IN_A_ROW:], call, about)
        if of_call and of_call[-1].trouble is None:
            over.append(cause_of(AlertKind.OUTAGE, environment, call))
        for newest in of_call[-1:]:
            alerts += sunset_seen(newest.sunset, about)
    usage = [probe for probe in probes if probe.call == Call.USAGE]
    if usage and usage[-1].trouble is None:
        over.append(cause_of(AlertKind.KEY_REFUSED, environment))
    # The last answer that told the quota: a probe that failed tells none.
    for probe in reversed(usage):
        left, limit = probe.rate_remaining, probe.rate_limit
        if left is not None and limit:
            alerts += quota_low(about, left, limit, probe.rate_reset, probe.started_at)
            break
    return alerts, over


def _lasting(last: Sequence[ProbeFacts], call: Call, about: About) -> list[Alert]:
    """Tell of what the last probes of a call have in common."""
    if all(probe.is_outage for probe in last):
        endpoint = call.endpoint
        lines = [f"The last {len(last)} probes of {endpoint} failed:"]
        lines += map(_line_of_probe, last)
        return [made_alert(AlertKind.OUTAGE, about, f"{endpoint} fails", lines, call)]
    if call is Call.USAGE and all(probe.trouble == "key_refused" for probe in last):
        since = minute_of(last[0].started_at)
        newest = _request_id(last[-1])
        line = f"The probes are answered 403 since {since}, {newest}."
        return [made_alert(AlertKind.KEY_REFUSED, about, "the service refuses the API key", [line])]
    return []


def _line_of_probe(probe: ProbeFacts) -> str:
    minute = minute_of(probe.started_at)
    return f"- {minute} {probe.trouble}, {_request_id(probe)}"


def _request_id(probe: ProbeFacts) -> str:
    if probe.request_id is None:
        return "no request ID"
    return f"request ID {quoted(probe.request_id)}"
