"""Where the audio of each item was when it was last tried: an ID that comes with other audio hides an answer."""

import hashlib
from array import array
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.config.locations import one_line
from proofsweep.domain.errors import CatalogError, SourceError
from proofsweep.domain.items import Row, WorkItem, proof_id_of, utf8_text
from proofsweep.files.files import Files
from proofsweep.files.presence import is_missing
from proofsweep.sources.catalog import Catalog
from proofsweep.sources.manifest import HOW_TO_NAME_FILES
from proofsweep.store.known_rows import HashedItems
from proofsweep.store.latest import Latest
from proofsweep.store.listings import Listing
from proofsweep.store.parts import Results
from proofsweep.store.places import with_locations
from proofsweep.store.tables import ANSWERED, NEWEST_LAST

_PIECE_BYTES = 1024 * 1024
_MOST_READ = 50  # files that are compared byte by byte: as many that are the same show that the catalog was copied
_FEW_ITEMS = 1_000  # whose rows are read by their IDs: a pass over a watched folder does not read those of all others
_OF_PLACE = ["item_id", "audio", "audio_version"]
_OF_AUDIO = [*_OF_PLACE, *NEWEST_LAST, "audio_bytes", "audio_sha256", "outcome"]


@dataclass(frozen=True, slots=True)
class _Suspect:
    """An item that was last tried at another place, as it is listed now."""

    item_id: str
    audio: str
    version: str | None
    size_bytes: int | None
    where: str  # the manifest and the line, else the audio


class EarlierPlaces:
    """Takes each item that is planned, and at the end refuses the catalog if one has the ID of other audio.

    An ID exists so that its file may move, or be corrected. So only a file that stands where it was is other audio for
    sure.
    """

    def __init__(self, results: Results, environment: str, identity: str, listing: Catalog) -> None:
        self._results = results
        self._environment = environment
        self._identity = identity
        self._listing = listing
        self._files = Files()  # an earlier place may lie anywhere
        self._suspects: list[_Suspect] = []
        self._places = array("q")
        self._read = 0

    def add(self, item: WorkItem) -> None:
        # Files are looked at only if their place has changed: a night of the same catalog costs nothing. The rows of a
        # few items are read by their IDs, so a pass over a watched folder does not read those of all others.
        self._places.append(hash(utf8_text(item.audio)))
        is_there = item.ineligible is None or item.audio_version is not None
        if not item.audio or not is_there or item.is_delivered:  # a file of a release may be delivered once more
            return
        if len(self._places) <= _FEW_ITEMS or self._is_elsewhere(item):
            where = item.manifest_line or item.audio
            suspect = _Suspect(item.item_id, item.audio, item.audio_version, item.audio_bytes, where)
            self._suspects.append(suspect)

    def refuse_other_audio(self, whole: Listing | None = None) -> None:
        """Raise CatalogError if an ID is of other audio; `whole` is the whole catalog, if only a part was taken."""
        if not self._suspects:
            return
        newest = self._newest_rows({suspect.item_id for suspect in self._suspects})
        if not newest:
            return
        identities = {run.plan.run_id: run.plan.identity for run in self._latest.runs.counted_first()}
        places = HashedItems(self._places) if whole is None else whole.places
        for suspect in self._suspects:
            for row in newest.get(suspect.item_id, []):
                run_id = str(row["run_id"])
                if run_id not in identities:  # of a catalog that is retired, or a run that was pruned
                    continue
                # The catalog itself says that the ID has another file now, if it lists the earlier one no more.
                if identities[run_id] == self._identity and utf8_text(str(row["audio"])) not in places:
                    continue
                if self._is_other_audio(suspect, row):
                    raise CatalogError(self._message(suspect, row))

    @cached_property
    def _latest(self) -> Latest:
        return Latest(self._results)

    @cached_property
    def _known(self) -> "tuple[array[int], array[int], array[int]]":
        """The hashes of each item that was tried, in order, with those of its place and version."""
        # A store may have rows of millions of items, so only hashes of them are in memory.
        items = array("q")
        places = array("q")
        versions = array("q")
        for table in self._latest.rows(self._environment, _OF_PLACE):
            items.extend(map(hash, table["item_id"].to_pylist()))
            places.extend(map(hash, table["audio"].to_pylist()))
            versions.extend(map(hash, table["audio_version"].to_pylist()))
        order = pc.array_sort_indices(pa.array(items, pa.int64())).to_numpy().tolist()

        def in_order(hashes: "array[int]") -> "array[int]":
            return array("q", map(hashes.__getitem__, order))

        return in_order(items), in_order(places), in_order(versions)

    def _is_elsewhere(self, listed: WorkItem) -> bool:
        """Whether a row of the item may be of another place, and of another version."""
        items, places, versions = self._known
        item_id = hash(listed.item_id)
        index = bisect_left(items, item_id)
        if index == len(items) or items[index] != item_id:
            return False
        version = hash(listed.audio_version)
        place = self._places[-1]
        while index < len(items) and items[index] == item_id:
            is_other_version = listed.audio_version is None or versions[index] != version
            if places[index] != place and is_other_version:
                return True
            index += 1
        return False

    def _newest_rows(self, wanted: set[str]) -> dict[str, list[Row]]:
        # An item is shown by its newest answer and by its newest row without one, so both are of interest.
        if not (self._latest.base.files or self._latest.tail):  # else an array brings pandas, and a third of a second
            return {}
        items = sorted(wanted)
        is_wanted = pc.field("item_id").isin(pa.array(items, pa.string()))
        tables = [table.filter(is_wanted) for table in self._latest.rows(self._environment, _OF_AUDIO, items)]
        if not tables:
            return {}
        newest_last = pa.concat_tables(tables, promote_options="default")
        newest_last = newest_last.sort_by([(name, "ascending") for name in NEWEST_LAST])
        newest: dict[tuple[str, bool], Row] = {}
        for row in newest_last.to_pylist():
            is_answered = row["outcome"] in ANSWERED
            newest[str(row["item_id"]), is_answered] = row
        rows_of: dict[str, list[Row]] = {}
        for row in with_locations(self._results, newest.values()):
            rows_of.setdefault(str(row["item_id"]), []).append(row)
        return rows_of

    def _is_other_audio(self, suspect: _Suspect, row: Row) -> bool:
        """Whether a row is of another file than the one that is listed now."""
        earlier = str(row["audio"] or "")
        if not earlier or earlier == suspect.audio:
            return False
        if proof_id_of(earlier) is not None or proof_id_of(suspect.audio) is not None:
            return True  # the service keeps what it was
        if suspect.version is not None and row["audio_version"] == suspect.version:
            return False
        if self._is_gone(earlier) or self._is_same_file(earlier, suspect):
            return False
        return not self._has_bytes_of(suspect, row)

    def _is_gone(self, location: str) -> bool:
        """Whether a file is not there for sure: below an empty folder, a share may not be mounted."""
        try:
            if self._files.facts(location) is not None:
                return False
        except SourceError:
            return False
        return is_missing(location)

    def _is_same_file(self, location: str, suspect: _Suspect) -> bool:
        """Whether another path leads to the listed file."""
        try:
            facts = self._files.facts(location)
            listed = suspect.version
            if listed is None:  # a bucket's listing did not show it
                listed = getattr(self._files.facts(suspect.audio), "version", None)
        except SourceError:
            return False
        return facts is not None and facts.version == listed

    def _has_bytes_of(self, suspect: _Suspect, row: Row) -> bool:
        # A catalog that was copied has other times, and is the same audio.
        digest = row["audio_sha256"]
        if digest is None or suspect.size_bytes not in {None, row["audio_bytes"]}:
            return False
        # To read a million copied files would take longer than to verify them.
        if self._read == _MOST_READ:
            return True
        self._read += 1
        try:
            file = self._files.within(self._listing.root).open(suspect.audio, is_whole=True)
            if file is None:
                return False
            with file:
                read = hashlib.sha256()
                for piece in file.pieces(_PIECE_BYTES):
                    read.update(piece)
        except SourceError:
            return False
        return read.hexdigest() == digest

    def _message(self, suspect: _Suspect, row: Row) -> str:
        location = one_line(self._listing.location)
        where = one_line(suspect.where)
        item_id = one_line(suspect.item_id)
        audio = one_line(suspect.audio)
        earlier = one_line(str(row["audio"]))
        what_to_do = f"set catalog.name for {location}, so that its files have ids of their own"
        if any(role == "id" for _, role in self._listing.whole.columns):
            what_to_do = HOW_TO_NAME_FILES
        if proof_id_of(suspect.audio) is not None:
            what_to_do = "give each proof an id of its own"
        return (
            f"{location}: {where}: the id {item_id!r} is here of {audio}, and in run {row['run_id']} of {earlier}, "
            f"which was not moved here, so one answer would hide the other: {what_to_do}"
        )
