"""Who goes first on a key: a pass with new files says so, and sweeps with the same key look at each heartbeat."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime

from proofsweep.domain.runs import ClockReading, is_fresh
from proofsweep.storage.results.legs import boot_id
from proofsweep.storage.results.store import Store


@dataclass(frozen=True, slots=True)
class LaneClaim:
    """The claim of passes on the lane of one key, in the ingest store.

    Passes over several folders share it: each renews it, and it is fresh while one of them does.
    """

    store: Store
    fingerprint: str

    def renew(self, now: ClockReading) -> None:
        """Say that new files are verified now."""
        document = {"at": now.at.isoformat(), "uptime_seconds": now.uptime_seconds, "boot": boot_id()}
        self.store.replace(self._name, json.dumps(document).encode())

    def release(self) -> None:
        """Say that the new files are verified."""
        self.store.delete(self._name)

    def is_held(self, now: ClockReading) -> bool:
        """Say whether the claim was renewed in the last 30 s."""
        content = self.store.read(self._name)
        try:
            last = json.loads(content or b"{}")
            reading = ClockReading(datetime.fromisoformat(last["at"]).astimezone(UTC), last["uptime_seconds"])
            return is_fresh(reading, now, same_boot=last["boot"] == boot_id() != "")
        except (ValueError, TypeError, KeyError):
            return False

    @property
    def _name(self) -> str:
        return f"lanes/{self.fingerprint}.json"
