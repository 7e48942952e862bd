"""Verify what was delivered into a watched folder since the last pass, and move it by its verdicts."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run

from proofsweep.app import App
from proofsweep.domain.text import printable
from proofsweep.ingest.one_pass import IngestPass
from proofsweep_flows.ended_flow import ended_flow
from proofsweep_flows.verify_catalog import verify_catalog
from proofsweep_tasks.end_states import state_of_pass
from proofsweep_tasks.this_flow_run import send_alerts, show


def _name_of_run() -> str:
    return printable(f"ingest {flow_run.parameters.get('folder')}")


@flow(name="check-ingest", flow_run_name=_name_of_run, retries=0, persist_result=False)
def check_ingest(folder: str, config: str | None = None, results: str | None = None) -> State[Any]:
    """Make one pass over a watched folder; Completed if nothing was ready, or if no file taken remains or failed.

    It is NotMoved if verified files could not be moved.

    (1) take the folder, (2) verify the runs of the pass, each as a flow run of its own, and tell what must be
    told, (3) show what became of the files.

    Args:
        folder: a folder, or a bucket's prefix.
        config: a profile's name or a config file's path; None for the default.
        results: the results store; None for the one in the settings.
    """

    def work(app: App) -> State[Any]:
        stopped: State[Any] | None = None
        with app.watched_folder(folder) as watched:  # (1)
            one_pass = IngestPass(watched)
            for run_id in one_pass.runs():  # (2)
                state = verify_catalog(run_id=run_id, config=config, results=results, return_state=True)
                # Of several runs, the last one that failed counts, else the first of which a row remains or failed.
                if not state.is_completed() or (state.name != "Completed" and stopped is None):
                    stopped = State(type=state.type, name=state.name, message=state.message)
            report = one_pass.report
            send_alerts(app, app.alert_facts.end_of_pass(watched.path, report))
        if report.rows or report.not_moved or report.without_audio:
            show("proofsweep-deliveries", report.markdown(folder))  # (3)
        # Of the end of the pass and that of its runs, the worse one counts.
        ended = state_of_pass(report, report.line(folder))
        if stopped is None or (stopped.is_completed() and not ended.is_completed()):
            return ended
        return stopped

    return ended_flow(config, results, work, tells_itself=True)
