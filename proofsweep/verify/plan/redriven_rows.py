"""Rows of earlier runs as a catalog of their own: a run of just these is an ordinary run."""

from collections.abc import Iterator

from proofsweep.catalog.open_catalog import Catalog
from proofsweep.model.items import ManifestRow
from proofsweep.model.runs import REDRIVE


class RedrivenRows:
    """Chosen rows of a catalog, as a manifest of a moment has them; the run bears the name of the catalog."""

    kind = REDRIVE

    def __init__(self, rows: Catalog, location: str) -> None:
        """Take the rows, and the location of their catalog."""
        self.name, self.root, self.ignored = rows.name, rows.root, rows.ignored
        self.location, self.reported_run = location, rows.reported_run
        self._rows = rows

    def rows(self) -> Iterator[ManifestRow]:
        """Return the rows from the first, at each call; CatalogError if one cannot be read."""
        return self._rows.rows()

    def digest(self) -> str:
        """Return the hex SHA-256 of the rows as they were chosen."""
        return self._rows.digest()
