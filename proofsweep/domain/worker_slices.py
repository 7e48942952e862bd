"""What the process that holds a leg gives to a worker process with a slice, and what comes back. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from proofsweep.domain.runs import Slice
from proofsweep.errors import RunMustStop


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantedSlice:
    """A slice with the calls that may be made for it.

    Attributes:
        calls: keyed calls; None for any number.
        attempt: how often the slice was given away before.
    """

    piece: Slice
    calls: int | None = None
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessCounts:
    """What one worker process has done for a leg so far, and what it knows of the lane, as in `LaneStatus`.

    Attributes:
        writer: the name of the process in the journal.
        rows: finished rows by outcome word.
        audio_bytes: of the files that the service answered.
    """

    writer: str
    rows: Mapping[str, int] = field(default_factory=dict)
    audio_bytes: int = 0
    cpu_seconds: float = 0.0
    rate: float | None = None
    most_at_once: int | None = None
    is_outage: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceResult:
    """What became of a slice.

    Attributes:
        is_done: nothing of it is left but what is in doubt.
        lost_by: the process that had begun this attempt and was lost; its calls count as spent.
        calls: keyed calls that the process made since its last result; what is left of the grant is free again.
        stop: why the process must end the leg; None if it need not.
        counts: of the process.
    """

    counts: ProcessCounts
    is_done: bool = False
    lost_by: str | None = None
    calls: int = 0
    stop: RunMustStop | None = None
