"""What operations on proofs found, as values."""

import csv
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from proofsweep.domain.errors import UsageError
from proofsweep.domain.items import Row
from proofsweep.domain.text import printable
from proofsweep.sources.completion_report import restored
from proofsweep.store.tables import GONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """The proofs that the service lists, by how they agree with the newest answers."""

    operation_id: str
    states: Mapping[str, int]  # rows of the table `proofs` by state
    unnamed: int = 0  # listed items without a proof ID
    problem: str | None = None  # why the listing may not be whole; None if it is

    def count(self, state: str) -> int:
        return self.states.get(state, 0)

    @property
    def listed(self) -> int:
        return sum(self.states.values()) - self.count("not_listed")


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesRefreshed:
    operation_id: str | None  # None if no note was wanted, so that nothing was asked
    wanted: int  # accepted proofs without a ready note
    states: Mapping[str, int]  # rows of the table `interpretations` by status


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    operation_id: str
    # items by outcome; of these, `intact`, `absent` and `watched` ones have no row in `recoveries`.
    outcomes: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryRequest:
    # only items whose audio is this file or in this folder, when it was verified or after ingest moved it.
    below: str = ""
    prefix: str | None = None  # a folder or a bucket's prefix to write below; None for beside the audio
    compares_all: bool = False  # ask also for sidecars that are as they were when the service accepted them
    with_one_files: bool = False  # also for items that were verified without a sidecar; they need a prefix
    max_calls: int | None = None  # keyed calls at most


COLUMN = "proof_id"  # The column of a CSV file that holds the IDs

# Environments whose proofs are disposable (contract, Authentication 6). In all others, the name is typed too.
DISPOSABLE = ("sandbox", "beta")
_MOST_CHARS = 512  # the longest ID that is believed


@dataclass(frozen=True, slots=True)
class ProofList:
    """IDs of proofs, each once, in the order in which they came."""

    proof_ids: tuple[str, ...]
    repeated: int = 0  # how many more times an ID was named
    empty: int = 0  # lines and cells without an ID

    @property
    def sha256(self) -> str:
        """Return the hex digest of the sorted IDs, one a line: it tells lists apart."""
        return hashlib.sha256("\n".join(sorted(self.proof_ids)).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """What became of one proof: the cells of a row of `erasures`."""

    proof_id: str
    asked_at: datetime
    answered_at: datetime
    outcome: str | None = None
    erased_at: datetime | None = None
    request_id: str | None = None
    http_status: int | None = None
    reason: str | None = None

    def row(self) -> Row:
        return asdict(self)


def counts_of(erasures: Iterable[Row]) -> dict[str, object]:
    """Count the outcomes of rows of `erasures`; what is not known to be erased is `failed`."""
    words = Counter("failed" if each["reason"] is not None else each["outcome"] for each in erasures)
    return {word: words[word] for word in (*GONE, "failed")}


def proof_list(given: Iterable[tuple[str, str]]) -> ProofList:
    """Make a list of proof IDs of texts, each after where it stands; UsageError if one cannot be one, or none is."""
    found: list[str] = []
    empty = 0
    for where, text in given:
        proof_id = text.strip()
        if proof_id:
            found.append(_checked(proof_id, where))
        empty += not proof_id
    if not found:
        raise UsageError("There is no proof ID to erase: give IDs, or --from with a file of them.")
    once = tuple(dict.fromkeys(found))
    return ProofList(once, len(found) - len(once), empty)


def cells_of(lines: Sequence[str], name: str) -> Iterator[tuple[str, str]]:
    """Find the IDs in a file: each line, or the column `proof_id` of a CSV file, without which it is a UsageError."""
    header = next(csv.reader(lines[:1]), [])
    columns = [cell.strip() for cell in header]
    if COLUMN not in columns:
        if len(columns) > 1 or name.lower().endswith(".csv"):
            raise UsageError(f"{printable(name)} has no column {COLUMN}; nothing was erased.")
        yield from ((f"{name}, line {number}", line) for number, line in enumerate(lines, start=1))
        return
    index = len(columns) - 1 - columns[::-1].index(COLUMN)  # of a report the last one: a tag may have the name
    rows = csv.reader(lines)
    next(rows)
    for row in rows:
        yield f"{name}, line {rows.line_num}", restored(row[index]) if index < len(row) else ""


def _checked(proof_id: str, where: str) -> str:
    is_text = all(letter.isprintable() and not letter.isspace() for letter in proof_id)
    if is_text and len(proof_id) <= _MOST_CHARS and proof_id not in {".", ".."} and not set(proof_id) & set("\"',;"):
        return proof_id
    raise UsageError(f"{printable(where)}: this is no proof ID; nothing was erased.")
