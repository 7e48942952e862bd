"""Verify what remains of a planned run, or plan one from a catalog and verify it."""

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run
from prefect.states import Cancelled

from proofsweep.bootstrap.engines import engine_for
from proofsweep.bootstrap.legs import held_leg
from proofsweep.bootstrap.runs import bounds_for, plan_catalog
from proofsweep.logs import set_up_logs
from proofsweep.printable import printable
from proofsweep.reporting.describe_run import describe_run
from proofsweep.settings import load_settings
from tasks.fan_out import fan_out
from tasks.key_block import read_block
from tasks.stop_on_signals import stopped_on_signals
from tasks.summary_artifact import show_summary


def _name_of_run() -> str:
    """Name a flow run in Prefect after its run or catalog."""
    parameters = flow_run.parameters
    return printable(f"verify {parameters.get('run_id') or parameters.get('catalog')}")


@flow(name="verify-catalog", flow_run_name=_name_of_run, retries=0, persist_result=False)
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
) -> str | State[str]:
    """Verify a catalog end to end; give the run's id, or the state Cancelled if the run was asked to stop.

    (1) plan the run, unless it is planned, (2) claim a leg, (3) map tasks over the rows that remain,
    (4) settle the leg, (5) show a summary in Prefect.

    Args:
        run_id: a planned run; None plans one from `catalog`.
        catalog: location of a manifest, a glob of manifests, a folder or a bucket's prefix.
        config: a profile's name or a config file's path; None for the default.
        results: the results store; None for the one in the settings.
        reserve: calls of the quota to leave to others. From here on, None means: as in the settings.
        max_calls: the most keyed calls that this leg makes.
        until: no file begins after this: `06:00`, `06:00 Europe/Berlin`, or an ISO instant.
        max_duration: no file begins after so long: `7h`.
        dedupe: whether the same bytes are verified only once.
    """
    set_up_logs()
    settings = load_settings(config, results)
    bounds = bounds_for(settings, reserve=reserve, max_calls=max_calls, until=until, max_duration=max_duration)
    run_id = run_id or plan_catalog(settings, catalog or "", read_block, reserve=bounds.reserve).run_id  # (1)
    held = held_leg(
        run_id,
        config,
        results,
        flow_run_id=flow_run.get_id(),
        read_block=read_block,
        bounds=bounds,
        dedupe=dedupe,
    )
    with stopped_on_signals(engine_for(settings, read_block)), held as (handle, leg):  # (2) and (4)
        fan_out(handle, leg.remaining.slices(), is_small=leg.plan.is_small)  # (3)
    show_summary(run := describe_run(leg.results, run_id), leg.results.store.url)  # (5)
    return Cancelled(message=run.why) if run.ended_by == "cancelled" else run_id
