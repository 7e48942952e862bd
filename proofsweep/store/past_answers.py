"""What earlier legs and runs left behind: which bytes were accepted, and items that can be sent again as a control."""

from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import PROOF_PREFIX, Mode
from proofsweep.domain.runs import Plan
from proofsweep.store.known_rows import HashedItems, known_rows
from proofsweep.store.layout import plan_name
from proofsweep.store.parts import Results
from proofsweep.store.schemas import SCHEMAS

# Of each mode so many of the smallest and of the largest are kept.
_KEPT = 32
_FIELDS = ["audio_bytes", "audio", "sidecar", "audio_sha256", "sidecar_sha256"]
_COLUMNS = [*_FIELDS, "mode", "proof_id"]


@dataclass(frozen=True, slots=True, order=True)
class AcceptedItem:
    """An item that the service accepted, ordered by its size in bytes; the digests are of the bytes that were sent."""

    audio_bytes: int
    audio: str
    sidecar: str | None
    audio_sha256: str
    sidecar_sha256: str | None

    @property
    def mode(self) -> Mode:
        return Mode.ONE_FILE if self.sidecar is None else Mode.LEGACY_PAIR


class PastAnswers:
    """Reads the store once, with the first question; safe to use from several threads.

    The acceptances of all runs in this environment count, those of earlier legs of this one too.
    """

    def __init__(self, results: Results, plan: Plan) -> None:
        self._results = results
        self._plan = plan
        self._digests: HashedItems | None = None
        self._reading = Lock()
        self._failures: list[str] = []
        self._kept = pa.table({})

    def was_accepted(self, mode: Mode, audio_sha256: str, sidecar_sha256: str | None) -> bool:
        """Whether these bytes were accepted in this mode; ResultsError if the store cannot be read."""
        self._read_once()
        return self._digests is not None and _digest(mode, audio_sha256, sidecar_sha256) in self._digests

    def accepted(self) -> list[AcceptedItem]:
        """Return the smallest and the largest accepted files of each mode, without those whose proofs were erased."""
        self._read_once()
        return [AcceptedItem(**row) for row in self._kept.select(_FIELDS).to_pylist()]

    def files_read(self, most: int) -> list[str]:
        """Name audio files that earlier legs of this run read to their end, the last ones first."""
        found: list[str] = []
        for name in reversed(self._results.parts_of("verdicts", self._plan)):
            part = self._results.table("verdicts", [name], ["audio", "audio_sha256"])
            found += map(str, part["audio"].filter(pc.is_valid(part["audio_sha256"])).to_pylist()[::-1])
            if len(found) >= most:
                break
        return found[:most]

    def _read_once(self) -> None:
        """Read unless it is done; what failed while a thread waited to read fails for it too.

        A store that is away fails after many seconds, and each of a hundred threads would wait for all before it.
        """
        failures = len(self._failures)
        with self._reading:
            if len(self._failures) > failures:
                raise ResultsError(self._failures[-1])
            if self._digests is None:
                self._read()

    def _read(self) -> None:
        self._kept = pa.Table.from_batches([], schema=pa.schema(map(SCHEMAS["verdicts"].field, _COLUMNS)))
        try:
            self._digests = HashedItems(self._noted())
        except ResultsError as error:
            self._failures.append(error.message)
            raise

    def _noted(self) -> Iterator[str]:
        erased = pa.array(self._erased(), pa.string())
        is_wanted = pc.field("accepted") & pc.field("audio_sha256").is_valid()
        for rows in self._tables([*_COLUMNS, "accepted"]):
            table = rows.filter(is_wanted).select(_COLUMNS)
            columns = [table[name] for name in ("mode", "audio_sha256", "sidecar_sha256")]
            joined = pc.binary_join_element_wise(*columns, pa.scalar(" "), null_handling="replace")  # type: ignore[call-overload]  # the stubs want no scalar
            yield from joined.to_pylist()
            is_lost = pc.or_(pc.is_in(table["proof_id"], erased), pc.starts_with(table["audio"], PROOF_PREFIX))
            self._kept = _ends(pa.concat_tables([self._kept, table.filter(pc.invert(is_lost))]))

    def _tables(self, columns: list[str]) -> Iterator[pa.Table]:
        """Read all rows; only those of this run where what is derived is damaged."""
        self._results.store.read(plan_name(self._plan.run_id))  # raises if the store itself is away
        try:
            yield from known_rows(self._results, self._plan.environment, columns)
        except ResultsError:
            yield from self._results.tables(self._results.parts_of("verdicts", self._plan), columns)

    def _erased(self) -> list[str]:
        """Return the proofs that were erased on our demand: their items are refused since then."""
        parts = self._results.tables(self._results.all_parts("erasures"), ["proof_id"])
        return [str(proof_id) for part in parts for proof_id in part["proof_id"].to_pylist()]


def _digest(mode: Mode, audio_sha256: str, sidecar_sha256: str | None) -> str:
    return f"{mode} {audio_sha256} {sidecar_sha256 or ''}"


def _ends(accepted: pa.Table) -> pa.Table:
    kept = []
    for mode in Mode:
        rows = accepted.filter(pc.field("mode") == str(mode)).sort_by("audio_bytes")
        kept += [rows] if len(rows) <= 2 * _KEPT else [rows.slice(0, _KEPT), rows.slice(len(rows) - _KEPT)]
    return pa.concat_tables(kept)
