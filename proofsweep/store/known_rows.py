"""What the newest rows tell: when an item was answered, which bytes were accepted, what can be sent as a check."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.config.threads import Lock
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import PROOF_PREFIX, Mode, sidecar_key, version_of_audio
from proofsweep.domain.runs import Plan
from proofsweep.store import layout
from proofsweep.store.erasures import Erasures
from proofsweep.store.latest import Latest
from proofsweep.store.parts import SCHEMAS, Results
from proofsweep.store.places import with_locations
from proofsweep.store.tables import ANSWERED

_OF_ANSWER = ["item_id", "audio_version", "audio", "sidecar", "sidecar_version", "audio_bytes", "audio_sha256"]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST = datetime.max.replace(tzinfo=UTC)
_SMALLEST = 32  # accepted files of each mode
_OF_ACCEPTED = ["audio_bytes", "audio", "sidecar", "audio_sha256", "sidecar_sha256", "proof_id"]
_OF_PLAN = ["run_id", "manifest_row"]
_OF_ACCEPTANCE = [*_OF_ACCEPTED, *_OF_PLAN, "mode"]


def are_known_since(results: Results, plan: Plan, item_ids: Iterable[str]) -> bool:
    """Whether the service has answered each of these items, for another run, since a run was planned."""
    created_at = datetime.fromisoformat(plan.created_at)
    is_later = pc.field("answered_at") > pa.scalar(created_at, pa.timestamp("us", tz="UTC"))
    is_later &= pc.field("run_id") != plan.run_id
    is_later &= pc.field("outcome").isin(ANSWERED)
    hashes = array("q")
    for table in Latest(results).rows(plan.environment, ["item_id", "run_id", "outcome", "answered_at"]):
        later = table.filter(is_later)
        hashes.extend(map(hash, later["item_id"].to_pylist()))
    answered = HashedItems(hashes)
    if not len(answered):
        return False
    return all(item_id in answered for item_id in item_ids)


def version_of_size(size_bytes: int, *, is_pair: bool) -> tuple[str, str | None]:
    """Return what stands for the versions of an answered item of which only the size is known."""
    return f"{size_bytes} bytes", "pair" if is_pair else None


class AnswerTimes:
    """The newest time of each item and version in one environment, by rows of these `outcomes`; read at first use.

    A time after `until` does not count, and hides none before it. An item whose digest is known has a time of its
    `version_of_size` too.
    """

    def __init__(self, results: Results, environment: str, outcomes: Sequence[str], until: datetime = LAST) -> None:
        self.outcomes = outcomes
        self._until = until
        self._results = results
        self._environment = environment

    def of(self, item_id: str, audio_version: str | None, sidecar: str | None) -> datetime | None:
        """Return when an item was tried; None if it was not, or with other audio or another `sidecar_key`."""
        if audio_version is None:
            return None
        hashes, times = self._read
        hashed = hash((item_id, audio_version, sidecar))
        first, end = bisect_left(hashes, hashed), bisect_right(hashes, hashed)
        if first == end:
            return None
        newest = max(times[first:end])
        return _EPOCH + timedelta(microseconds=newest)

    @cached_property
    def _read(self) -> "tuple[array[int], array[int]]":
        hashes, times = array("q"), array("q")
        is_wanted = pc.field("outcome").isin(self.outcomes)
        is_wanted &= pc.field("answered_at") <= pa.scalar(self._until, pa.timestamp("us", tz="UTC"))
        for table in Latest(self._results).rows(self._environment, [*_OF_ANSWER, "answered_at", "outcome"]):
            rows = table.filter(is_wanted)
            columns = [column.to_pylist() for column in rows.select(_OF_ANSWER).columns]
            microseconds = pc.cast(rows["answered_at"], pa.int64())
            columns.append(microseconds.to_pylist())
            for item_id, of_file, audio, sidecar, sidecar_version, size, sha256, time in zip(*columns, strict=True):
                version = version_of_audio(audio, of_file)
                key = item_id, version, sidecar_key(sidecar, sidecar_version)
                hashes.append(hash(key))
                times.append(time)
                if sha256 is not None:
                    of_size = item_id, *version_of_size(size, is_pair=sidecar is not None)
                    hashes.append(hash(of_size))
                    times.append(time)
        # Arrays of numbers, as in `HashedItems`, which bisection searches.
        indices = pc.array_sort_indices(pa.array(hashes, pa.int64()))
        order = indices.to_numpy().tolist()
        sorted_hashes = array("q", (hashes[index] for index in order))
        sorted_times = array("q", (times[index] for index in order))
        return sorted_hashes, sorted_times


class HashedItems:
    """A set of item IDs, or of keys with one, by their hashes: a set of text needs a gigabyte for ten million."""

    def __init__(self, hashes: Iterable[int]) -> None:
        numbers = array("q", hashes)
        # Sorted by Arrow: a list of Python's numbers takes four times their memory.
        column = pa.Int64Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])
        self._hashes = array("q")
        self._hashes.frombytes(column.sort().to_numpy().tobytes())

    def __len__(self) -> int:
        return len(self._hashes)

    def __contains__(self, item_id: Hashable) -> bool:
        hashed = hash(item_id)
        index = bisect_left(self._hashes, hashed)
        return index < len(self._hashes) and self._hashes[index] == hashed


@dataclass(frozen=True, slots=True, order=True)
class AcceptedItem:
    """An item that the service accepted, ordered by its size in bytes; the digests are of the bytes that were sent."""

    audio_bytes: int
    audio: str
    sidecar: str | None
    audio_sha256: str
    sidecar_sha256: str | None
    proof_id: str | None = field(default=None, compare=False)

    @property
    def mode(self) -> Mode:
        return Mode.ONE_FILE if self.sidecar is None else Mode.LEGACY_PAIR


class PastAnswers:
    """What this environment has accepted; safe to use from several threads. The first question reads the store, once.

    The acceptances of all runs count, also those of earlier legs of this run. One whose proof was erased since does not
    count: the service refuses its file because we asked for that.
    """

    def __init__(self, results: Results, plan: Plan) -> None:
        self._results = results
        self._plan = plan
        self._known: tuple[HashedItems, list[AcceptedItem]] | None = None
        self._reading = Lock()
        self._failures: list[str] = []

    def was_accepted(self, mode: Mode, audio_sha256: str, sidecar_sha256: str | None) -> bool:
        """Whether these bytes were accepted in this mode; ResultsError if the store cannot be read."""
        digests, _ = self._read_once()
        key = f"{mode} {audio_sha256} {sidecar_sha256 or ''}"
        return key in digests

    def accepted(self) -> list[AcceptedItem]:
        """Return the smallest accepted files of each mode."""
        _, smallest = self._read_once()
        return [*smallest]

    def erased(self) -> list[str | None]:
        """Return the proofs whose erasure was asked for until now: the service refuses their files since then."""
        parts = self._results.all_parts("erasures")
        return self._results.table("erasures", parts, ["proof_id"])["proof_id"].to_pylist()

    def files_read(self, most: int) -> list[str]:
        """Name audio files that earlier legs of this run have read to their end, the last ones first."""
        rows: list[dict[str, Any]] = []
        parts = reversed(self._results.parts_of("verdicts", self._plan))
        for table in self._results.tables(parts, ["audio", "audio_sha256", *_OF_PLAN]):
            read = table.filter(pc.is_valid(table["audio_sha256"])).to_pylist()
            rows += reversed(read)
            if len(rows) >= most:  # one more part would be read for nothing
                break
        return [row["audio"] for row in with_locations(self._results, rows[:most])]

    def _read_once(self) -> tuple[HashedItems, list[AcceptedItem]]:
        """Read what was accepted, unless it is done."""
        failures = len(self._failures)
        with self._reading:
            # What failed while a thread waited to read fails for it too. A store that is away fails after many seconds,
            # and each of a hundred threads would wait for all before it.
            if len(self._failures) > failures:
                raise ResultsError(self._failures[-1])
            try:
                self._known = self._known or self._read()
            except ResultsError as error:
                self._failures.append(error.message)
                raise
            return self._known

    def _read(self) -> tuple[HashedItems, list[AcceptedItem]]:
        """Return what tells each acceptance apart, and the smallest files."""
        hashes = array("q")
        schema = pa.schema([SCHEMAS["verdicts"].field(name) for name in _OF_ACCEPTANCE])
        smallest = pa.Table.from_batches([], schema)
        is_wanted = pc.field("accepted") & pc.field("audio_sha256").is_valid()
        for rows in self._tables([*_OF_ACCEPTANCE, "accepted"]):
            accepted = rows.filter(is_wanted).select(_OF_ACCEPTANCE)
            columns = [accepted[name] for name in ("mode", "audio_sha256", "sidecar_sha256")]
            joined = pc.binary_join_element_wise(*columns, pa.scalar(" "), null_handling="replace")  # type: ignore[call-overload]  # the stubs want no scalar
            hashes.extend(map(hash, joined.to_pylist()))
            # A row of a list of proofs names no file that could be sent again.
            has_file = pc.invert(pc.starts_with(accepted["audio"], PROOF_PREFIX))
            smallest = _smallest(pa.concat_tables([smallest, accepted.filter(has_file)]))
        located = with_locations(self._results, smallest.to_pylist())
        return HashedItems(hashes), list(map(_accepted_item, located))

    def _tables(self, columns: list[str]) -> Iterator[pa.Table]:
        """Read all rows; only those of this run where what is derived is damaged."""
        # This raises if the store itself is away: that is no damage.
        self._results.store.read(layout.plan_name(self._plan.run_id))
        try:
            yield from Latest(self._results).rows(self._plan.environment, columns)
        except ResultsError:
            erasures = Erasures(self._results, self._plan.environment)
            names = self._results.parts_of("verdicts", self._plan)
            for table in self._results.tables(names, [*columns, "answered_at"]):
                yield erasures.without(table)


def _accepted_item(row: dict[str, Any]) -> AcceptedItem:
    return AcceptedItem(**{name: row[name] for name in _OF_ACCEPTED})


def _smallest(accepted: pa.Table) -> pa.Table:
    smallest: list[pa.Table] = []
    for mode in Mode:
        of_mode = accepted.filter(pc.field("mode") == str(mode))
        smallest.append(of_mode.sort_by("audio_bytes").slice(0, _SMALLEST))
    return pa.concat_tables(smallest)
