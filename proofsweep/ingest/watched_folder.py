"""The folder or prefix that one process watches: whether it and the places of its files are there, or away."""

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from proofsweep.config.locations import is_within, one_line, path_of, resolved_location, shown
from proofsweep.config.sections import IngestSettings
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import CatalogError, ConfigError, RunIsActive, RunMustStop, SourceError
from proofsweep.domain.items import Row, utf8_text
from proofsweep.files.files import Files, real_location
from proofsweep.files.mounts import Mounts
from proofsweep.files.moving import Moves
from proofsweep.files.presence import away_since, is_gone, listing_error
from proofsweep.ingest.disposal import Disposal
from proofsweep.ingest.move import Move
from proofsweep.ingest.records import IngestContext
from proofsweep.ingest.rules import Disposition
from proofsweep.sources.catalog import Catalog, CatalogBase
from proofsweep.sources.folder import FolderScan
from proofsweep.store import layout
from proofsweep.store.lease import Lease, Term, sole_process
from proofsweep.verify.emptied_folders import mount_before, mounts_below_before

_BUSY = "This folder is being worked on by {holder}."
_NO_FOLDER = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP}  # what says that no folder has the name


@contextmanager
def watched_folder(context: IngestContext, location: str) -> Iterator["WatchedFolder"]:
    """Watch a folder or a bucket's prefix for the work inside.

    Raises:
        CatalogError: the location cannot be watched.
        ConfigError: the files would be moved to where they are found again.
        RunIsActive: another process watches it, or a folder in it, or one that it lies in.
        RunMustStop: it was watched before, or is there, and cannot be listed now.
        ResultsError: the results store cannot be used.
    """
    path = _absolute(location)
    store = context.results.store.below(layout.INGEST_FOLDER)
    # A link to the folder is the same folder: two processes would send and move its files side by side.
    watch_id = layout.watch_id(context.environment, resolved_location(path))
    lease = Lease(store, watch_id, _BUSY, context.clock)
    # A folder that was never watched is misspelt. One that was watched before may be on a share that is away.
    error = listing_error(path)
    if error is not None and error.errno in _NO_FOLDER and not lease.last():
        raise CatalogError(f"{shown(location, path)}: there is no such folder", catalog=utf8_text(path))
    _refuse_unlisted(path, error)
    targets = _targets(context.settings, path)
    disposal = Disposal(moves=Moves(Files()), watched=path, targets=targets)
    _refuse_unmounted(disposal, lease)
    mounts = Mounts.now(disposal.places)
    facts: Row = {"environment": context.environment, "folder": path}
    facts["mounts"] = {resolved_location(place): point for place, point in mounts.of_places.items()}
    facts["mounts_below"] = mounts.below
    with sole_process(lease, facts) as term:
        _refuse_nested(lease, facts)
        yield WatchedFolder(context=context, lease=lease, term=term, disposal=disposal)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedFolder:
    """A folder or prefix that this process watches, and no other one."""

    context: IngestContext
    lease: Lease
    term: Term  # of the lease; the next process takes the next one
    disposal: Disposal

    @property
    def path(self) -> str:
        return self.disposal.watched

    def refuse_if_lost(self, begun: Sequence[Move]) -> None:
        """Raise RunIsActive if another process has taken the folder over, RunMustStop if a share is away.

        `begun` are moves that have not ended.
        """
        if self.term.is_lost():
            raise self.term.lost_error()
        _refuse_unlisted(self.path, listing_error(self.path))
        _refuse_unmounted(self.disposal, self.lease)
        # What the last pass had begun when a share went may lie in the folder below its mount point. So it is not
        # empty, and looks like a place for the next files, which nobody would find once the share is back.
        for move in begun:
            target = self.disposal.targets.get(move.disposition)
            if target is not None and is_within(move.name, target) and self.disposal.is_unmounted(move):
                because = f"{one_line(target)}: the share is away to which a move was begun"
                raise _away(self.path, because)

    @contextmanager
    def away_is_outage(self) -> Iterator[None]:
        """Raise RunMustStop in the place of an error that says that the folder cannot be read now."""
        # It was there when the watch began: whatever fails then may be over at the next pass, also before the first
        # file.
        try:
            yield
        except (CatalogError, SourceError) as error:
            if isinstance(error, CatalogError) and error.catalog is None:  # it may be read, and is no folder to watch
                raise
            words = error.message
            if isinstance(error, SourceError):
                words = f"{one_line(self.path)}: {words}"
            raise _away(self.path, words.rstrip(".")) from error

    def catalog(self) -> Catalog:
        catalog = self.context.open_catalog(self.path)
        if not isinstance(catalog, FolderScan):
            raise CatalogError(f"{one_line(self.path)}: a manifest is not watched; give a folder, or verify it")
        catalog.is_watched = True
        return catalog


def _away(watched: str, because: str) -> RunMustStop:
    message = f"{because}: is it mounted?"
    return RunMustStop(message, ended_by=EndedBy.BREAKER, catalog=utf8_text(watched))


def _refuse_unlisted(path: str, error: OSError | None) -> None:
    if error is not None:
        raise _away(path, f"{one_line(path)}: the folder cannot be listed ({error.strerror})") from error


def _refuse_nested(lease: Lease, facts: Row) -> None:
    """Raise RunIsActive if another process watches a folder in this one, or one that this one lies in.

    Both would send the same files.
    """
    own = resolved_location(str(facts["folder"]))
    for name in lease.store.folders("_runs"):
        other = Lease(lease.store, name, lease.busy, lease.clock, lease.rest)
        last = other.last()
        held = other.holder(last) if name != lease.name and last else None
        if held is None or held.facts.get("environment") != facts["environment"]:
            continue
        folder = resolved_location(str(held.facts.get("folder")))
        if not is_within(own, folder) and not is_within(folder, own):
            continue
        if other.active_holder(last) is not None:
            raise RunIsActive(
                f"{one_line(own)} and {one_line(folder)}, which {held.where} watches, lie in one another: their files "
                "would be verified twice. Watch one of the two."
            )


def _refuse_unmounted(disposal: Disposal, lease: Lease) -> None:
    """Raise RunMustStop if a share was mounted before, and only the empty folder below it is left."""
    for location in disposal.places:
        away = away_since(location, mount_before(lease, location))
        if away is not None:
            raise _away(disposal.watched, f"{one_line(location)}: {away.why}")
    real = [resolved_location(location) for location in disposal.places]
    for point in mounts_below_before(lease):
        listing_error(point)  # an automounter mounts it at that, if nobody has used it for a while
        is_below = any(is_within(point, place) for place in real)
        if is_below and not is_gone(point) and away_since(point, point) is not None:
            why = "a share was mounted there, and the folder is empty; delete it if none will come there again"
            raise _away(disposal.watched, f"{one_line(point)}: {why}")


def _absolute(location: str) -> str:
    """Return a location without `..`, as scans give it: a folder that is written otherwise is the same one."""
    here = str(Path.cwd())
    return CatalogBase(here).without_dots(path_of(location, here)).rstrip("/")


def _targets(settings: IngestSettings, watched: str) -> dict[Disposition, str]:
    targets: dict[Disposition, str] = {}
    if settings.accepted is not None:
        targets[Disposition.ACCEPTED] = _target(settings.accepted, watched, "ingest.accepted")
    if settings.quarantine is not None:
        targets[Disposition.QUARANTINED] = _target(settings.quarantine, watched, "ingest.quarantine")
    if len({*targets.values()}) < len(targets):
        raise ConfigError("ingest.accepted and ingest.quarantine are the same place; give each its own.")
    return targets


def _target(location: str, watched: str, setting: str) -> str:
    target = _absolute(location)
    # Links may lead from one of the two into the other.
    real_watched = f"{real_location(watched)}/"
    real_target = f"{real_location(target)}/"
    if real_target.startswith(real_watched) or real_watched.startswith(real_target):
        raise ConfigError(
            f"{setting}: {one_line(target)} and the watched folder {one_line(watched)} lie in one another; files that "
            "are moved there would be found again. Choose a place beside it."
        )
    return target
