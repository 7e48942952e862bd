"""Each request ID in a row of `verdicts` stands in an exchange of that row, or of the row whose answer it uses."""

from array import array
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from proofsweep.model.exchanges import Call

_COLUMNS = ((Call.UPLOADS, "uploads_request_id"), (Call.VERIFY, "verify_request_id"))


class RequestIds:
    """Collects 64-bit hashes of what rows name, then looks for them in exchanges: two numbers for each row of a run."""

    def __init__(self) -> None:
        self._named = array("q")
        self._sorted: npt.NDArray[np.int64] | None = None
        self._is_found = np.zeros(0, dtype=bool)

    def add(self, verdicts: pa.Table) -> None:
        """Take what the rows of one part name; all parts come before the first exchanges."""
        rows = verdicts["manifest_row"].to_pylist()
        others = verdicts["answered_by_row"].to_pylist()
        owners = [row if other is None else other for row, other in zip(rows, others, strict=True)]
        for call, column in _COLUMNS:
            self._named.extend(_hashes(str(call), owners, verdicts[column].to_pylist()))

    def find_in(self, exchanges: pa.Table) -> None:
        """Look for them in one part of `exchanges`."""
        named = self._sort()
        cells = exchanges.select(["call", "manifest_row", "request_id"]).to_pydict()
        rows = zip(*cells.values(), strict=True)
        found = np.fromiter(map(hash, rows), dtype=np.int64, count=exchanges.num_rows)
        places = np.searchsorted(named, found)
        places, found = places[places < len(named)], found[places < len(named)]
        self._is_found[places[named[places] == found]] = True

    def missing(self) -> int:
        """Count those that were not found."""
        return len(self._sort()) - int(self._is_found.sum())

    def _sort(self) -> npt.NDArray[np.int64]:
        if self._sorted is None:
            named = np.frombuffer(self._named, dtype=np.int64)
            named.sort()  # in its place: there may be tens of millions
            is_first = np.ones(len(named), dtype=bool)
            is_first[1:] = named[1:] != named[:-1]
            self._sorted = named[is_first]
            self._is_found = np.zeros(len(self._sorted), dtype=bool)
            self._named = array("q")
        return self._sorted


def _hashes(call: str, owners: list[int | None], request_ids: list[str | None]) -> Iterator[int]:
    pairs = zip(owners, request_ids, strict=True)
    return (hash((call, owner, request_id)) for owner, request_id in pairs if request_id is not None)
