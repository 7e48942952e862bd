"""Log how a flow run ended as one line: for each Failed state, Prefect's engine in a worker logs a traceback."""

import logging

from prefect.exceptions import CancelledRun, FailedRun

from proofsweep.errors import ProofsweepError

_KNOWN = (ProofsweepError, FailedRun, CancelledRun)


def log_known_ends_on_one_line() -> None:
    """Shorten what Prefect logs in this process; the traceback of a mistake of this program stays."""
    logging.getLogger("prefect.flow_runs").addFilter(_as_one_line)
    logging.getLogger("prefect.engine").addFilter(_is_unknown)  # it says the same again


def _as_one_line(record: logging.LogRecord) -> bool:
    if not _is_unknown(record) and record.exc_info:
        record.msg, record.args, record.exc_info = str(record.exc_info[1]), (), None
    return True


def _is_unknown(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], _KNOWN))
