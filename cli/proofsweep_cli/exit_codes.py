"""The exit codes of the process."""

from enum import IntEnum
from typing import TYPE_CHECKING

from proofsweep.domain.endings import EndedBy, ending_of
from proofsweep.domain.errors import CallFailed, ProofsweepError, RunIsActive, RunMustStop, UsageError

if TYPE_CHECKING:
    from proofsweep.queries.status import RunStatus


class ExitCode(IntEnum):
    """Of 3 to 8 the highest that applies; docs/command-line.md says when each is given."""

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


def code_of_run(run: "RunStatus") -> ExitCode:
    # A bug has a low code: the highest that applies would hide it.
    if run.remaining and run.ended_by == EndedBy.ERROR:
        return ExitCode.BUG
    applying = [ExitCode.ACCEPTED]
    # Ineligible rows that need nobody's attention are no rejection.
    if run.rows("rejected") or run.attention("ineligible"):
        applying.append(ExitCode.REJECTED)
    if run.rows("failed"):
        applying.append(ExitCode.FAILED)
    if not run.is_over:
        applying.append(_code_of_ending(run.ended_by))
    return max(applying)


def _code_of_ending(ended_by: str | None) -> ExitCode:
    ending = ending_of(ended_by)
    if ending is None:
        return ExitCode.CANCELLED
    return ExitCode(ending.exit_code)


def code_of_error(error: ProofsweepError) -> ExitCode:
    match error:
        case UsageError():
            return ExitCode.USAGE
        case RunIsActive():
            return ExitCode.ACTIVE
        case RunMustStop(ended_by=ended_by):
            return ExitCode(ended_by.ending.exit_code)
        case CallFailed(is_outage=True):
            return ExitCode.BREAKER
        case _:
            return ExitCode.FAILED
