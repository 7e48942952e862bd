"""What earlier legs and runs left behind: the files that could be read, and the items that were accepted."""

from array import array
from bisect import bisect_left
from collections.abc import Sequence

import pyarrow.compute as pc

from proofsweep.domain.runs import Plan
from proofsweep.storage.locations import is_bucket, root_and_key
from proofsweep.storage.results.plans_and_parts import Results


class PastAnswers:
    """Says which items were accepted the last time; the first call reads the store. One thread at a time may ask.

    The last time is the newest earlier run of the same catalog and environment that accepted anything.
    """

    def __init__(self, results: Results, plan: Plan) -> None:
        self._results = results
        self._plan = plan
        self._accepted: Sequence[int] | None = None

    def was_accepted(self, item_id: str) -> bool:
        """Say whether the item's last answer was an acceptance; ResultsError if the store cannot be read."""
        if self._accepted is None:
            self._accepted = self._read()
        hashed = hash(item_id)
        place = bisect_left(self._accepted, hashed)
        return place < len(self._accepted) and self._accepted[place] == hashed

    def file_read_in(self, root: str) -> str | None:
        """Name an audio file of a bucket that an earlier leg of this run read to its end; None if there is none."""
        for name in self._results.parts_of("verdicts", self._plan):
            part = self._results.table("verdicts", [name], ["audio", "audio_sha256"])
            for location in part["audio"].filter(pc.is_valid(part["audio_sha256"])).to_pylist():
                if isinstance(location, str) and is_bucket(location) and root_and_key(location)[0] == root:
                    return location
        return None

    def _read(self) -> Sequence[int]:
        """Keep eight bytes for each item, since a catalog may have millions."""
        for run_id in reversed(self._results.run_ids()):
            if run_id < self._plan.run_id and self._is_alike(plan := self._results.plan(run_id)):
                accepted = self._accepted_in(plan)
                if accepted:
                    return array("q", sorted(accepted))
        return array("q")

    def _is_alike(self, plan: Plan) -> bool:
        return (plan.catalog, plan.environment) == (self._plan.catalog, self._plan.environment)

    def _accepted_in(self, plan: Plan) -> list[int]:
        hashes: list[int] = []
        for name in self._results.parts_of("verdicts", plan):
            part = self._results.table("verdicts", [name], ["item_id", "accepted"])
            hashes.extend(hash(item_id) for item_id in part["item_id"].filter(part["accepted"]).to_pylist())
        return hashes
