"""Watched folders, wired: from settings to passes over one folder."""

import os
import posixpath
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from proofsweep.answers.letters import write_letters
from proofsweep.catalog.catalog import Catalog
from proofsweep.catalog.row_choice import RowChoice
from proofsweep.errors import CatalogError, ConfigError
from proofsweep.files.files import Files
from proofsweep.files.locations import is_bucket, one_line, path_of
from proofsweep.files.moves import Moves
from proofsweep.ingest.dispose import Disposal
from proofsweep.ingest.ingest_pass import IngestPass
from proofsweep.ingest.look import Look, Looked
from proofsweep.ingest.pass_claim import PassClaim, claimed_folder
from proofsweep.ingest.past_answers import past_answers
from proofsweep.ingest.records import Records
from proofsweep.model.ingest import IngestRules, watch_id
from proofsweep.model.items import ManifestRow
from proofsweep.model.tables.columns import Row
from proofsweep.settings import Settings
from proofsweep.store.claims import LaneClaim
from proofsweep.store.lease import Lease
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.watches import Watch, ingest_store, watched_ids
from proofsweep.verify.plan.selection import ALL_ROWS, Selection
from proofsweep.wiring.engines import ReadBlock, engine_for, limits_for, utc_now
from proofsweep.wiring.runs import catalog_for, plan_listed
from proofsweep.wiring.stores import results_for

_BUSY = "This folder is being worked on by {holder}."


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedFolder:
    """A folder or prefix that this process watches, and no other one; its path is absolute."""

    settings: Settings
    path: str
    claim: PassClaim
    read_block: ReadBlock | None
    selection: Selection = ALL_ROWS

    def ahead_of_sweeps(self) -> AbstractContextManager[None]:
        """Have the sweeps with the same key yield to the work inside.

        Raises:
            RunIsActive: another process has taken the folder over.
        """
        return self.claim.ahead_of_sweeps(lane_claim(self.settings, self.read_block))

    def one_pass(self, letters: str | None = None) -> IngestPass:
        """Begin a pass; `letters` is the folder in which letters to the suppliers are written."""
        settings, results = self.settings, results_for(self.settings)
        rules, disposal = _rules(settings), _disposal(settings, self.path)
        watch = Watch(ingest_store(settings.results.url), self.claim.lease.name)
        return IngestPass(
            results=results,
            watch=watch,
            folder=self._folder,
            look=Look(
                files=Files(),
                digest_of=disposal.moves.digest,
                rules=rules,
                answers_of=partial(past_answers, results, settings.service.environment),
                keeps_answered=disposal.is_wanted,
            ),
            chosen=self._chosen,
            records=Records(
                results=results,
                watch=watch,
                disposal=disposal,
                rules=rules,
                environment=settings.service.environment,
                clock=utc_now,
            ),
            plan=lambda catalog, run_id: plan_listed(
                settings, catalog, self.read_block, selection=self.selection, run_id=run_id
            ),
            limits=limits_for(settings),
            clock=utc_now,
            rest=time.sleep,
            supplier_tag=settings.ingest.supplier_tag,
            write_letters=None if letters is None else partial(write_letters, letters),
        )

    def _chosen(self, looked: Looked) -> list[ManifestRow]:
        choice = _choice_of(self.selection, looked.catalog_name)
        return [row for row, is_chosen in choice.judged(looked.ready) if is_chosen]

    def _folder(self) -> Catalog:
        catalog = catalog_for(self.settings, self.path)
        if catalog.kind != "folder":
            raise CatalogError(f"{one_line(self.path)}: a manifest is not watched; give a folder, or verify it")
        return catalog


@contextmanager
def watched_folder(
    settings: Settings, location: str, read_block: ReadBlock | None, selection: Selection = ALL_ROWS
) -> Iterator[WatchedFolder]:
    """Watch a folder or a bucket's prefix for the work inside, which takes the files of a selection.

    Raises:
        CatalogError: the location cannot be watched.
        UsageError: the selection cannot be used.
        ConfigError: the files would be moved to where they are found again.
        RunIsActive: another process watches it.
        ResultsError: the results store cannot be used.
    """
    path = path_of(location, str(Path.cwd())).rstrip("/")
    if not is_bucket(path) and not posixpath.isdir(path):
        raise CatalogError(f"{one_line(path)}: there is no such folder; give a folder or a bucket's prefix")
    _disposal(settings, path)
    _choice_of(selection, "")
    environment, store = settings.service.environment, Results(ingest_store(settings.results.url))
    facts: Row = {"environment": environment, "folder": path}
    with claimed_folder(Lease(store, watch_id(environment, path), utc_now, busy=_BUSY), facts) as claim:
        yield WatchedFolder(settings=settings, path=path, claim=claim, read_block=read_block, selection=selection)


def _choice_of(selection: Selection, catalog_name: str) -> RowChoice:
    return RowChoice(selection.where, selection.modified_since(utc_now()), catalog_name=catalog_name)


def given_up_items(settings: Settings) -> set[str]:
    """Return the items of all watched folders that no pass tries again; ResultsError if the store cannot be read."""
    store, rules = ingest_store(settings.results.url), _rules(settings)
    return {item for name in watched_ids(store) for item in rules.given_up(Watch(store, name).sightings())}


def lane_claim(settings: Settings, read_block: ReadBlock | None) -> LaneClaim:
    """Return the claim of ingest passes on the lane of the key in use."""
    return LaneClaim(ingest_store(settings.results.url), engine_for(settings, read_block).key_fingerprint)


def _rules(settings: Settings) -> IngestRules:
    ingest = settings.ingest
    return IngestRules(
        settle_seconds=ingest.settle_seconds,
        pair_seconds=ingest.pair_seconds,
        first_retry_seconds=ingest.first_retry_seconds,
        tries=ingest.tries,
        ask_again_seconds=ingest.ask_again_seconds,
        unfinished_names=ingest.unfinished_names,
        credential_chunks=ingest.credential_chunks,
    )


def _disposal(settings: Settings, watched: str) -> Disposal:
    accepted = _target(settings.ingest.accepted, watched, "ingest.accepted")
    quarantine = _target(settings.ingest.quarantine, watched, "ingest.quarantine")
    if accepted is not None and accepted == quarantine:
        raise ConfigError("ingest.accepted and ingest.quarantine are the same place; give each its own.")
    return Disposal(moves=Moves(Files()), watched=watched, accepted=accepted, quarantine=quarantine)


def _target(location: str | None, watched: str, setting: str) -> str | None:
    """Resolve where files are moved; neither it nor the watched folder may lie in the other one."""
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
