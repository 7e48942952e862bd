"""The exit codes of the process."""

from enum import IntEnum
from typing import TYPE_CHECKING, Self

from proofsweep.domain.endings import EndedBy, ending_of
from proofsweep.domain.errors import ProofsweepError, RunIsActive, RunMustStop, UsageError

if TYPE_CHECKING:
    from proofsweep.queries.status import RunStatus


class ExitCode(IntEnum):
    """The documented exit codes, each with a word or two and its meaning; of 3 to 8 the highest that applies."""

    brief: str
    meaning: str

    def __new__(cls, code: int, brief: str = "", meaning: str = "") -> Self:
        exit_code = int.__new__(cls, code)
        exit_code._value_ = code
        exit_code.brief, exit_code.meaning = brief, meaning
        return exit_code

    ACCEPTED = (
        0,
        "every row accepted",
        "every row was accepted; or no row is due, or meets the conditions of the command",
    )
    BUG = 1, "our own bug", "a bug of this program; `demo`: a row with an unexpected result"
    USAGE = (
        *(2, "usage"),
        (
            "usage, settings, a catalog that is empty or cannot be read, no such run; `check`: no such file; `verify`: "
            "an unfinished run of the catalog was planned with "
            "[other options](catalogs.md#one-run-of-a-catalog-at-a-time)"
        ),
    )
    REJECTED = (
        *(3, "some rejected or ineligible"),
        (
            "finished; some rows are rejected or ineligible; `alerts check`: something "
            "needs a person; `diff`: something got worse; `audit`: something is wrong"
        ),
    )
    FAILED = (
        *(4, "some failed"),
        (
            "finished; some rows got no verdict; `ingest`: files could not be moved; "
            "`alerts`: a receiver did not take a message"
        ),
    )
    QUOTA = 5, "quota", "stopped: the quota is spent or reserved; rows remain"
    CANCELLED = (
        *(6, "stopped"),
        (
            "stopped: on request, because its window closed (`--until`, `--max-calls`), or because "
            "its Prefect server failed; rows remain"
        ),
    )
    KEY_REFUSED = 7, "key refused", "stopped: the key was refused; `plan`: a run would stop because of it"
    BREAKER = (
        *(8, "service down"),
        (
            "stopped: the service is down or throttles for a long time, or files, or a catalog that was verified "
            "before, are away; rows remain"
        ),
    )
    ACTIVE = (
        *(9, "another leg is active"),
        "a process works on this run, or on another run of its [catalog](catalogs.md#one-run-of-a-catalog-at-a-time)",
    )


def epilog() -> str:
    return "Exit codes: " + " · ".join(f"{code.value} {code.brief}" for code in ExitCode)


def exit_codes_table() -> str:
    lines = [f"| {code.value} | {code.meaning} |" for code in ExitCode]
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
