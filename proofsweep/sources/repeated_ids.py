"""Find rows that have one id and different audio, or one audio and different sidecars: an item has one row."""

from array import array

import pyarrow as pa
import pyarrow.compute as pc


class RepeatedIds:
    """Takes each id with its audio, or each audio with its sidecar, in sixteen bytes a row."""

    def __init__(self) -> None:
        self._ids, self._audio = array("q"), array("q")

    def add(self, item_id: str, audio: str) -> None:
        self._ids.append(hash(item_id))
        self._audio.append(hash(audio))

    def hashes(self, most_rows: int | None = None) -> frozenset[int]:
        """Return the hashes of the ids that seem to have different audio, of the first so many rows of them."""
        ids, audio = (
            pa.Int64Array.from_buffers(pa.int64(), len(each), [None, pa.py_buffer(each)])
            for each in (self._ids, self._audio)
        )
        order = pc.array_sort_indices(ids)
        ids, audio = ids.take(order), audio.take(order)
        is_other = pc.and_(pc.equal(ids[1:], ids[:-1]), pc.not_equal(audio[1:], audio[:-1]))
        rows = order[1:].filter(is_other).cast(pa.int64())
        first = rows.take(pc.array_sort_indices(rows))[:most_rows]
        return frozenset(self._ids[row.as_py()] for row in first)
