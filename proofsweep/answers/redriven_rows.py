"""Rows of earlier runs as a catalog of their own: a run of just these is an ordinary run."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from proofsweep.answers.export import export
from proofsweep.answers.views.selected_rows import SelectedRows
from proofsweep.catalog.catalog import Catalog, PartOfCatalog
from proofsweep.catalog.open_catalog import open_catalog
from proofsweep.errors import ResultsError, UsageError
from proofsweep.files.locations import one_line
from proofsweep.model.declared import Declared
from proofsweep.model.items import ManifestRow, WorkItem
from proofsweep.model.reading import Reading
from proofsweep.model.runs import REDRIVE, shard_of


class RedrivenRows(PartOfCatalog):
    """Chosen rows of a catalog, as a manifest of a moment has them; the run bears the name of the catalog."""

    def __init__(self, rows: Catalog, location: str, planned: Mapping[str, WorkItem] | None = None) -> None:
        """Take the rows, the location of their catalog, and by ID the items of which something was declared."""
        super().__init__(rows)
        self.kind, self.location = REDRIVE, location
        self._planned = planned or {}

    def rows(self) -> Iterator[ManifestRow]:
        """Yield the rows, with what was declared of the files that are still the planned ones."""
        for row in super().rows():
            item = self._planned.get(row.item_id or "")
            if item is None or item.declared is None or item.audio_version != row.audio_version:
                yield row
            else:
                yield replace(row, declared=(row.declared or Declared()).with_others(item.declared))


@contextmanager
def redriven_rows(selected: SelectedRows, environment: str) -> Iterator[RedrivenRows]:
    """Return chosen rows of an environment as a catalog: each keeps its item's id and its tags.

    Raises:
        UsageError: there is no such row, or they are of several catalogs or of another environment.
    """
    if selected.environment != environment:
        raise UsageError(
            f"These rows are of the environment {selected.environment!r}, and the settings are for {environment!r}: "
            "give the config of that environment."
        )
    with TemporaryDirectory(prefix="proofsweep-") as folder:
        exported = export(selected, Path(folder) / "rows.csv")
        if not exported.reports:
            raise UsageError("There is no such row: nothing to verify again.")
        if len(exported.catalogs) > 1:
            named = ", ".join(sorted(one_line(catalog) for catalog, _ in exported.catalogs))
            raise UsageError(f"These rows are of {len(exported.catalogs)} catalogs ({named}): name a run.")
        [(location, root)] = exported.catalogs
        rows = open_catalog(
            str(Path(folder) / "rows.csv"),
            sidecar_names=(),
            root=root,
            is_confined=root is not None,
            reading=Reading(encoding="utf-8"),  # names that are not UTF-8 stay the bytes that they are
        )
        yield RedrivenRows(rows, location, _declared_items(selected))


def _declared_items(selected: SelectedRows) -> dict[str, WorkItem]:
    """Return the planned items of the rows of which something was declared, by ID; a pruned run has none."""
    items: dict[str, WorkItem] = {}
    for plan, table in selected.tables(["manifest_row"]):
        rows = {row for row in table["manifest_row"].to_pylist() if row is not None}
        for shard in sorted({shard_of(plan, row) for row in rows}):
            with suppress(ResultsError):
                found = selected.results.shard_items(plan.run_id, shard)
                items |= {each.item_id: each for each in found if each.declared and each.manifest_row in rows}
    return items
