"""Who goes first on a key: a pass with new files says so, and sweeps with the same key look at each heartbeat."""

from dataclasses import dataclass

from proofsweep.model.runs import ClockReading, is_fresh
from proofsweep.store.lease import read_sign, write_sign
from proofsweep.store.store import Store


@dataclass(frozen=True, slots=True)
class LaneClaim:
    """The sign of passes on the lane of one key, in the ingest store.

    Passes over several folders share it: each renews it, and it is fresh while one of them does.
    """

    store: Store
    fingerprint: str

    def renew(self, now: ClockReading) -> None:
        """Write that new files are verified now."""
        write_sign(self.store, self._name, now)

    def release(self) -> None:
        """Write that the new files are verified."""
        self.store.delete(self._name)

    def is_held(self, now: ClockReading) -> bool:
        """Whether the sign was renewed in the last 30 s."""
        last = read_sign(self.store, self._name)
        return last is not None and is_fresh(last, now)

    @property
    def _name(self) -> str:
        return f"lanes/{self.fingerprint}.json"
