"""Plan a run: read the catalog, judge each row by its listing, write the shards, then the plan; or count only."""

import os
import posixpath
import secrets
import tempfile
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import starmap, tee

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep import __version__
from proofsweep.config.locations import is_bucket, is_within, one_line, resolved_location, url_of
from proofsweep.domain.errors import CatalogError, ConfigError, NothingDue, ResultsError
from proofsweep.domain.items import ManifestRow, Mode, Row, WorkItem, utf8_text
from proofsweep.domain.reasons import Reason, remedy_for
from proofsweep.domain.runs import INGEST, Plan, new_run_id, shard_items_for
from proofsweep.sources.catalog import Catalog, Cause
from proofsweep.sources.preflight import SizeLimits, judge_name, work_item_of
from proofsweep.store import schemas
from proofsweep.store.known_rows import HashedItems
from proofsweep.store.listings import known_elsewhere, write_gone
from proofsweep.store.parts import Results
from proofsweep.store.rows import planned_row
from proofsweep.store.runs import RunIndex
from proofsweep.verify.credential_check import CredentialCheck
from proofsweep.verify.due_rows import DueRows

# What tells whether a row that cannot be sent is as it was.
UNSENT_KEY = ["item_id", "audio_version", "sidecar_version", "reason", "outcome"]

# Reasons that the content of a file gives: it has them for as long as it stays the same version.
_OF_CONTENT = (Reason.NOT_WAV, Reason.UNLISTED_FORMAT)
_MAY_BE_SENT = ""  # stands for the reason of a row that is sent unless its content says otherwise
_NAMED_FILES = 6  # files that a person looks at to see what is meant
# Of more rows to send nobody asks whether each turned out before to be no audio that can be; 8 bytes each.
_MOST_REPEATED = 100_000


@dataclass(slots=True)
class Survey:
    """What a catalog holds. Sizes are in bytes.

    `doubtful` counts, of the rows that will be sent, those whose names say that they cannot be verified, by reason.
    `keys` identify each row, with the reason for which it cannot be sent; they are empty if very many can be.
    """

    items: int = 0
    eligible: int = 0
    pairs: int = 0
    audio_bytes: int = 0
    largest_bytes: int = 0
    over_slot: int = 0  # rows whose audio is larger than a slot
    reasons: Counter[str] = field(default_factory=Counter)
    formats: Counter[str] = field(default_factory=Counter)  # rows by the ending of the name
    ambiguous: list[str] = field(default_factory=list)  # the first audio files whose sidecar is ambiguous
    doubtful: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)  # of each reason, what is wrong with the first row
    declared: int = 0  # rows to send of which a digest or the size is declared, and compared before the verdict
    touched: int = 0  # rows to send whose bytes are compared with those of their answer first
    touched_bytes: int = 0
    keys: "array[int]" = field(default_factory=lambda: array("q"), repr=False)
    ids: "array[int]" = field(default_factory=lambda: array("q"), repr=False)  # hashes of all items

    def note(self, item: WorkItem, slot_bytes: int) -> None:
        ending = ending_of(item)
        size = item.audio_bytes or 0
        self.items += 1
        self.ids.append(hash(item.item_id))
        self.formats[ending] += 1
        self.over_slot += size > slot_bytes
        self.largest_bytes = max(self.largest_bytes, size)
        if item.ineligible is not None:
            reason = str(item.ineligible.reason)
            self.reasons[reason] += 1
            self.examples.setdefault(reason, item.ineligible.detail)
            if item.ineligible.reason is Reason.AMBIGUOUS_SIDECAR and len(self.ambiguous) < _NAMED_FILES:
                self.ambiguous.append(utf8_text(item.audio))
            self._note_key(item, reason)
            return
        self.eligible += 1
        self._note_key(item, _MAY_BE_SENT)
        doubt = judge_name(ending, item.mode)
        if doubt is not None:
            self.doubtful[str(doubt.reason)] += 1
        self.pairs += item.mode is Mode.LEGACY_PAIR
        self.audio_bytes += size
        self.declared += bool(item.declared)
        self.touched += item.is_touched
        self.touched_bytes += size * item.is_touched

    def _note_key(self, item: WorkItem, reason: str) -> None:
        if self.eligible <= _MOST_REPEATED:
            self.keys.append(_key(item.item_id, item.audio_version, item.sidecar_version, reason))
        else:
            del self.keys[:]


def survey_catalog(catalog: Catalog, limits: SizeLimits, check: CredentialCheck | None = None) -> Survey:
    survey = Survey()
    for item in items_of(catalog.rows(), catalog.name, limits, check):
        survey.note(item, limits.one_file)
    return survey


@dataclass(frozen=True, slots=True)
class UnsentRow:
    where: str  # the manifest and the line; empty in a folder
    file: str  # the audio as seen from the catalog's root; empty if the row names none
    reason: str
    detail: str

    @property
    def what_to_do(self) -> str:
        return remedy_for(self.reason)


def unsent_rows(catalog: Catalog, limits: SizeLimits, check: CredentialCheck | None = None) -> Iterator[UnsentRow]:
    rows, same_rows = tee(catalog.rows())
    for row, item in zip(rows, items_of(same_rows, catalog.name, limits, check), strict=True):
        if (unfit := item.ineligible) is not None:
            file = (item.relative_path or utf8_text(item.audio)) if item.audio else ""
            yield UnsentRow(row.where, file, str(unfit.reason), unfit.detail.removeprefix(f"{row.where}: "))


def refuse_hopeless(survey: Survey, catalog: Catalog) -> None:
    """Refuse a catalog of which no row can be sent for a reason that a person corrects at once.

    If rows were left out, it is not the whole catalog that cannot be sent.

    Raises:
        ConfigError: each row has a sidecar, and the sidecar's wire name is not set.
        CatalogError: every row leads outside the catalog's root; a pass over a watched folder says so of each file.
    """
    if catalog.skipped or not survey.items:
        return
    if survey.reasons[Reason.SIDECAR_FIELD_UNKNOWN] == survey.items:
        raise ConfigError(
            f"The catalog holds nothing but legacy pairs ({survey.items:,}), and the sidecar's wire name is not set: "
            "ask the partner for it and set service.sidecar_field."
        )
    if survey.reasons[Reason.OUTSIDE_CATALOG] == survey.items and catalog.kind != INGEST:
        root = one_line(posixpath.join(catalog.root or "", ""))
        raise CatalogError(
            f"{catalog.location}: every row ({survey.items:,}) leads outside the catalog's root {root}: if that is "
            "meant, give --root with the folder that holds the files (--root / for all of this machine), or "
            "--allow-outside"
        )


def refuse_repeated(survey: Survey, catalog: Catalog, before: Callable[[], Iterable[pa.Table]]) -> None:
    """Refuse to plan rows of which none can be sent, each for the reason that an earlier run gave.

    A file that an earlier run has opened, and found to be of a format that cannot be sent, is one while its version
    stays the same. `before` reads what is known of rows, with the columns `UNSENT_KEY`.

    Raises:
        NothingDue: they are as they were; nobody learns anything from another run.
    """
    if not survey.keys:
        return
    known = HashedItems.of_hashes(array("q", (key for table in before() for key in _keys_in(table))))
    if all(known.has_hash(key) for key in survey.keys):
        rows = f"rows that cannot be sent, each for the same reason as before: {survey.items:,}"
        raise NothingDue(f"{catalog.location}: nothing is due; {rows}", skipped=catalog.skipped + survey.items)


def _keys_in(table: pa.Table) -> Iterator[int]:
    unsent = table.filter(pc.field("outcome") == "ineligible")
    is_lasting = pc.field("reason").isin(_OF_CONTENT) & pc.field("audio_version").is_valid()
    lasting = unsent.filter(is_lasting)
    lasting = lasting.set_column(lasting.column_names.index("reason"), "reason", pa.repeat(_MAY_BE_SENT, len(lasting)))
    for rows in (unsent, lasting):
        columns = (rows[name].to_pylist() for name in UNSENT_KEY[:-1])
        yield from starmap(_key, zip(*columns, strict=True))


def _key(item_id: str, audio_version: str | None, sidecar_version: str | None, reason: str) -> int:
    return hash((item_id, audio_version, sidecar_version, reason))


def items_of(
    rows: Iterable[ManifestRow], catalog_name: str, limits: SizeLimits, check: CredentialCheck | None = None
) -> Iterator[WorkItem]:
    """Turn a catalog's rows into work items, each judged by its listing, and perhaps by a look for its credential."""
    items = (work_item_of(row, catalog_name, limits) for row in rows)
    return items if check is None else check.judged(items)


def ending_of(item: WorkItem) -> str:
    """Return the ending of the audio's name, in lower case and printable."""
    name = item.audio.rpartition("/")[2]
    if item.audio.endswith("/"):
        return "folder"
    return utf8_text(name.rpartition(".")[2].lower()) if "." in name else "no ending"


@dataclass(frozen=True, slots=True)
class Surveyed:
    listing: Catalog
    survey: Survey

    @property
    def ignored(self) -> dict[str, int]:
        return ignored_entries(self.listing)


def ignored_entries(catalog: Catalog) -> dict[str, int]:
    """Count the entries of a scan that gave no item, by cause; leave out causes that did not occur."""
    return {cause.value: count for cause in Cause if (count := catalog.ignored[cause])}


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
            spool.add(planned_row(item))
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
        tag_names=[*dict.fromkeys(map(utf8_text, request.catalog.tag_names()))],
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
