"""The one list of what somebody is told: when, in which states of flow runs, and what to do."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from proofsweep.domain.endings import ENDINGS, EndedBy, ending_of
from proofsweep.store.model_operations import OperationKind

FLOW_OF_OPERATION: Mapping[str, str] = MappingProxyType(
    {
        OperationKind.INVENTORY: "inventory-proofs",
        OperationKind.RECOVERY: "recover-sidecars",
        OperationKind.INTERPRETATIONS: "refresh-interpretations",
        OperationKind.ROTATION: "rotate-key",
        OperationKind.ERASURE: "erase-proofs",
    }
)

COMPLETED, FAILED, CRASHED = (each.ending.state for each in (EndedBy.COMPLETE, EndedBy.ERROR, EndedBy.KILLED))
ALREADY_ACTIVE = "AlreadyActive"

OF_TYPE_COMPLETED = {COMPLETED, "SomeFailed"}
OF_TYPE_CANCELLED = {ALREADY_ACTIVE, *(ending.state for ending in ENDINGS.values() if ending.is_cancelled)}


def is_failure(state: str) -> bool:
    """Whether a flow's own state is of Prefect's type Failed, which is the type that Prefect tries again."""
    return state not in OF_TYPE_COMPLETED | OF_TYPE_CANCELLED


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
            "a key ends within 24 hours, or has ended: by `service.key_expires_at`, or after a rotation of `rotations`",
            "from its end on the service refuses the key, and every run stops.",
            "where the old key is still in use, put the new one in place, and try it with `proofsweep doctor`.",
            severity="failure",
        ),
        AlertKind.QUOTA_LOW: AlertRule(
            "less than `alerts.low_quota_percent` of the quota is left",
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
