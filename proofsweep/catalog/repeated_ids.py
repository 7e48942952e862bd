"""Find rows that have one id and different audio, or one audio and different sidecars: an item has one row."""

from array import array
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_SUSPECTS = 1_000  # rows that are looked at again at once


class RepeatedIds:
    """Takes each id with its audio, or each audio with its sidecar, in sixteen bytes a row."""

    def __init__(self) -> None:
        self._ids, self._audio = array("q"), array("q")

    def add(self, item_id: str, audio: str) -> None:
        """Take a row."""
        self._ids.append(hash(item_id))
        self._audio.append(hash(audio))

    def hashes(self) -> frozenset[int]:
        """Return the hashes of the ids that have different audio."""
        return frozenset(self._ids[row.as_py()] for row in self._rows_of_other_audio())

    def suspects(self) -> Iterator["SuspectIds"]:
        """Yield ids that seem to have different audio, those of the first rows first; the text must show it."""
        rows = self._rows_of_other_audio()
        for start in range(0, len(rows), _SUSPECTS):
            yield SuspectIds(self._ids[row.as_py()] for row in rows[start : start + _SUSPECTS])

    def _rows_of_other_audio(self) -> "pa.Array[Any]":
        ids, audio = map(_numbers, (self._ids, self._audio))
        order = pc.array_sort_indices(ids)
        ids, audio = ids.take(order), audio.take(order)
        is_other = pc.and_(pc.equal(ids[1:], ids[:-1]), pc.not_equal(audio[1:], audio[:-1]))
        rows = order[1:].filter(is_other).cast(pa.int64())
        return rows.take(pc.array_sort_indices(rows))


def _numbers(hashes: "array[int]") -> "pa.Array[Any]":
    return pa.Int64Array.from_buffers(pa.int64(), len(hashes), [None, pa.py_buffer(hashes)])


class SuspectIds:
    """Some ids, by their hashes; two rows of one id and different audio are a finding."""

    def __init__(self, hashes: Iterable[int]) -> None:
        self._hashes = frozenset(hashes)
        self._first: dict[str, tuple[str, str]] = {}

    def earlier(self, item_id: str, audio: str, where: str) -> str | None:
        """Return where an earlier row has this id with other audio; None if there is none."""
        if hash(item_id) not in self._hashes:
            return None
        known_audio, known_where = self._first.setdefault(item_id, (audio, where))
        return None if known_audio == audio else known_where
