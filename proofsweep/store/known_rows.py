"""What the newest rows tell: when an item was answered, which bytes were accepted, what can be sent as a check."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.config.threads import Lock
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import PROOF_PREFIX, Mode, sidecar_key
from proofsweep.domain.runs import Plan
from proofsweep.store import layout
from proofsweep.store.erasures import Erasures
from proofsweep.store.latest import Latest
from proofsweep.store.parts import SCHEMAS, Results
from proofsweep.store.tables import ANSWERED

_OF_ANSWER = ["item_id", "audio_version", "sidecar", "sidecar_version", "audio_bytes", "audio_sha256"]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KEPT = 32  # accepted files of each mode, the smallest
_OF_ACCEPTED = ["audio_bytes", "audio", "sidecar", "audio_sha256", "sidecar_sha256", "proof_id"]
_OF_ACCEPTANCE = [*_OF_ACCEPTED, "mode"]


def are_known_since(results: Results, plan: Plan, item_ids: Iterable[str]) -> bool:
    """Whether the service has answered each of these items, for another run, since a run was planned."""
    planned_at = pa.scalar(datetime.fromisoformat(plan.created_at), pa.timestamp("us", tz="UTC"))
    is_later = (pc.field("answered_at") > planned_at) & (pc.field("run_id") != plan.run_id)
    is_later &= pc.field("outcome").isin(ANSWERED)
    tables = Latest(results).rows(plan.environment, ["item_id", "run_id", "outcome", "answered_at"])
    later = HashedItems(hash(each) for table in tables for each in table.filter(is_later)["item_id"].to_pylist())
    return len(later) > 0 and all(each in later for each in item_ids)


def version_of_size(size_bytes: int, *, is_pair: bool) -> tuple[str, str | None]:
    """Return what stands for the versions of an answered item of which only the size is known."""
    return f"{size_bytes} bytes", "pair" if is_pair else None


class AnswerTimes:
    """The newest time of each item and version in one environment, by rows of these `outcomes`; read at first use.

    An item whose digest is known has a time of its `version_of_size` too.
    """

    def __init__(self, results: Results, environment: str, outcomes: Sequence[str]) -> None:
        self.outcomes = outcomes
        self._results = results
        self._environment = environment

    def of(self, item_id: str, audio_version: str | None, sidecar: str | None) -> datetime | None:
        """Return when an item was tried; None if it was not, or with other audio or another `sidecar_key`."""
        hashes, times = self._read
        hashed = hash((item_id, audio_version, sidecar))
        first, end = bisect_left(hashes, hashed), bisect_right(hashes, hashed)
        if audio_version is None or first == end:
            return None
        return _EPOCH + timedelta(microseconds=max(times[first:end]))

    @cached_property
    def _read(self) -> "tuple[array[int], array[int]]":
        hashes, times = array("q"), array("q")
        is_wanted = pc.field("outcome").isin(self.outcomes) & pc.field("answered_at").is_valid()
        for table in Latest(self._results).rows(self._environment, [*_OF_ANSWER, "answered_at", "outcome"]):
            rows = table.filter(is_wanted)
            microseconds = pc.cast(rows["answered_at"], pa.int64())
            columns = (column.to_pylist() for column in (*rows.select(_OF_ANSWER).columns, microseconds))
            for item_id, version, sidecar, sidecar_version, size, sha256, time in zip(*columns, strict=True):
                keys = [(item_id, version, sidecar_key(sidecar, sidecar_version))]
                if sha256 is not None:
                    keys.append((item_id, *version_of_size(size, is_pair=sidecar is not None)))
                hashes.extend(map(hash, keys))
                times.extend([time] * len(keys))
        order = pc.array_sort_indices(pa.array(hashes, pa.int64())).to_numpy().tolist()
        return array("q", (hashes[index] for index in order)), array("q", (times[index] for index in order))


class HashedItems:
    """A set of item IDs, or of keys with one, by their hashes: a set of text needs a gigabyte for ten million."""

    def __init__(self, hashes: Iterable[int]) -> None:
        self._hashes = array("q", sorted(hashes))

    def __len__(self) -> int:
        return len(self._hashes)

    def __contains__(self, item_id: Hashable) -> bool:
        index = bisect_left(self._hashes, hash(item_id))
        return index < len(self._hashes) and self._hashes[index] == hash(item_id)


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
    """Reads the store once, with the first question, but for erasures; safe to use from several threads.

    The acceptances of all runs in this environment count, those of earlier legs of this one too. That of a proof that
    was erased since does not: its file is refused on our own demand.
    """

    def __init__(self, results: Results, plan: Plan) -> None:
        self._results = results
        self._plan = plan
        self._known: tuple[HashedItems, pa.Table] | None = None
        self._reading = Lock()
        self._failures: list[str] = []

    def was_accepted(self, mode: Mode, audio_sha256: str, sidecar_sha256: str | None) -> bool:
        """Whether these bytes were accepted in this mode; ResultsError if the store cannot be read."""
        digests, _ = self._read_once()
        return f"{mode} {audio_sha256} {sidecar_sha256 or ''}" in digests

    def accepted(self) -> list[AcceptedItem]:
        """Return the smallest accepted files of each mode."""
        _, kept = self._read_once()
        return [AcceptedItem(**row) for row in kept.select(_OF_ACCEPTED).to_pylist()]

    def erased(self) -> list[str | None]:
        """Return the proofs whose erasure was asked for, until now: what was accepted by them is refused since then."""
        parts = self._results.all_parts("erasures")
        return self._results.table("erasures", parts, ["proof_id"])["proof_id"].to_pylist()

    def files_read(self, most: int) -> list[str]:
        """Name audio files that earlier legs of this run read to their end, the last ones first."""
        parts = reversed(self._results.parts_of("verdicts", self._plan))
        tables = self._results.tables(parts, ["audio", "audio_sha256"])
        found = (table["audio"].filter(pc.is_valid(table["audio_sha256"])).to_pylist() for table in tables)
        return list(islice((str(audio) for files in found for audio in reversed(files)), most))

    def _read_once(self) -> tuple[HashedItems, pa.Table]:
        """Read what was accepted, unless it is done; what failed while a thread waited to read fails for it too.

        A store that is away fails after many seconds, and each of a hundred threads would wait for all before it.
        """
        failures = len(self._failures)
        with self._reading:
            if len(self._failures) > failures:
                raise ResultsError(self._failures[-1])
            try:
                self._known = self._known or self._read()
            except ResultsError as error:
                self._failures.append(error.message)
                raise
            return self._known

    def _read(self) -> tuple[HashedItems, pa.Table]:
        """Return what tells each acceptance apart, and the smallest files."""
        hashes, kept = array("q"), pa.Table.from_batches([], pa.schema(map(SCHEMAS["verdicts"].field, _OF_ACCEPTANCE)))
        is_wanted = pc.field("accepted") & pc.field("audio_sha256").is_valid()
        for rows in self._tables([*_OF_ACCEPTANCE, "accepted"]):
            table = rows.filter(is_wanted).select(_OF_ACCEPTANCE)
            columns = [table[name] for name in ("mode", "audio_sha256", "sidecar_sha256")]
            joined = pc.binary_join_element_wise(*columns, pa.scalar(" "), null_handling="replace")  # type: ignore[call-overload]  # the stubs want no scalar
            hashes.extend(map(hash, joined.to_pylist()))
            has_file = pc.invert(pc.starts_with(table["audio"], PROOF_PREFIX))
            kept = _smallest(pa.concat_tables([kept, table.filter(has_file)]))
        return HashedItems(hashes), kept

    def _tables(self, columns: list[str]) -> Iterator[pa.Table]:
        """Read all rows; only those of this run where what is derived is damaged."""
        self._results.store.read(layout.plan_name(self._plan.run_id))  # raises if the store itself is away
        try:
            yield from Latest(self._results).rows(self._plan.environment, columns)
        except ResultsError:
            erasures = Erasures(self._results, self._plan.environment)
            names = self._results.parts_of("verdicts", self._plan)
            yield from map(erasures.without, self._results.tables(names, [*columns, "answered_at"]))


def _smallest(accepted: pa.Table) -> pa.Table:
    of_modes = (accepted.filter(pc.field("mode") == str(mode)) for mode in Mode)
    return pa.concat_tables([rows.sort_by("audio_bytes").slice(0, _KEPT) for rows in of_modes])
