# ruff: noqa: INP001 - a script, no package
"""Create or update our automations at the Prefect server: `python deploy/automations.py`. See docs/deployment.md."""

from datetime import timedelta

from prefect import get_client
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification

# A flow run sends a heartbeat every 180 s (PREFECT_FLOWS_HEARTBEAT_FREQUENCY). Chosen: four may be missing, as during a
# restart of the server. Half calls a live run dead after a longer restart; twice shows a dead one as running longer.
SILENT_FOR = timedelta(minutes=15)

ZOMBIES = AutomationCore(
    name="proofsweep: crash flow runs without heartbeat",
    description="The machine or the worker of the flow run is gone. The next run of the deployment resumes its work.",
    trigger=EventTrigger(
        posture=Posture.Proactive,
        match=ResourceSpecification({"prefect.resource.id": "prefect.flow-run.*"}),
        match_related=ResourceSpecification(
            {"prefect.resource.role": "flow", "prefect.resource.name": ["verify-catalog", "check-ingest"]}
        ),
        for_each={"prefect.resource.id"},
        after={"prefect.flow-run.heartbeat"},
        expect={"prefect.flow-run.*"},  # the name of an end is its state's: QuotaSpent, Outage …
        threshold=1,
        within=SILENT_FOR,
    ),
    actions=[
        ChangeFlowRunState(state=StateType.CRASHED, message="No heartbeat: the worker or its machine is gone."),
    ],
)


def apply(*automations: AutomationCore) -> None:
    """Create what is missing at the server, and update what has the same name."""
    with get_client(sync_client=True) as client:
        for automation in automations:
            found = client.read_automations_by_name(automation.name)
            if found:
                client.update_automation(found[0].id, automation)
            else:
                client.create_automation(automation)


if __name__ == "__main__":
    apply(ZOMBIES)
