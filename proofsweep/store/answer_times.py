"""When items were last tried as they are now; ten million items take some 160 MB."""

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.store.known_rows import known_rows
from proofsweep.store.plans_and_parts import Results

_COLUMNS = ("item_id", "audio_version", "sidecar_version", "epoch", "finished_at", "outcome")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class AnswerTimes:
    """The newest time of each item and version in one environment; the first call reads them.

    Attributes:
        outcomes: rows with other ones do not count.
    """

    def __init__(self, results: Results, environment: str, outcomes: Sequence[str]) -> None:
        self.outcomes = outcomes
        self._results = results
        self._environment = environment
        self._hashes: memoryview | None = None
        self._times = memoryview(b"").cast("q")
        self._count = 0

    def of(self, item_id: str, audio_version: str | None, sidecar_version: str | None) -> datetime | None:
        """Say when an item was tried; None if it was not, or if its audio or its sidecar was another version.

        Raises:
            ResultsError: the store cannot be read.
        """
        if self._hashes is None:
            self._hashes, self._times = self._read()
        hashed = hash((item_id, audio_version, sidecar_version))
        place = bisect_right(self._hashes, hashed, 0, self._count) - 1
        if audio_version is None or place < 0 or self._hashes[place] != hashed:
            return None
        return _EPOCH + timedelta(microseconds=self._times[place])

    def _read(self) -> tuple[memoryview, memoryview]:
        hashes, epochs, times = array("q"), array("i"), array("q")
        is_wanted = pc.field("outcome").isin(self.outcomes) & pc.field("finished_at").is_valid()
        for table in known_rows(self._results, self._environment, _COLUMNS):
            rows = table.filter(is_wanted)
            names = (rows[name].to_pylist() for name in ("item_id", "audio_version", "sidecar_version"))
            hashes.extend(map(hash, zip(*names, strict=True)))
            epochs.extend(int(epoch or 0) for epoch in rows["epoch"].to_pylist())
            times.extend(int(time or 0) for time in pc.cast(rows["finished_at"], pa.int64()).to_pylist())
        columns = {"hash": pa.array(hashes, pa.int64()), "epoch": pa.array(epochs), "time": pa.array(times, pa.int64())}
        self._count = len(hashes)
        order = pc.sort_indices(pa.table(columns), sort_keys=[(name, "ascending") for name in columns])
        return _numbers(columns["hash"].take(order)), _numbers(columns["time"].take(order))


def _numbers(column: pa.Int64Array) -> memoryview:
    """Give whole numbers without an object for each."""
    return memoryview(column.buffers()[1] or b"").cast("q")
