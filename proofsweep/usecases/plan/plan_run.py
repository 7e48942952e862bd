"""Plan a run: read the catalog, judge each row by its listing, write the shards, and last the plan."""

import secrets
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Self

import pyarrow as pa

from proofsweep import __version__
from proofsweep.domain.preflight import SizeLimits
from proofsweep.domain.runs import Plan, new_run_id, shard_items_for
from proofsweep.domain.tables import planned_items, schemas
from proofsweep.domain.tables.columns import Row
from proofsweep.storage.catalog.open_catalog import Catalog
from proofsweep.storage.results.results import Results
from proofsweep.usecases.plan.survey import Survey, format_by_name, ignored_entries, items_of

_SPOOL_ROWS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """What a run is asked to do, and for which service.

    Attributes:
        before_writing: called when the catalog was read and counted; what it raises leaves the store untouched.
    """

    catalog: Catalog
    limits: SizeLimits
    environment: str
    base_url: str
    before_writing: Callable[[Survey], None]


def plan_run(request: PlanRequest, results: Results, now: datetime) -> Plan:
    """Write a run's shards and then its plan; before the plan is there, the run is not.

    Raises:
        CatalogError: the catalog cannot be read, or is empty; nothing was written.
        ResultsError: the results store cannot be written.
    """
    run_id = new_run_id(now, secrets.token_hex(3))
    survey = Survey()
    with tempfile.TemporaryDirectory(prefix="proofsweep-") as folder, _Spool(Path(folder) / "items") as spool:
        for item in items_of(request.catalog, request.limits):
            survey.note(item, format_by_name(item), request.limits.one_file)
            spool.add(planned_items.planned_row(item))
        request.before_writing(survey)
        for shard, table in enumerate(spool.tables(shard_items_for(survey.items))):
            results.write_shard(run_id, shard, table)
    plan = _plan_of(request, survey, run_id, now)
    results.write_plan(plan)
    return plan


def _plan_of(request: PlanRequest, survey: Survey, run_id: str, now: datetime) -> Plan:
    shard_items = shard_items_for(survey.items)
    return Plan(
        run_id=run_id,
        created_at=now.isoformat(),
        environment=request.environment,
        base_url=request.base_url,
        catalog=request.catalog.location,
        catalog_kind=request.catalog.kind,
        catalog_digest=request.catalog.digest(),
        items=survey.items,
        eligible=survey.eligible,
        pairs=survey.pairs,
        audio_bytes=survey.audio_bytes,
        shard_items=shard_items,
        shards=-(-survey.items // shard_items),
        reasons=dict(survey.reasons),
        ignored=ignored_entries(request.catalog),
        proofsweep_version=__version__,
    )


class _Spool:
    """Planned rows on local disk: how many a shard holds is known only when all have been counted."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._waiting: list[Row] = []
        self._writer = pa.ipc.new_file(str(path), schemas.ITEMS)

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
            self._writer.write_batch(pa.RecordBatch.from_pylist(self._waiting, schema=schemas.ITEMS))
            self._waiting = []
