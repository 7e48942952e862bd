"""One round of monitoring (contract, Versioning 7): GET /health and GET /partner/usage?days=1, each asked once."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from proofsweep.client.partner import Partner
from proofsweep.contract.limits import USAGE_DAYS
from proofsweep.contract.models import HealthResponse
from proofsweep.domain.exchanges import Call, Exchange, Failure
from proofsweep.domain.tables.columns import Row
from proofsweep.domain.tables.probes import probe_row
from proofsweep.domain.tables.usage import usage_rows
from proofsweep.errors import CallFailed, RunMustStop
from proofsweep.usecases.operations.operation_log import OperationLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What one round found: its rows of `probes` and of `usage`."""

    probes: Sequence[Row]
    usage: Sequence[Row]


def probe_service(partner: Partner, log: OperationLog) -> Round:
    """Ask once for each; a probe that is throttled, fails or is refused is a row too.

    Nothing is repeated: the next round comes soon, and what failed is what is to be seen.

    Args:
        partner: the service; no other thread uses it.
        log: takes the rows.

    Raises:
        ResultsError: the store cannot be written.
    """
    seen: list[Exchange] = []
    once = partner.in_new_session(seen.append).asking_once()
    health, usage = HealthResponse(), list[Row]()
    with _failure_kept(seen):
        health = once.health()
    with _failure_kept(seen):
        usage = usage_rows(once.usage(days=USAGE_DAYS.start)[0], seen[-1].started_at)
    for exchange in seen:
        log.note(exchange)
    probes = [probe_row(each, health if each.call is Call.HEALTH else None) for each in seen]
    log.add("probes", probes)
    log.add("usage", usage)
    return Round(probes=probes, usage=usage)


@contextmanager
def _failure_kept(seen: list[Exchange]) -> Iterator[None]:
    """End quietly if the call fails. JSON that lacks what it must have is a bad answer, whatever the status says."""
    try:
        yield
    except RunMustStop:  # the key was refused, or the quota is used up: the exchange says so
        return
    except CallFailed:
        if seen[-1].is_success:
            seen[-1] = replace(seen[-1], failure=Failure.BAD_ANSWER)
