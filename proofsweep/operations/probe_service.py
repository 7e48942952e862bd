"""One pass of monitoring (contract, Versioning 7): GET /health and GET /partner/usage?days=1, each asked once."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from proofsweep.contract.limits import USAGE_DAYS
from proofsweep.contract.models import HealthResponse
from proofsweep.errors import CallFailed, RunMustStop
from proofsweep.model.exchanges import Call, Exchange, Failure
from proofsweep.model.tables.columns import Row
from proofsweep.model.tables.probes import probe_row, usage_rows
from proofsweep.partner.partner import Partner


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeBatch:
    """What one pass found: its rows of `probes` and of `usage`."""

    probes: Sequence[Row]
    usage: Sequence[Row]

    def rows(self, own: Row) -> list[Row]:
        """Return the rows as they are kept, with what they have in common; the row of `usage` holds what it said."""
        days = [{name: cell for name, cell in row.items() if name != "asked_at"} for row in self.usage]
        said = {"usage": json.dumps(days, ensure_ascii=False)} if days else {}
        return [{**own, **probe, "usage_json": said.get(str(probe["call"]))} for probe in self.probes]


def probe_service(partner: Partner) -> ProbeBatch:
    """Ask once for each; a probe that is throttled, fails or is refused is a row too.

    Nothing is repeated: the next pass comes soon, and what failed is what is to be seen. No other thread may use the
    partner.
    """
    seen: list[Exchange] = []
    once = partner.in_new_session(seen.append).asking_once()
    health, usage = HealthResponse(), list[Row]()
    with _failure_kept(seen):
        health = once.health()
    with _failure_kept(seen):
        usage = usage_rows(once.usage(days=USAGE_DAYS.start)[0], seen[-1].started_at)
    return ProbeBatch(
        probes=[probe_row(each, health if each.call is Call.HEALTH else None) for each in seen], usage=usage
    )


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
