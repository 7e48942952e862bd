"""Plan a run: read the catalog, judge each row by its listing, write the shards, and last the plan."""

import secrets
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Self

import pyarrow as pa

from proofsweep import __version__
from proofsweep.batch.items import Mode, WorkItem, printable
from proofsweep.batch.preflight import SizeLimits, work_item_of
from proofsweep.batch.rows import items
from proofsweep.batch.rows.columns import Row
from proofsweep.batch.runs import Plan, new_run_id, shard_items_for
from proofsweep.errors import CatalogError
from proofsweep.storage.catalogs import Catalog
from proofsweep.storage.results import Results

_SPOOL_ROWS = 1_000


@dataclass(slots=True)
class Survey:
    """What a catalog holds, counted while its rows go by. Sizes are in bytes."""

    items: int = 0
    eligible: int = 0
    pairs: int = 0
    audio_bytes: int = 0
    largest_bytes: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    extensions: Counter[str] = field(default_factory=Counter)
    over_slot: int = 0

    def note(self, item: WorkItem, slot_bytes: int) -> None:
        """Count one item."""
        self.items += 1
        self.extensions[printable(_extension(item.audio))] += 1
        self.over_slot += (item.audio_bytes or 0) > slot_bytes
        self.largest_bytes = max(self.largest_bytes, item.audio_bytes or 0)
        if item.ineligible is not None:
            self.reasons[str(item.ineligible.reason)] += 1
            return
        self.eligible += 1
        self.pairs += item.mode is Mode.LEGACY_PAIR
        self.audio_bytes += item.audio_bytes or 0


def survey_catalog(catalog: Catalog, limits: SizeLimits) -> Survey:
    """Count what a catalog holds; sends nothing and writes nothing."""
    survey = Survey()
    for item in _items(catalog, limits):
        survey.note(item, limits.one_file)
    return survey


def plan_run(
    catalog: Catalog, results: Results, limits: SizeLimits, *, environment: str, base_url: str, now: datetime
) -> Plan:
    """Write a run's shards and then its plan; before the plan is there, the run is not.

    Raises:
        CatalogError: the catalog cannot be read, or is empty; nothing was written.
        ResultsError: the results store cannot be written.
    """
    run_id = new_run_id(now, secrets.token_hex(3))
    survey = Survey()
    with tempfile.TemporaryDirectory(prefix="proofsweep-") as folder, _Spool(Path(folder) / "items") as spool:
        for item in _items(catalog, limits):
            survey.note(item, limits.one_file)
            spool.add(items.planned_row(item))
        if survey.items == 0:
            raise CatalogError(f"{catalog.location}: the catalog is empty")
        shard_items = shard_items_for(survey.items)
        shards = 0
        for shards, table in enumerate(spool.tables(shard_items), start=1):
            results.write_shard(run_id, shards - 1, table)
    plan = Plan(
        run_id=run_id,
        created_at=now.isoformat(),
        environment=environment,
        base_url=base_url,
        catalog=catalog.location,
        catalog_kind=catalog.kind,
        catalog_digest=catalog.digest(),
        items=survey.items,
        eligible=survey.eligible,
        pairs=survey.pairs,
        audio_bytes=survey.audio_bytes,
        shard_items=shard_items,
        shards=shards,
        reasons=dict(survey.reasons),
        passed_over=passed_over(catalog),
        proofsweep_version=__version__,
    )
    results.write_plan(plan)
    return plan


def passed_over(catalog: Catalog) -> dict[str, int]:
    """Count what a scan took for no item, by cause; only causes that occurred."""
    seen = catalog.passed_over
    counts = {"not_audio": seen.not_audio, "orphan_sidecars": seen.orphan_sidecars, "unreadable": seen.unreadable}
    return {cause: count for cause, count in counts.items() if count}


def _items(catalog: Catalog, limits: SizeLimits) -> Iterator[WorkItem]:
    return (work_item_of(row, catalog.name, limits) for row in catalog.rows())


def _extension(location: str) -> str:
    name = location.rpartition("/")[2]
    return f".{name.rpartition('.')[2].lower()}" if "." in name else "none"


class _Spool:
    """Planned rows on local disk: how many a shard holds is known only when all have been counted."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._waiting: list[Row] = []
        self._writer = pa.ipc.new_file(str(path), items.SCHEMA)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()

    def add(self, row: Row) -> None:
        self._waiting.append(row)
        if len(self._waiting) == _SPOOL_ROWS:
            self._write()

    def tables(self, rows_each: int) -> Iterator[pa.Table]:
        """Give everything that was added, in tables of so many rows."""
        self._write()
        self._writer.close()
        with pa.memory_map(str(self._path)) as content:
            whole = pa.ipc.open_file(content).read_all()
            yield from (whole.slice(first, rows_each) for first in range(0, whole.num_rows, rows_each))

    def _write(self) -> None:
        if self._waiting:
            self._writer.write_batch(pa.RecordBatch.from_pylist(self._waiting, schema=items.SCHEMA))
            self._waiting = []
