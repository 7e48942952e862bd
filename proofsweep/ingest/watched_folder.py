"""A folder that this process watches: where its files may be moved, and how a pass over it begins."""

import os
import posixpath
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from proofsweep.config.locations import is_bucket, one_line, path_of, shown
from proofsweep.domain.errors import CatalogError, ConfigError
from proofsweep.domain.items import ManifestRow, printable
from proofsweep.domain.runs import Plan
from proofsweep.ingest.dispose import Disposal
from proofsweep.ingest.folder import Look, Looked, past_answers
from proofsweep.ingest.ingest_pass import IngestPass
from proofsweep.ingest.move_batches import BatchDisposal
from proofsweep.ingest.records import Records
from proofsweep.ingest.rules import IngestRules
from proofsweep.ingest.watches import Watch
from proofsweep.sources.catalog import Catalog
from proofsweep.sources.files import Files
from proofsweep.sources.moves import Moves
from proofsweep.sources.preflight import SizeLimits
from proofsweep.sources.row_choice import RowChoice
from proofsweep.sources.selection import Selection
from proofsweep.store.lease import Lease, sole_process
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.store import Store
from proofsweep.store.tables.columns import Row
from proofsweep.store.watched import watch_id, watched_ids

_BUSY = "This folder is being worked on by {holder}."


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestContext:
    """What all passes of one store are given."""

    results: Results
    store: Store  # of claims and sightings
    environment: str
    rules: IngestRules
    selection: Selection
    accepted: str | None
    quarantine: str | None
    by_release: bool  # whether the releases of a batch are moved by their own verdicts
    supplier_tag: str
    limits: SizeLimits
    open_catalog: Callable[[str], Catalog]
    plan: Callable[[Catalog, str], Plan]
    clock: Callable[[], datetime]

    def choice(self, catalog_name: str) -> RowChoice:
        """Return what chooses files; UsageError if the selection cannot be used."""
        return RowChoice(self.selection.where, self.selection.modified_since(self.clock()), catalog_name=catalog_name)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedFolder:
    """A folder or prefix that this process watches, and no other one; its path is absolute."""

    context: IngestContext
    path: str
    lease: Lease
    term: int  # of the lease; the next process takes the next one
    disposal: Disposal

    def refuse_if_lost(self) -> None:
        """Raise RunIsActive if another process has taken the folder over, because this one seemed dead."""
        if self.lease.is_superseded(self.term):
            raise self.lease.active_error(self.lease.last())

    def one_pass(self) -> IngestPass:
        """Begin a pass."""
        context, disposal = self.context, self.disposal
        watch = Watch(context.store, self.lease.name)
        return IngestPass(
            results=context.results,
            watch=watch,
            folder=self._folder,
            look=Look(
                files=Files(),
                digest_of=disposal.moves.digest,
                rules=context.rules,
                answers_of=partial(past_answers, context.results, context.environment),
                watched=self.path,
                supplier_tag=context.supplier_tag,
                keeps_answered=disposal.is_wanted,
                targets=[*filter(None, (disposal.quarantine, disposal.accepted))],
            ),
            chosen=self._chosen,
            records=Records(
                results=context.results,
                watch=watch,
                disposal=disposal,
                rules=context.rules,
                environment=context.environment,
                supplier_tag=context.supplier_tag,
                clock=context.clock,
            ),
            batch_disposal=BatchDisposal(disposal=disposal, by_release=context.by_release),
            plan=context.plan,
            limits=context.limits,
            clock=context.clock,
            rest=time.sleep,
            supplier_tag=context.supplier_tag,
        )

    def _chosen(self, looked: Looked) -> list[ManifestRow]:
        choice = self.context.choice(looked.catalog_name)
        return [row for row, is_chosen in choice.judged(looked.ready) if is_chosen]

    def _folder(self) -> Catalog:
        _refuse_unmounted(self.path, self.lease)
        catalog = self.context.open_catalog(self.path)
        if catalog.kind != "folder":
            raise CatalogError(f"{one_line(self.path)}: a manifest is not watched; give a folder, or verify it")
        return catalog


@contextmanager
def watched_folder(context: IngestContext, location: str) -> Iterator[WatchedFolder]:
    """Watch a folder or a bucket's prefix for the work inside.

    Raises:
        CatalogError: the location cannot be watched.
        UsageError: the selection cannot be used.
        ConfigError: the files would be moved to where they are found again.
        RunIsActive: another process watches it.
        ResultsError: the results store cannot be used.
    """
    path = path_of(location, str(Path.cwd())).rstrip("/")
    if not is_bucket(path) and not posixpath.isdir(path):
        raise CatalogError(f"{shown(location, path)}: there is no such folder", catalog=printable(path))
    disposal = _disposal(context, path)
    context.choice("")
    lease = Lease(Results(context.store), watch_id(context.environment, path), context.clock, busy=_BUSY)
    _refuse_unmounted(path, lease)
    facts: Row = {"environment": context.environment, "folder": path, "is_mount": posixpath.ismount(path)}
    with sole_process(lease, facts) as term:
        yield WatchedFolder(context=context, path=path, lease=lease, term=term, disposal=disposal)


def given_up_items(store: Store, rules: IngestRules) -> set[str]:
    """Return the items of all watched folders that no pass tries again; ResultsError if the store cannot be read."""
    return {item for name in watched_ids(store) for item in rules.given_up(Watch(store, name).sightings())}


def _refuse_unmounted(path: str, lease: Lease) -> None:
    """Raise CatalogError if a share was mounted there before, and only the empty folder below it is left."""
    before = lease.holder(lease.last())
    if before and before.facts.get("is_mount") and not posixpath.ismount(path) and not os.listdir(path):  # noqa: PTH208
        raise CatalogError(f"{one_line(path)}: the folder is empty, and no share is mounted", catalog=printable(path))


def _disposal(context: IngestContext, watched: str) -> Disposal:
    accepted = _target(context.accepted, watched, "ingest.accepted")
    quarantine = _target(context.quarantine, watched, "ingest.quarantine")
    if accepted is not None and accepted == quarantine:
        raise ConfigError("ingest.accepted and ingest.quarantine are the same place; give each its own.")
    return Disposal(moves=Moves(Files()), watched=watched, accepted=accepted, quarantine=quarantine)


def _target(location: str | None, watched: str, setting: str) -> str | None:
    if location is None:
        return None
    target = path_of(location, str(Path.cwd())).rstrip("/")
    here, there = (each if is_bucket(each) else os.path.realpath(each) for each in (watched, target))
    if f"{there}/".startswith(f"{here}/") or f"{here}/".startswith(f"{there}/"):
        raise ConfigError(
            f"{setting}: {one_line(target)} and the watched folder {one_line(watched)} lie in one another; files that "
            "are moved there would be found again. Choose a place beside it."
        )
    return target
