"""What earlier legs and runs left behind: the files that could be read, and the items that were accepted."""

from collections.abc import Iterator
from contextlib import suppress

import pyarrow.compute as pc

from proofsweep.domain.runs import Plan
from proofsweep.errors import ResultsError
from proofsweep.storage.locations import is_bucket, root_and_key
from proofsweep.storage.results.newest_answers import HashedItems, answered_items
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.storage.results.run_index import RunIndex
from proofsweep.storage.results.snapshot import Snapshot, missing_legs


class PastAnswers:
    """Says which items were accepted the last time; the first call reads the store. One thread at a time may ask.

    The last time is the item's newest answer in this environment that another run had. A store whose snapshot is not
    whole yet is asked for the newest earlier run of the same catalog that accepted anything.
    """

    def __init__(self, results: Results, plan: Plan) -> None:
        self._results = results
        self._plan = plan
        self._accepted: HashedItems | None = None

    def was_accepted(self, item_id: str) -> bool:
        """Say whether the item's last answer was an acceptance; ResultsError if the store cannot be read."""
        if self._accepted is None:
            self._accepted = self._read()
        return item_id in self._accepted

    def file_read_in(self, root: str) -> str | None:
        """Name an audio file of a bucket that an earlier leg of this run read to its end; None if there is none."""
        for name in self._results.parts_of("verdicts", self._plan):
            part = self._results.table("verdicts", [name], ["audio", "audio_sha256"])
            for location in part["audio"].filter(pc.is_valid(part["audio_sha256"])).to_pylist():
                if isinstance(location, str) and is_bucket(location) and root_and_key(location)[0] == root:
                    return location
        return None

    def _read(self) -> HashedItems:
        """Read the snapshot; runs of the catalog instead if it is not whole, or if it cannot be read."""
        with suppress(ResultsError):
            if self._is_whole():
                other = pc.field("accepted") & (pc.field("run_id") != self._plan.run_id)
                return HashedItems(answered_items(self._results, self._plan.environment, other))
        for run_id in reversed(self._results.store.folders("_runs")):
            if run_id < self._plan.run_id and self._is_alike(run_id):
                accepted = HashedItems(self._accepted_in(self._results.plan(run_id)))
                if len(accepted):
                    return accepted
        return HashedItems([])

    def _is_whole(self) -> bool:
        index = RunIndex(self._results).read()
        entries = Snapshot(self._results.store).entries()
        return bool(index.complete_to) and not any(missing_legs(entries, index.newest_first()))

    def _is_alike(self, run_id: str) -> bool:
        try:
            plan = self._results.plan(run_id)
        except ResultsError:  # it was never planned to its end
            return False
        return (plan.catalog, plan.environment) == (self._plan.catalog, self._plan.environment)

    def _accepted_in(self, plan: Plan) -> Iterator[str]:
        for name in self._results.parts_of("verdicts", plan):
            part = self._results.table("verdicts", [name], ["item_id", "accepted"])
            yield from map(str, part["item_id"].filter(part["accepted"]).to_pylist())
