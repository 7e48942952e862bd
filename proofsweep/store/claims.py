"""Claims: the one leg that works on a catalog."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from proofsweep.domain.errors import NameTaken, RunIsActive
from proofsweep.store import layout
from proofsweep.store.legs import Legs
from proofsweep.store.plans_and_parts import Results


@dataclass(frozen=True, slots=True)
class CatalogClaims:
    """The claims on one catalog in one environment: of its runs, one may make calls. `identity` is that of its plans.

    Each is a small numbered object that names a leg; the last one counts, as long as that leg is alive.
    """

    results: Results
    environment: str
    identity: str
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    def last_inactive(self) -> str:
        """Name the last claim, empty without one; RunIsActive, with run and host, if the leg that it names is alive."""
        self._refuse_if_active(last := self._last(), "")
        return last

    def claim(self, run_id: str, leg: int, planned_after: str | None = None) -> None:
        """Claim the catalog for a leg of this process; RunIsActive if a leg of another run is alive, or was first.

        `planned_after` is the last claim when a run's first leg was planned: a later one of another run may have sent
        the same files. None asks for nothing.
        """
        store, last = self.results.store, self._last()
        self._refuse_if_active(last, run_id)
        if planned_after is not None and last > planned_after and self._claimed_by(last)[0] != run_id:
            first = self._claimed_by(last)[0]
            raise RunIsActive(f"Run {first} of this catalog began before this one; see: proofsweep status {first}")
        number = int(last.rpartition("/")[2].removesuffix(".json") or 0) + 1
        name, content = f"{self._folder}/{number:09}.json", json.dumps({"run_id": run_id, "leg": leg}).encode()
        try:
            store.create(name, content)
        except NameTaken as taken:
            raise self._active(name) from taken
        if store.read(name) != content or self._last() != name:
            raise self._active(self._last())  # the store let two through, or this process slept before it wrote
        if last:
            store.delete(last)

    @property
    def _folder(self) -> str:
        return layout.catalog_folder(self.environment, self.identity)

    def _last(self) -> str:
        return max(self.results.store.names(self._folder), default="")

    def _refuse_if_active(self, name: str, own_run: str) -> None:
        run_id, leg = self._claimed_by(name)  # a leg of the own run is known to be over
        if run_id not in {"", own_run} and Legs(self.results, run_id, self.clock).is_active(leg):
            raise self._active(name)

    def _active(self, name: str) -> RunIsActive:
        run_id, leg = self._claimed_by(name)
        return Legs(self.results, run_id, self.clock).active_error(leg)

    def _claimed_by(self, name: str) -> tuple[str, int]:
        try:
            found = json.loads((self.results.store.read(name) if name else None) or b"{}")
            return str(found["run_id"]), int(found["leg"])
        except (ValueError, TypeError, KeyError):
            return "", 0
