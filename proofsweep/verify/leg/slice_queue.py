"""What the process that holds a leg gives to its worker processes: slices with their calls; and what comes back."""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass

from proofsweep.contract.limits import MOST_CALLS_PER_ITEM
from proofsweep.endings import EndedBy
from proofsweep.errors import RunMustStop
from proofsweep.logs import Event, log
from proofsweep.model.runs import Slice
from proofsweep.verify.leg.leg_context import LegContext

# A slice whose worker processes are lost so often would lose all. Chosen: as often as Dask itself runs a task again.
# Half ends a run for two machines that were taken away; twice kills twice as many processes.
_MOST_LOST = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantedSlice:
    """A slice with the keyed calls that may be made for it; `attempt` is how often it was given away before."""

    piece: Slice
    calls: int
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceResult:
    """What became of a slice.

    Attributes:
        is_done: nothing of it is left but what is in doubt.
        is_lost: another process had begun this attempt, and was lost; its calls count as spent.
        calls: keyed calls that the process made since its last result; what is left of the grant is free again.
        stop: why the process must end the leg; None if it need not.
    """

    is_done: bool = False
    is_lost: bool = False
    calls: int = 0
    stop: RunMustStop | None = None


class SliceQueue:
    """The slices of a leg that wait for a worker process; used by one thread."""

    def __init__(self, leg: LegContext, pieces: Iterable[Slice]) -> None:
        self._leg = leg
        self._waiting = deque((piece, 0) for piece in pieces)
        self._lost: Counter[Slice] = Counter()

    def grant(self, slots: int) -> GrantedSlice | None:
        """Return the next slice with its share of the calls that are left for so many slices; None if none may begin.

        It is None too while other slices hold the calls.
        """
        if not self._waiting or self._leg.stop.reason is not None:
            return None
        left = self._leg.budget.grantable()
        if left is not None and left < MOST_CALLS_PER_ITEM:
            return None
        piece, attempt = self._waiting.popleft()
        calls = MOST_CALLS_PER_ITEM * (piece.last - piece.first)
        if left is not None:
            calls = min(calls, max(MOST_CALLS_PER_ITEM, left // slots))
        self._leg.budget.count_slice(granted=calls)
        return GrantedSlice(piece=piece, calls=calls, attempt=attempt)

    def take(self, granted: GrantedSlice, result: SliceResult) -> None:
        """Take what became of a slice; what is left of it waits again. A lost attempt has spent all its calls."""
        leg, piece = self._leg, granted.piece
        leg.budget.count_slice(granted=-granted.calls, spent=result.calls + granted.calls * result.is_lost)
        if result.is_lost:
            log(Event.WORKER_LOST, run_id=leg.plan.run_id, leg=leg.leg, shard=piece.shard)
            self._lost[piece] += 1
        stop = result.stop
        if self._lost[piece] >= _MOST_LOST:
            why = f"{_MOST_LOST} worker processes that worked on shard {piece.shard} were lost."
            stop = RunMustStop(why, ended_by=EndedBy.ERROR)
        if stop is not None:
            leg.stop.pull(stop)
        if not result.is_done:
            self._waiting.append((piece, granted.attempt + 1))
