"""Automations of Prefect for flow runs whose process was killed: seen, run again a few times, or given up and told."""

from collections.abc import Iterator
from datetime import timedelta

from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification

from proofsweep.alerts.events import ABANDONED, CRASHED, END_STATES, FLOWS, GONE, RUN_AGAIN

OUR_FLOWS = ResourceSpecification({"prefect.resource.role": "flow", "prefect.resource.name": list(FLOWS)})
_REPEATED_FLOWS = ResourceSpecification({"prefect.resource.role": "flow", "prefect.resource.name": list(RUN_AGAIN)})
# A flow run without one has a person at its terminal, or is a part of another flow run, which is told.
OF_DEPLOYMENTS = ResourceSpecification({"prefect.resource.role": "deployment"})

# The shipped workers' flow runs send a heartbeat every 60 s (PREFECT_FLOWS_HEARTBEAT_FREQUENCY). Chosen: three may be
# missing, as during a restart of the server. A live run that is called dead keeps its work, by its lease.
_SILENT_FOR = timedelta(minutes=4)

# A worker reports a killed process twice, the second time after it has loaded the flow for its hooks: 30 s later on a
# machine with five times more work than processors. A flow run that is run again before that is crashed by it.
_REPORTED_WITHIN = timedelta(minutes=1)

# Prefect does not count a run that dies before it has begun, so each count is run again once. Chosen: over a night.
_ONCE_IN = timedelta(hours=20)

# The server runs a dead flow run again in a second, if it does. Chosen: any value from 10 s, Prefect's least, does.
_RUN_AGAIN_WITHIN = timedelta(seconds=30)


def crash_automations(most_times: int) -> Iterator[AutomationCore]:
    """Yield what sees that a flow run is dead, runs it again, at most so many times, or gives it up."""
    beat, crashed, gone = _events("heartbeat"), _events(CRASHED), _events(GONE)
    lives = _events("Scheduled", "AwaitingRetry", "Running", *{*END_STATES} - {CRASHED, ABANDONED})  # it may end yet
    silent = _change(CRASHED, "No heartbeat: the worker or its machine is gone.")
    dead = _change(GONE, "It crashed, and its worker has told all that it knows.")
    given_up = _change(ABANDONED, "It crashed, and is not run again.")
    yield _of_silence("crash flow runs without heartbeat", beat, beat | _events(*END_STATES), _SILENT_FOR, silent)
    yield _of_silence("see that crashed flow runs are gone", crashed, lives, _REPORTED_WITHIN, dead)
    counts = [str(count) for count in range(most_times + 1)]  # 0: it died before it had begun
    yield AutomationCore(
        name="proofsweep: run crashed flow runs again",
        enabled=most_times > 0,
        trigger=EventTrigger(
            posture=Posture.Reactive,
            match=_runs(**{"prefect.run-count": counts}),
            match_related=[_REPEATED_FLOWS, OF_DEPLOYMENTS],
            for_each={"prefect.resource.id", "prefect.run-count"},
            expect=gone,
            within=_ONCE_IN,
        ),
        # Named Scheduled, since one that no worker takes then becomes Late, and is told.
        actions=[ChangeFlowRunState(state=StateType.SCHEDULED, name="Scheduled", message="It crashed: run again.")],
    )
    yield _of_silence("give up crashed flow runs", gone, lives, _RUN_AGAIN_WITHIN, given_up)


def _of_silence(
    name: str, after: set[str], expect: set[str], within: timedelta, action: ChangeFlowRunState
) -> AutomationCore:
    """Change the state of each flow run of which, after some event, no other one comes."""
    related = [OUR_FLOWS] if action.name == CRASHED else [OUR_FLOWS, OF_DEPLOYMENTS]
    names = {"match": _runs(), "match_related": related, "for_each": {"prefect.resource.id"}}
    trigger = EventTrigger(posture=Posture.Proactive, after=after, expect=expect, within=within, **names)
    return AutomationCore(name=f"proofsweep: {name}", trigger=trigger, actions=[action])


def _runs(**labels: list[str]) -> ResourceSpecification:
    return ResourceSpecification({"prefect.resource.id": "prefect.flow-run.*", **labels})


def _events(*names: str) -> set[str]:
    return {f"prefect.flow-run.{name}" for name in names}


def _change(name: str, message: str) -> ChangeFlowRunState:
    """Change to a state of type Crashed; Prefect lets a crashed flow run crash in another way by force only."""
    return ChangeFlowRunState(state=StateType.CRASHED, name=name, message=message, force=name != CRASHED)
