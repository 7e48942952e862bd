"""Verify what remains of a planned run, or go on with a catalog: its unfinished run first, then all of it anew."""

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run
from prefect.states import Completed
from prefect.task_runners import ThreadPoolTaskRunner

from proofsweep.app import App
from proofsweep.domain.errors import NothingDue
from proofsweep.domain.runs import Bounds
from proofsweep.domain.text import printable
from proofsweep.queries.status import describe_run
from proofsweep.reports.run import markdown_of
from proofsweep.sources.selection import Selection
from proofsweep_flows.ended_flow import ended_flow
from proofsweep_tasks.end_states import state_after_run
from proofsweep_tasks.partitions import work_on
from proofsweep_tasks.this_flow_run import send_alerts, show

_TASKS_AT_ONCE = 16  # of a small run, which mostly wait; batches of a large run bound themselves to two at once


def _name_of_run() -> str:
    parameters = flow_run.parameters
    return printable(f"verify {parameters.get('run_id') or parameters.get('catalog')}")


@flow(
    name="verify-catalog",
    flow_run_name=_name_of_run,
    task_runner=ThreadPoolTaskRunner(max_workers=_TASKS_AT_ONCE),  # type: ignore[arg-type]  # its futures are of a subtype
    retries=0,
    persist_result=False,
)
def verify_catalog(
    run_id: str | None = None,
    catalog: str | None = None,
    config: str | None = None,
    results: str | None = None,
    *,
    max_calls: int | None = None,
    until: str | None = None,
    max_age: str | None = None,
    where: str | None = None,
    newer_than: str | None = None,
    only: list[str] | None = None,
) -> State[str]:
    """Verify a catalog end to end. The state says how it ended; Completed, with its id, if no row remains or failed.

    (1) find the run that is given, retried or unfinished, or plan one, (2) verify it.

    Args:
        run_id: a planned run; None goes on with `catalog`.
        catalog: location of a manifest, a glob of manifests, a folder or a bucket's prefix.
        config: a profile's name or a config file's path; None for the default.
        results: the results store; None for the one in the settings.
        max_calls: the most keyed calls that this flow run makes; None, as for the next one, means: as in the settings.
        until: no file begins after this: `06:00`, `06:00 Europe/Berlin`, an ISO instant, or a span like `7h`.
        max_age: a new plan leaves out rows with a younger answer: `30d`; None leaves out none.
        where: a new plan is of the rows that meet this SQL condition: `supplier = 'acme'`.
        newer_than: a new plan is of the files that were modified since: `2d`, or a date.
        only: a new plan is of the files that stand so by their newest answer: reasons, or `failed`, `rejected`.
    """

    def work(app: App) -> State[str]:
        bounds = app.bounds(max_calls=max_calls, until=until)
        selection = Selection(max_age=max_age, where=where, newer_than=newer_than, only=tuple(only or ()))
        # Prefect runs a flow run again after a crash: it goes on with the run that it had begun, and what is left of
        # its bounds.
        retried = flow_run.get_id() if flow_run.get_run_count() > 1 else None
        again, bounds = app.run_of_retry(retried, bounds)
        try:
            for run in app.runs_of_catalog(run_id or again, catalog or "", bounds, selection):  # (1)
                state = _verified(app, *run)  # (2)
        except NothingDue as nothing:
            # A night on which nothing is due is a good one.
            return Completed(message=f"{nothing.message}.")
        return state

    return ended_flow(config, results, work, tells_itself=True)


def _verified(app: App, run_id: str, bounds: Bounds) -> State[str]:
    """Verify what remains of a run, and return the state that says how it stands.

    (a) work on its partitions, each by a leg, (b) tell who must know, (c) show it.
    """
    plan = app.results.plan(run_id)
    work_on(app, plan, bounds, flow_run_id=flow_run.get_id())  # (a)
    run = describe_run(app.results, run_id)
    send_alerts(app, app.alert_facts.end_of_leg(run))  # (b)
    show("proofsweep-summary", markdown_of(run, app.results.store.url))  # (c)
    return state_after_run(run)
