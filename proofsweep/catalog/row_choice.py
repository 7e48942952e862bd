"""Choose rows of a catalog by a person's SQL condition, and by the age of their files."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any

import pyarrow as pa

from proofsweep.conditions import columns_of_condition, judged
from proofsweep.errors import UsageError
from proofsweep.files.locations import one_line
from proofsweep.model.items import ManifestRow, item_id_of, modified_of, printable
from proofsweep.model.tags import spellings_by_key, tag_of

_Column = tuple[pa.DataType, Callable[[ManifestRow], object]]


class RowChoice:
    """Says of each row of a catalog whether it is chosen."""

    def __init__(
        self,
        where: str | None,
        newer_than: datetime | None,
        *,
        catalog_name: str,
        tag_names: Callable[[], list[str]] = list,
    ) -> None:
        """Check the condition.

        Args:
            where: an SQL condition on the columns of the manifest and on what is known of the files; None for any row.
            newer_than: when the audio or the sidecar was modified last, at the earliest; None for any time.
            catalog_name: a part of the IDs of items.
            tag_names: names the tags that rows may have.

        Raises:
            UsageError: it is no condition, or names a column that is not there.
            CatalogError: the columns cannot be read.
        """
        self._where, self._newer_than = where, newer_than
        self._known: Mapping[str, _Column] = {}
        self._named: list[str] = []
        if where is not None:
            tags = spellings_by_key(tag_names())
            facts = {name: column for name, column in _facts_of(catalog_name).items() if name not in tags}
            self._known = facts | {printable(name): (pa.string(), partial(_tag, name)) for name, *_ in tags.values()}
            kinds = {name: kind for name, (kind, _) in self._known.items()}
            self._named = columns_of_condition(where, kinds, self._refusal)

    def judged(self, rows: Iterable[ManifestRow]) -> Iterator[tuple[ManifestRow, bool]]:
        """Yield each row, and whether it is chosen; UsageError if the condition cannot be worked out for one."""
        conditions = [] if self._where is None else [self._where]
        for row, answers in judged(rows, conditions, self._cells_of, self._refusal):
            yield row, all(answers) and self._is_new(row)

    def _cells_of(self, rows: list[ManifestRow]) -> "dict[str, pa.Array[Any]]":
        columns = {name: self._known[name] for name in self._named}
        return {name: pa.array(map(value, rows), kind) for name, (kind, value) in columns.items()}

    def _is_new(self, row: ManifestRow) -> bool:
        """Whether a file was modified late enough; one of which that is not known was not."""
        modified = modified_of(row)
        return self._newer_than is None or (modified is not None and modified > self._newer_than.timestamp())

    def _refusal(self, because: str) -> UsageError:
        there_are = one_line(", ".join(self._known))
        because = one_line(" ".join(because.split()))
        return UsageError(f"--where {one_line(self._where or '')}: {because}. The columns are: {there_are}.")


def _facts_of(catalog_name: str) -> dict[str, _Column]:
    """Return the columns that each row has; one of the manifest goes before one of what is known of the file."""
    text = pa.string()
    return {
        "audio": (text, lambda row: row.audio and printable(row.audio)),
        "sidecar": (text, lambda row: row.sidecar and printable(row.sidecar)),
        "id": (text, lambda row: item_id_of(row, catalog_name)),
        "name": (text, lambda row: printable((row.audio or "").rpartition("/")[2])),
        "folder": (text, lambda row: printable(row.named_audio.rpartition("/")[0])),
        "size": (pa.int64(), lambda row: getattr(row.audio_facts, "size_bytes", None)),
        "modified": (pa.timestamp("us", tz="UTC"), _modified),
    }


def _modified(row: ManifestRow) -> int | None:
    modified = modified_of(row)
    return None if modified is None else int(modified * 1_000_000)


def _tag(name: str, row: ManifestRow) -> str | None:
    value = tag_of(row.tags, name)
    return None if value is None else printable(value)
