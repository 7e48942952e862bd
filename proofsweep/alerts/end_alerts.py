"""What is told of the end of a flow run: the one place that decides it, for each flow and each state. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from proofsweep.alerts.events import COMPLETED, EVENTS, TOLD_STATES, AlertKind, is_failure
from proofsweep.alerts.messages import Alert, cause_of, made_alert, quoted

_WHOLE = {COMPLETED, "SomeFailed", "AllFailed", "FoundDifferences"}
"""States in which no work remains: then other ends of the same work are over."""


@dataclass(frozen=True, slots=True)
class FlowEnd:
    """How a flow run, or a leg of one, has ended.

    Attributes:
        state: the name of its Prefect state.
        subject: the catalog or folder that it worked on; the flow's name if there is none.
        details: lines of the message.
        title: what happened, with figures; None takes the event's own.
        tries_left: whether the flow run is tried again if it failed.
    """

    environment: str
    flow: str
    state: str
    subject: str
    results_url: str
    details: Sequence[str]
    title: str | None = None
    tries_left: bool = False


def alerts_of_end(end: FlowEnd) -> list[Alert]:
    """Return what must be told of an end: nothing, or one message; of a failure that is tried again, its last try's."""
    kind = TOLD_STATES.get(end.state)
    if kind is None or (end.tries_left and is_failure(end.state)):
        return []
    of_what = "" if end.subject == end.flow else f" of {quoted(end.subject)}"
    lines = [f"Flow {quoted(end.flow)}{of_what} ended as {end.state}.", *end.details]
    title = EVENTS[kind].title if end.title is None else end.title
    return [made_alert(kind, end.environment, title, lines, [_cause(kind, end)], results_url=end.results_url)]


def over_after_end(end: FlowEnd) -> list[str]:
    """Return the begins of the causes that an end shows to be over.

    Work that was begun ends what kept earlier flow runs from beginning; only whole work ends what is told of itself.
    """
    own = TOLD_STATES.get(end.state)
    is_whole = end.state in _WHOLE
    if own is AlertKind.KEY_REFUSED or not (is_whole or end.subject != end.flow):
        return []
    kinds = [kind for kind, event in EVENTS.items() if event.states and kind is not own]
    subjects = dict.fromkeys((end.flow, end.subject) if is_whole else (end.flow,))
    over = [cause_of(kind, end.environment, subject) for kind in kinds for subject in subjects]
    over.append(cause_of(AlertKind.KEY_REFUSED, end.environment))
    return [*over, cause_of(AlertKind.QUOTA_SHORT, end.environment, end.subject)] if is_whole else over


def files_given_up(environment: str, watched: str, results_url: str, given_up: Collection[str]) -> list[Alert]:
    """Tell of items of a watched folder that failed too often; each is a cause."""
    if not given_up:
        return []
    causes = [cause_of(AlertKind.GIVEN_UP, environment, watched, item) for item in sorted(given_up)]
    title = f"delivered files that are given up: {len(given_up):,}"
    lines = [f"Each failed as often as `ingest.tries` allows. No pass over {quoted(watched)} tries it again."]
    return [made_alert(AlertKind.GIVEN_UP, environment, title, lines, causes, results_url=results_url)]


def _cause(kind: AlertKind, end: FlowEnd) -> str:
    """Name the cause; a refused key is one for all flows."""
    is_key = kind is AlertKind.KEY_REFUSED
    return cause_of(kind, end.environment) if is_key else cause_of(kind, end.environment, end.subject, end.state)
