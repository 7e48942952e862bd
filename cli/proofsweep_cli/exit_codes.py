"""The exit codes of the process."""

from enum import IntEnum
from typing import TYPE_CHECKING

from proofsweep.domain.endings import EndedBy, ending_of
from proofsweep.domain.errors import ProofsweepError, RunIsActive, RunMustStop, UsageError

if TYPE_CHECKING:
    from proofsweep.queries.status import RunStatus


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


_MEANINGS = {
    ExitCode.ACCEPTED: "every row was accepted; or no row is due, or meets the conditions of the command",
    ExitCode.BUG: "a bug of this program; `demo`: a row with an unexpected result",
    ExitCode.USAGE: "usage, settings, a catalog that is empty or cannot be read, no such run; `check`: no such file; "
    "`verify`: an unfinished run of the catalog was planned with "
    "[other options](catalogs.md#one-run-of-a-catalog-at-a-time)",
    ExitCode.REJECTED: "finished; some rows are rejected or ineligible; `alerts check`: something needs a person; "
    "`diff`: something got worse; `audit`: something is wrong",
    ExitCode.FAILED: "finished; some rows got no verdict; `ingest`: files could not be moved; `alerts`: a receiver did "
    "not take a message",
    ExitCode.QUOTA: "stopped: the quota is spent or reserved; rows remain",
    ExitCode.CANCELLED: "stopped: on request, because its window closed (`--until`, `--max-calls`), or because its "
    "Prefect server failed; rows remain",
    ExitCode.KEY_REFUSED: "stopped: the key was refused; `plan`: a run would stop because of it",
    ExitCode.BREAKER: "stopped: the service is down or throttles for a long time, or files, or a catalog that was "
    "verified before, are away; rows remain",
    ExitCode.ACTIVE: "a process works on this run, or on another run of its "
    "[catalog](catalogs.md#one-run-of-a-catalog-at-a-time)",
}


def exit_codes_table() -> str:
    lines = [f"| {code.value} | {meaning} |" for code, meaning in _MEANINGS.items()]
    return "\n".join(["| code | meaning |", "|---|---|", *lines, ""])


def code_of_run(run: "RunStatus") -> ExitCode:
    if run.remaining and run.ended_by == EndedBy.ERROR:
        return ExitCode.BUG
    applying = [ExitCode.ACCEPTED]
    if run.rows("rejected") or run.rows("ineligible"):
        applying.append(ExitCode.REJECTED)
    if run.rows("failed"):
        applying.append(ExitCode.FAILED)
    if not run.is_over:
        ending = ending_of(run.ended_by)
        applying.append(ExitCode.CANCELLED if ending is None else ExitCode(ending.exit_code))
    return max(applying)


def code_of_error(error: ProofsweepError) -> ExitCode:
    match error:
        case UsageError():
            return ExitCode.USAGE
        case RunIsActive():
            return ExitCode.ACTIVE
        case RunMustStop(ended_by=ended_by):
            return ExitCode(ended_by.ending.exit_code)
        case _:
            return ExitCode.FAILED
