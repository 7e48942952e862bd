"""What operations on proofs found, as values."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """The proofs that the service lists, by how they agree with the newest answers."""

    operation_id: str
    states: Mapping[str, int]  # rows of the table `proofs` by state
    unnamed: int = 0  # listed items without a proof ID
    problem: str | None = None  # why the listing may not be whole; None if it is

    def count(self, state: str) -> int:
        """Count the rows of a state."""
        return self.states.get(state, 0)

    @property
    def listed(self) -> int:
        """Count the proofs that the service lists."""
        return sum(self.states.values()) - self.count("not_listed")


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesRefreshed:
    """The process notes that were asked for."""

    operation_id: str | None  # None if no note was wanted, so that nothing was asked
    wanted: int  # accepted proofs without a ready note
    states: Mapping[str, int]  # rows of the table `interpretations` by status


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """The sidecars that were looked at."""

    operation_id: str
    # items by outcome; of these, `intact`, `absent` and `watched` ones have no row in `recoveries`.
    outcomes: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryRequest:
    """Which sidecars are recovered, and where to."""

    # only items whose audio is this file or in this folder, when it was verified or after ingest moved it.
    below: str = ""
    prefix: str | None = None  # a folder or a bucket's prefix to write below; None for beside the audio
    compares_all: bool = False  # ask also for sidecars that are as they were when the service accepted them
    with_one_files: bool = False  # also for items that were verified without a sidecar; they need a prefix
    max_calls: int | None = None  # keyed calls at most
