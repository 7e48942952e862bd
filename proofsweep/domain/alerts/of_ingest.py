"""What is told of a pass over a watched folder: files that could not be moved, and files that are not tried again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proofsweep.domain.alerts.messages import Alert, AlertKind, cause_of, harmless, quoted, shortened


@dataclass(frozen=True, slots=True, kw_only=True)
class PassFacts:
    """What a pass left for a person.

    Attributes:
        watched: the watched folder.
        not_moved: files by the reason why they could not be moved.
        given_up: items that no pass tries again.
        is_whole: whether the pass came to its end.
    """

    environment: str
    watched: str
    results_url: str
    not_moved: Mapping[str, int]
    given_up: Sequence[str]
    is_whole: bool


def alerts_of_pass(facts: PassFacts) -> list[Alert]:
    """Return what must be told after a pass."""
    return [alert for alert in (not_moved(facts), given_up(facts)) if alert is not None]


def over_after_pass(facts: PassFacts) -> list[str]:
    """Return the begins of causes that a pass shows to be over."""
    is_over = facts.is_whole and not facts.not_moved
    return [cause_of(AlertKind.NOT_MOVED, facts.environment, facts.watched)] if is_over else []


def not_moved(facts: PassFacts) -> Alert | None:
    """Tell that verified files could not be moved."""
    if not facts.not_moved:
        return None
    lines = [f"- {files:,}: {quoted(reason)}" for reason, files in facts.not_moved.items()]
    return Alert(
        kind=AlertKind.NOT_MOVED,
        causes=(cause_of(AlertKind.NOT_MOVED, facts.environment, facts.watched),),
        subject=_subject("verified files that are not moved", sum(facts.not_moved.values()), facts),
        body="\n".join(
            [
                f"They lie in {quoted(facts.watched)} still:",
                *shortened(lines),
                "To do: make room at the target, or give the right to write there. The next pass moves them.",
                f"Tables: {quoted(facts.results_url)}",
            ]
        ),
    )


def given_up(facts: PassFacts) -> Alert | None:
    """Tell of files that failed as often as they are tried, each file once."""
    if not facts.given_up:
        return None
    return Alert(
        kind=AlertKind.GIVEN_UP,
        causes=tuple(cause_of(AlertKind.GIVEN_UP, facts.environment, facts.watched, each) for each in facts.given_up),
        subject=_subject("delivered files that are given up", len(facts.given_up), facts),
        body="\n".join(
            [
                f"Each failed as often as `ingest.tries` allows. No pass over {quoted(facts.watched)} tries it again.",
                "To do: `proofsweep rejects` names them and says why. Have them delivered anew, or touch them.",
                f"Tables: {quoted(facts.results_url)}",
            ]
        ),
    )


def _subject(what: str, files: int, facts: PassFacts) -> str:
    return f"proofsweep: {what}: {files:,} ({harmless(facts.environment)})"
