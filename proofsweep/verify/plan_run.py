"""Plan a run: read the catalog, judge each row by its listing, write the shards, then the plan."""

import os
import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import datetime

import pyarrow as pa

from proofsweep import __version__
from proofsweep.config.locations import is_bucket, is_within, one_line, resolved_location, url_of
from proofsweep.domain.errors import CatalogError, ResultsError
from proofsweep.domain.items import printable
from proofsweep.domain.runs import INGEST, Plan, new_run_id, shard_items_for
from proofsweep.sources.catalog import Catalog
from proofsweep.sources.preflight import SizeLimits
from proofsweep.store.known_rows import HashedItems
from proofsweep.store.listings import known_elsewhere, write_gone
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.runs import RunIndex
from proofsweep.store.tables import planned_items, schemas
from proofsweep.store.tables.columns import Row
from proofsweep.verify.credential_check import CredentialCheck
from proofsweep.verify.due_rows import DueRows
from proofsweep.verify.survey import Survey, ignored_entries, items_of

_SPOOL_ROWS = 1_000  # rows in memory before they go to disk


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """What to plan, and for which service.

    `before_writing` is called when the catalog is read and counted; if it raises, nothing was written.
    """

    catalog: Catalog
    limits: SizeLimits
    environment: str
    base_url: str
    before_writing: Callable[[Survey], None]
    claim: str | None = None  # the last claim on the catalog; None if nobody looked
    identity: str = ""  # what the runs of one catalog have in common
    selection: str = ""  # the options by which rows were chosen; empty for all rows
    credential_check: CredentialCheck | None = None  # leaves out WAVs without a credential; None to ask for each
    run_id: str | None = None  # None draws one


def plan_run(request: PlanRequest, results: Results, now: datetime) -> Plan:
    """Write a run's shards and then its plan; without a plan there is no run.

    Raises:
        CatalogError: the catalog cannot be read, or is empty; nothing was written.
        ResultsError: the results store cannot be written.
    """
    run_id = request.run_id or new_run_id(now, secrets.token_hex(3))
    survey = Survey()
    with tempfile.TemporaryDirectory(prefix="proofsweep-") as folder, closing(_Spool(folder)) as spool:
        catalog = request.catalog
        for item in items_of(catalog.rows(), catalog.name, request.limits, request.credential_check):
            survey.note(item, request.limits.one_file)
            spool.add(planned_items.planned_row(item))
        request.before_writing(survey)
        for shard, table in enumerate(spool.tables(shard_items_for(survey.items))):
            results.write_shard(run_id, shard, table)
    if isinstance(request.catalog, DueRows) and request.catalog.skipped:
        listing = request.catalog.listing
        write_gone(results, run_id, listing, request.environment, request.identity or request.catalog.location)
        listing.write(results, run_id)
    plan = _plan_of(request, survey, run_id, now)
    if request.identity != resolved_location(catalog.location) and catalog.reported_run is None:
        before = lists_before(results, catalog, survey, request.environment, request.identity)
        plan = replace(plan, retired=[each.identity for each, _ in before])
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
        catalog_root=None if request.catalog.root is None else url_of(request.catalog.root),
        skipped=request.catalog.skipped,
        unmet=request.catalog.unmet if isinstance(request.catalog, DueRows) else 0,
        selection=request.selection,
        catalog_identity=request.identity,
        catalog_claim=request.claim,
        tag_names=[*dict.fromkeys(map(printable, request.catalog.tag_names()))],
    )


def identity_of(results: Results, catalog: Catalog, name: str | None) -> str:
    """Return what the runs of one catalog have in common: the name it was given, else its location without links.

    A completion report is a part of the catalog of its run.
    """
    if name is not None:
        return name
    with suppress(ResultsError):  # the run is of another store
        if catalog.reported_run is not None:
            return results.plan(catalog.reported_run).identity
    return resolved_location(catalog.location)


def lists_before(
    results: Results, catalog: Catalog, survey: Survey, environment: str, identity: str
) -> list[tuple[Plan, int]]:
    """Return plans of other lists of a manifest's root that know most of its rows, and how many they know."""
    if catalog.kind != "manifest" or catalog.root is None:
        return []
    items = catalog.listing.items if isinstance(catalog, DueRows) else HashedItems.of_hashes(survey.ids)
    found = known_elsewhere(results, environment, identity, url_of(catalog.root), items)
    return [(run.plan, known) for run, known in found]


def catalog_has_changed(plan: Plan, open_catalog: Callable[[], Catalog]) -> bool:
    """Return whether the catalog is not what it was when the run was planned; one that is gone has changed too.

    The files of an ingest pass are a part of their catalog; each is compared with its plan when read.
    """
    try:
        return plan.catalog_kind != INGEST and open_catalog().digest() != plan.catalog_digest
    except CatalogError:
        return True


class _Spool:
    """Planned rows on local disk: the size of a shard is known only when all rows are counted."""

    def __init__(self, folder: str) -> None:
        self._path = f"{folder}/items"
        self._waiting: list[Row] = []
        self._writer = pa.ipc.new_file(self._path, schemas.ITEMS)

    def close(self) -> None:
        self._writer.close()

    def add(self, row: Row) -> None:
        self._waiting.append(row)
        if len(self._waiting) == _SPOOL_ROWS:
            self._write()

    def tables(self, rows_each: int) -> Iterator[pa.Table]:
        self._write()
        self.close()
        with pa.OSFile(self._path, "rb") as content:
            spooled = pa.ipc.open_file(content)
            batches = (spooled.get_batch(number) for number in range(spooled.num_record_batches))
            waiting = schemas.ITEMS.empty_table()
            for batch in batches:
                waiting = pa.concat_tables([waiting, pa.Table.from_batches([batch])])
                while waiting.num_rows >= rows_each:
                    yield waiting.slice(0, rows_each)
                    waiting = waiting.slice(rows_each)
            if waiting.num_rows:
                yield waiting

    def _write(self) -> None:
        if self._waiting:
            self._writer.write_batch(pa.RecordBatch.from_pylist(self._waiting, schema=schemas.ITEMS))
            self._waiting = []


_KEEP_APART = "give each its own (results.url or --results)"


def cautions_of(results: Results, environment: str, catalog: str) -> list[str]:
    """Return what is unwise about a catalog's location and a results store together.

    Raises:
        ResultsError: the store cannot be read.
    """
    store = results.store
    cautions = []
    if _lies_in(store.url, catalog):
        cautions.append(
            f"The results store {one_line(store.url)} lies inside the catalog's folder, so each scan reads it too: "
            "choose a place beside it (results.url or --results)."
        )
    runs = RunIndex(results).refreshed().newest_first()
    others = sorted({run.plan.environment for run in runs} - {environment}) if store.folders("_runs") else []
    if others:
        cautions.append(
            f"The results store {one_line(store.url)} holds runs of {', '.join(map(one_line, others))} too; queries "
            f"over all its tables mix them with those of {one_line(environment)}: {_KEEP_APART}."
        )
    return cautions


def _lies_in(store: str, catalog: str) -> bool:
    if is_bucket(store) or is_bucket(catalog):
        return is_bucket(catalog) and is_within(store, catalog.rstrip("/"))
    return os.path.isdir(catalog) and is_within(os.path.realpath(store), os.path.realpath(catalog))  # noqa: PTH112 - text
