"""The files that a pass takes, as a catalog of their own: a run of them is an ordinary run."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from proofsweep.catalog.ignored import Ignored
from proofsweep.catalog.open_catalog import Catalog
from proofsweep.model.ingest import supplier_of, version_of
from proofsweep.model.items import ManifestRow, raw_bytes
from proofsweep.model.runs import INGEST


class ReadyFiles:
    """Chosen rows of a watched folder, numbered anew, each with its supplier as a tag."""

    kind = INGEST
    reported_run: str | None = None

    def __init__(self, folder: Catalog, rows: Sequence[ManifestRow], supplier_tag: str) -> None:
        self.name, self.location, self.root = folder.name, folder.location, folder.root
        self.ignored = Ignored()
        self._rows = rows
        self._supplier_tag = supplier_tag

    def rows(self) -> Iterator[ManifestRow]:
        """Give the rows from the first, at each call."""
        for number, row in enumerate(self._rows):
            supplier = supplier_of(row.named_audio)
            tags = {} if supplier is None else {self._supplier_tag: supplier}
            yield replace(row, number=number, tags={**row.tags, **tags})

    def digest(self) -> str:
        """Give the hex SHA-256 of the rows' names and versions."""
        digest = hashlib.sha256()
        for row in self._rows:
            facts = (row.named_audio, row.named_sidecar, version_of(row))
            digest.update(b"\0".join(map(raw_bytes, facts)) + b"\0\0")
        return digest.hexdigest()
