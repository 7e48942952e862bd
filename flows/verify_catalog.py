"""Verify what remains of a planned run, or go on with a catalog: its unfinished run first, then all of it anew."""

from functools import partial

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run
from prefect.task_runners import ThreadPoolTaskRunner

from flows.ended_flow import ended_flow
from proofsweep.answers.describe_run import describe_run
from proofsweep.answers.run_status import RunStatus
from proofsweep.settings import Settings, load_settings
from proofsweep.text import printable
from proofsweep.verify.budget.bounds import Bounds
from proofsweep.verify.plan.selection import Selection
from proofsweep.wiring.alerts import begin_of_leg, end_of_leg, head_after
from proofsweep.wiring.engines import engine_for
from proofsweep.wiring.legs import LegOptions, held_leg
from proofsweep.wiring.runs import bounds_for, coverage_for
from proofsweep.wiring.unfinished_runs import go_on_with_catalog, run_of_retry
from tasks.coverage import state_with_coverage
from tasks.fan_out import fan_out
from tasks.key_block import read_block
from tasks.run_of_retry import run_of_this_retry, tries_left
from tasks.stop_on_signals import stopped_on_signals
from tasks.summary_artifact import show_summary
from tasks.tell_alerts import tell_alerts
from tasks.worker_cluster import started_runner

# Bounds the tasks of a small run, which mostly wait. Chosen: 8 may leave workers idle, 32 only adds threads. The tasks
# of a large run bound themselves to two at once.
_TASKS_AT_ONCE = 16


def _name_of_run() -> str:
    """Name a flow run in Prefect after its run or catalog."""
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
    reserve: int | None = None,
    max_calls: int | None = None,
    until: str | None = None,
    max_duration: str | None = None,
    dedupe: bool | None = None,
    believe: bool = False,
    max_age: str | None = None,
    where: str | None = None,
    newer_than: str | None = None,
) -> State[str]:
    """Verify a catalog end to end. The state says how it ended; Completed, with its id, if no row remains or failed.

    Args:
        run_id: a planned run; None goes on with `catalog`.
        catalog: location of a manifest, a glob of manifests, a folder or a bucket's prefix.
        config: a profile's name or a config file's path; None for the default.
        results: the results store; None for the one in the settings.
        reserve: calls of the quota to leave to others. From here on, None means: as in the settings.
        max_calls: the most keyed calls that this flow run makes.
        until: no file begins after this: `06:00`, `06:00 Europe/Berlin`, or an ISO instant.
        max_duration: no file begins after so long: `7h`.
        dedupe: whether the same bytes are verified only once.
        believe: whether outcomes that are in doubt are written as they come out.
        max_age: a new plan leaves out rows with a younger answer: `30d`; None leaves out none.
        where: a new plan is of the rows that meet this SQL condition: `supplier = 'acme'`.
        newer_than: a new plan is of the files that were modified since: `2d`, or a date.
    """

    def work(settings: Settings) -> State[str]:
        bounds = bounds_for(settings, reserve=reserve, max_calls=max_calls, until=until, max_duration=max_duration)
        selection = Selection(max_age=max_age, where=where, newer_than=newer_than)
        verify = partial(_verify, config=config, results=results, options=LegOptions(dedupe=dedupe, believe=believe))
        given = run_id or run_of_this_retry(partial(run_of_retry, settings))
        go_on = partial(go_on_with_catalog, settings, catalog or "", read_block, bounds, verify, selection=selection)
        run = partial(verify, given, bounds) if given else go_on  # the unfinished run, then a new one
        coverage = partial(coverage_for, settings, catalog, selection)
        return state_with_coverage(run, partial(head_after, settings), coverage)

    return ended_flow(config, results, work, tells_itself=True)


def _verify(run_id: str, bounds: Bounds, *, config: str | None, results: str | None, options: LegOptions) -> RunStatus:
    """Verify what remains of a run; give its status.

    (a) claim a leg, (b) map tasks over what remains, (c) settle the leg, (d) tell who must know, before (e) a summary
    is shown, for which the server must answer.
    """
    settings = load_settings(config, results)
    held = held_leg(
        run_id, config, results, flow_run_id=flow_run.get_id(), read_block=read_block, bounds=bounds, options=options
    )
    engine = engine_for(settings, read_block)
    started = started_runner(settings.runner, settings.dask.processes, settings.dask.address)
    with stopped_on_signals(engine), started as runner, held as (handle, leg):  # (a) and (c)
        tell_alerts(begin_of_leg(settings, leg.plan, leg.leg, engine.service(), bounds))
        fan_out(handle, leg, runner)  # (b)
    run = describe_run(leg.results, run_id)
    tell_alerts(end_of_leg(settings, run, tries_left=tries_left()))  # (d)
    show_summary(run, leg.results)  # (e)
    return run
