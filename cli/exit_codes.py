"""The exit codes of the process."""

from enum import IntEnum

from proofsweep.answers.run_status import RunStatus
from proofsweep.errors import ProofsweepError, RunIsActive, RunMustStop, UsageError


class ExitCode(IntEnum):
    """The documented exit codes; of 3 to 8 the highest that applies."""

    ACCEPTED = 0
    BUG = 1
    USAGE = 2
    REJECTED = 3
    FAILED = 4
    QUOTA = 5
    CANCELLED = 6
    KEY_REFUSED = 7
    BREAKER = 8
    ACTIVE = 9
    NOT_TRIED = 10


_CODE_OF_ENDING = {
    "quota": ExitCode.QUOTA,
    "window": ExitCode.CANCELLED,
    "cancelled": ExitCode.CANCELLED,
    "interrupted": ExitCode.CANCELLED,
    "killed": ExitCode.CANCELLED,
    "key_refused": ExitCode.KEY_REFUSED,
    "breaker": ExitCode.BREAKER,
}


def code_of_run(run: RunStatus) -> ExitCode:
    """Return the code for the present state of a run, over all its legs."""
    if run.remaining and run.ended_by == "error":
        return ExitCode.BUG
    applying = [ExitCode.ACCEPTED]
    if run.rows("rejected") or run.rows("ineligible"):
        applying.append(ExitCode.REJECTED)
    if run.rows("failed"):
        applying.append(ExitCode.FAILED)
    if not run.is_over:
        applying.append(_CODE_OF_ENDING.get(run.ended_by or "", ExitCode.CANCELLED))
    return max(applying)


def code_of_error(error: ProofsweepError) -> ExitCode:
    """Return the code for an error that ended a command."""
    match error:
        case UsageError():
            return ExitCode.USAGE
        case RunIsActive():
            return ExitCode.ACTIVE
        case RunMustStop(ended_by=ended_by):
            return _CODE_OF_ENDING.get(ended_by, ExitCode.BUG)
        case _:
            return ExitCode.FAILED
