"""What a worker's flow run logs: events as JSON lines on stderr, and to Prefect from every thread."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from prefect.context import FlowRunContext, TaskRunContext
from prefect.runtime import flow_run

from proofsweep.logs import LOGGER, json_lines
from proofsweep_tasks.tell_alerts import is_deployed


@contextmanager
def logs_of_flow_run() -> Iterator[None]:
    """Let each event of this process belong to the flow run; one of a deployment writes it as a JSON line too."""
    flow_run_id = flow_run.get_id()

    def belongs(record: logging.LogRecord) -> bool:
        if FlowRunContext.get() is None and TaskRunContext.get() is None:  # of a thread that Prefect did not start
            record.flow_run_id = flow_run_id
        return True

    logger = logging.getLogger(LOGGER)
    logger.addFilter(belongs)
    try:
        with json_lines(sys.stderr) if is_deployed() else nullcontext():
            yield
    finally:
        logger.removeFilter(belongs)
