"""Show how a run ended: in Prefect's UI, and on the site if the settings name one."""

import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from proofsweep.answers.run_status import RunStatus
from proofsweep.errors import ProofsweepError
from proofsweep.logs import Event, log
from proofsweep.store.plans_and_parts import Results
from proofsweep.text import printable
from proofsweep.wiring.engines import Engine
from proofsweep_tasks.summary_artifact import show_summary

# Pages of nights that one update writes at most, the newest first. Chosen: a site that is new does not hold up a night.
_MOST_PAGES = 10


def show_run(engine: Engine, run: RunStatus, results: Results) -> None:
    """Write the summary of a run, and bring the site up to date."""
    show_summary(run, results, engine.settings.serve.url)
    if engine.settings.report.site is not None:
        update_site(engine, engine.settings.report.site)


def update_site(engine: Engine, location: str) -> None:
    """Bring the site up to date. If that fails, one line says so; the run has done its work.

    A process of its own does it: whatever its libraries do, the flow goes on.
    """
    began = time.monotonic()
    try:
        from proofsweep.wiring.site import updated_site  # noqa: PLC0415 - DuckDB and charts, which few runs need

        with ProcessPoolExecutor(1, get_context("spawn")) as processes:
            update = processes.submit(updated_site, engine.settings, location, most_pages=_MOST_PAGES).result()
    except ProofsweepError as error:
        why = error.message
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a page must not end a run
        why = f"A mistake of this program: {type(error).__name__}."
    else:
        seconds = round(time.monotonic() - began, 1)
        log(Event.SITE_UPDATED, files=update.files, changed=update.changed, nights=update.nights, seconds=seconds)
        return
    log(Event.SITE_MISSED, why=why)
    sys.stderr.write(f"proofsweep: the site was not updated: {printable(why)}\n")
