"""Rows of earlier runs as a catalog of their own: a run of just these is an ordinary run."""

from proofsweep.catalog.catalog import Catalog, PartOfCatalog
from proofsweep.model.runs import REDRIVE


class RedrivenRows(PartOfCatalog):
    """Chosen rows of a catalog, as a manifest of a moment has them; the run bears the name of the catalog."""

    def __init__(self, rows: Catalog, location: str) -> None:
        """Take the rows, and the location of their catalog."""
        super().__init__(rows)
        self.kind, self.location = REDRIVE, location
