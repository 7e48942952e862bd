"""What the process that holds a leg gives to its worker processes: slices with their calls, and what came back."""

import time
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from proofsweep.client.pacing.dispatcher import LaneStatus
from proofsweep.contract.limits import CALLS_PER_ITEM, MOST_CALLS_PER_ITEM
from proofsweep.domain.runs import Slice
from proofsweep.domain.worker_slices import GrantedSlice, ProcessCounts, SliceResult
from proofsweep.errors import RunMustStop
from proofsweep.logs import Event, log
from proofsweep.usecases.leg.leg_context import LegContext

# A slice whose worker processes are lost so often would lose all. Chosen: as often as Dask itself runs a task again.
# Half ends a run for two machines that were taken away; twice kills twice as many processes.
_MOST_LOST = 4

# What a process knows of the lane counts for so long; it tells it every second. Chosen: half forgets one whose machine
# is busy; twice counts a lost one longer.
_LANE_SECONDS = 10.0


@dataclass(slots=True)
class SliceQueue:
    """The slices of a leg that wait for a worker process; used by one thread, but `note` by others too."""

    leg: LegContext
    _waiting: deque[tuple[Slice, int]] = field(default_factory=deque)
    _lost: Counter[Slice] = field(default_factory=Counter)
    _counts: dict[str, tuple[ProcessCounts, float]] = field(default_factory=dict)

    def put(self, pieces: Iterable[Slice]) -> None:
        """Let slices wait."""
        self._waiting.extend((piece, 0) for piece in pieces)

    def grant(self, slots: int) -> GrantedSlice | None:
        """Give the next slice with its share of the calls that are left for so many slices; None if none may begin.

        It is None too while other slices hold the calls.
        """
        if not self._waiting or self.leg.stop.reason is not None:
            return None
        left = self.leg.budget.grantable()
        if left is not None and left < MOST_CALLS_PER_ITEM:
            return None
        piece, attempt = self._waiting.popleft()
        wanted = max(MOST_CALLS_PER_ITEM, CALLS_PER_ITEM * (piece.last - piece.first))
        calls = None if left is None else min(wanted, max(MOST_CALLS_PER_ITEM, left // slots))
        self.leg.budget.count_slice(granted=calls or 0)
        return GrantedSlice(piece=piece, calls=calls, attempt=attempt)

    def take(self, granted: GrantedSlice, result: SliceResult) -> None:
        """Take what became of a slice; what is left of it waits again. A lost attempt has spent all its calls."""
        calls = granted.calls or 0
        self.leg.budget.count_slice(granted=-calls, spent=result.calls + calls * (result.lost_by is not None))
        self.note(result.counts)
        if result.stop is not None:
            self.leg.stop.pull(result.stop)
        if result.lost_by is not None:
            self._note_loss(granted.piece, result.lost_by)
        if not result.is_done:
            self._waiting.append((granted.piece, granted.attempt + 1))

    def note(self, counts: ProcessCounts) -> None:
        """Take over what a process has done so far, for the progress display and the receipt; old counts do nothing."""
        known = self._counts.get(counts.writer)
        if known is None or known[0].cpu_seconds <= counts.cpu_seconds:
            self._counts[counts.writer] = (counts, time.monotonic())
        every = [each for each, _ in list(self._counts.values())]
        self.leg.counters.take(
            rows=sum((Counter(each.rows) for each in every), Counter()),
            audio_bytes=sum(each.audio_bytes for each in every),
            cpu_seconds=sum(each.cpu_seconds for each in every),
            lane=self._lane(),
        )

    def _lane(self) -> LaneStatus:
        """Add up what each process knows of its part of the lane."""
        recent = time.monotonic() - _LANE_SECONDS
        there = [each for each, heard_at in list(self._counts.values()) if heard_at >= recent]
        rates = [each.rate for each in there if each.rate is not None]
        most = [each.most_at_once for each in there if each.most_at_once is not None]
        is_outage = any(each.is_outage for each in there)
        return LaneStatus(sum(rates) if rates else None, sum(most) if most else None, None, is_outage)

    def _note_loss(self, piece: Slice, writer: str) -> None:
        log(Event.WORKER_LOST, run_id=self.leg.plan.run_id, leg=self.leg.leg, shard=piece.shard, writer=writer)
        self._lost[piece] += 1
        if self._lost[piece] >= _MOST_LOST:
            why = f"{_MOST_LOST} worker processes that worked on shard {piece.shard} were lost."
            self.leg.stop.pull(RunMustStop(why, ended_by="error"))
