"""How a leg's calls are shared out to its worker processes, which together stay within its budget. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from proofsweep.contract.limits import MOST_CALLS_PER_ITEM
from proofsweep.domain.worker_processes import WorkerReport

# Most calls that a worker process has in hand. If it is killed they count as spent. A process can make 800 calls a
# second, and new ones come within six seconds: with a third of this it made only 400. Twice doubles what a kill costs.
_MOST_IN_HAND = 6_000

# By how much the calls that are left exceed what all processes get at once. Chosen: half gives the first ones all of a
# small budget; twice needs more rounds until the last call is granted.
_ROUNDS = 2


@dataclass(slots=True)
class Grants:
    """The calls that each worker process was granted so far. A grant is never taken back, but may be returned."""

    _granted: dict[str, int] = field(default_factory=dict)
    _is_unlimited: bool = False

    def spent(self, reports: Mapping[str, WorkerReport], lost: set[str]) -> int:
        """Count the calls of all processes; of a lost one, all that it was granted, since it may have made them."""
        in_hand = 0 if self._is_unlimited else sum(self._in_hand(name, reports[name]) for name in lost)
        return sum(report.calls for report in reports.values()) + in_hand

    def in_hand(self, reports: Mapping[str, WorkerReport], lost: set[str]) -> int:
        """Count the calls that were granted and may still be made."""
        if self._is_unlimited:
            return 0
        working = (name for name, report in reports.items() if name not in lost and not report.is_closed)
        return sum(self._in_hand(name, reports[name]) for name in working)

    def share(self, grantable: int | None, busy: Mapping[str, WorkerReport]) -> dict[str, int | None]:
        """Grant calls to the processes that have work; give what each was granted so far.

        Args:
            grantable: calls that may be granted now; None for any number.
            busy: the last report of each process that has work.
        """
        self._is_unlimited = grantable is None
        if grantable is None:
            return dict.fromkeys(busy)
        left = grantable
        for name, report in busy.items():
            self._granted[name] = max(self._granted.get(name, 0), report.calls + report.returned)
            wanted = _target(grantable, len(busy)) - self._in_hand(name, report)
            more = min(wanted, left) if min(wanted, left) >= MOST_CALLS_PER_ITEM else 0
            self._granted[name] += more
            left -= more
        return dict(self._granted)

    def _in_hand(self, name: str, report: WorkerReport) -> int:
        return max(0, self._granted.get(name, 0) - report.returned - report.calls)


def _target(grantable: int, processes: int) -> int:
    """Say how many calls a process should have in hand: an equal share of a part of what is left."""
    return max(MOST_CALLS_PER_ITEM, min(_MOST_IN_HAND, grantable // (_ROUNDS * processes)))
