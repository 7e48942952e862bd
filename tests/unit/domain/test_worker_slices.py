"""What travels between the processes of a leg is whole on the other side."""

import pickle
from dataclasses import asdict

from proofsweep.domain.runs import Slice
from proofsweep.domain.worker_slices import GrantedSlice, ProcessCounts, SliceResult
from proofsweep.errors import RunMustStop

COUNTS = ProcessCounts(writer="7_ab", rows={"accepted": 2}, cpu_seconds=1.5, rate=3.0)


def test_a_slice_and_its_result_travel_between_processes() -> None:
    """The reason to stop keeps its word, by which the leg's end is named."""
    granted = GrantedSlice(piece=Slice(1, 0, 20), calls=40, attempt=2)
    result = SliceResult(counts=COUNTS, calls=7, stop=RunMustStop("The key is refused.", ended_by="key_refused"))

    arrived_slice, arrived = pickle.loads(pickle.dumps((granted, result)))  # noqa: S301 - our own

    assert arrived_slice == granted
    assert (arrived.counts, arrived.calls, arrived.stop.ended_by) == (COUNTS, 7, "key_refused")


def test_counts_are_plain_values() -> None:
    """A topic of the cluster takes nothing else."""
    assert ProcessCounts(**asdict(COUNTS)) == COUNTS
