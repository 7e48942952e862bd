"""Ask the service to erase one proof after the other (contract, Endpoints 7), and lose no answer.

Each answer is in the journal before the next proof is asked for. So a command that was killed or stopped is repeated:
a proof that the table says is gone is not asked for again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from itertools import zip_longest
from pathlib import Path

import pyarrow.compute as pc

from proofsweep.domain.errors import CallFailed, RunMustStop, UsageError
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import Row
from proofsweep.domain.runs import OperationKind
from proofsweep.domain.text import printable, text_of_file
from proofsweep.operations.operation import OperationLeg, Operator
from proofsweep.queries.connection import answering
from proofsweep.queries.views import with_views
from proofsweep.sources.readers import rows_of_csv
from proofsweep.store.parts import Results
from proofsweep.store.tables import GONE

DISPOSABLE = ("sandbox", "beta")  # their proofs are disposable (contract, Authentication 6); else the name is typed too
_COLUMN = "proof_id"  # of a CSV file
_MOST_CHARS = 512  # of an ID
_MOST_NAMED = 10  # failures that are named
_FILES = """
SELECT proof_id, arg_max(coalesce(relative_path, audio), finished_at)
FROM verdicts SEMI JOIN (SELECT unnest(?) AS proof_id) USING (proof_id)
GROUP BY proof_id
"""


@dataclass(frozen=True, slots=True)
class ProofList:
    """IDs of proofs, each once, in the order in which they came."""

    proof_ids: tuple[str, ...]
    repeated: int = 0  # how many more times an ID was named
    empty: int = 0  # lines and cells without an ID


@dataclass(slots=True)
class ErasureReport:
    operation_id: str = ""
    rows: list[Row] = field(default_factory=list)  # of `erasures`, of the proofs that were asked for
    known: int = 0  # proofs that earlier commands were told are gone
    not_asked: int = 0  # proofs that were not asked for, and are not known to be gone
    unkept: Row | None = None  # the last row, if it could not be written before the work ended
    stopped: RunMustStop | None = None  # why not all were asked for

    @property
    def failed(self) -> list[Row]:
        return [row for row in self.rows if row["reason"] is not None]

    def lines(self) -> Iterator[str]:
        """Yield the counts, some failures, and what to do."""
        erased, already_erased, failed = self._counts.values()
        asked = f"{erased:,} erased, {already_erased:,} already erased or never there, {failed:,} failed"
        yield f"{asked}, {self.known:,} known to be gone, {self.not_asked:,} not asked for."
        for row in self.failed[:_MOST_NAMED]:
            yield f"  failed: {row['proof_id']} · {row['reason']} · {_request_of(row)}"
        if failed > _MOST_NAMED:
            yield f"  and {failed - _MOST_NAMED:,} more in the table `erasures`"
        if self.unkept is not None:
            yield f"Keep this answer, which the table `erasures` may lack: {_answer_of(self.unkept)}"
        if failed or self.not_asked:
            yield "Run the same command again: it asks for no proof that is known to be gone."

    def document(self) -> Row:
        document: Row = {"operation_id": self.operation_id, **self._counts}
        document["known"] = self.known
        document["not_asked"] = self.not_asked
        document["proofs"] = self.rows
        return document

    @property
    def _counts(self) -> Mapping[str, int]:
        counts = dict.fromkeys((*GONE, "failed"), 0)
        for row in self.rows:
            word = "failed" if row["reason"] else str(row["outcome"])
            counts[word] += 1
        return counts


def _request_of(row: Row) -> object:
    return row["request_id"] or "no request ID"


def _answer_of(row: Row) -> str:
    when = "" if row["erased_at"] is None else f" at {row['erased_at']}"
    return f"{row['proof_id']} · {row['outcome']}{when} · {_request_of(row)}"


def erase_proofs(
    operator: Operator, wanted: ProofList, told: Callable[[Row], object] = lambda _row: None
) -> ErasureReport:
    """Erase the proofs of a list for good, one by one; `told` gets the row of each."""
    report = ErasureReport(not_asked=len(wanted.proof_ids))
    try:
        with operator.begun(OperationKind.ERASURE) as work:
            report.operation_id = work.operation.operation_id
            gone = _gone(operator)
            left = [proof_id for proof_id in wanted.proof_ids if proof_id not in gone]
            report.known = len(wanted.proof_ids) - len(left)
            report.not_asked = len(left)
            for proof_id in left:
                row = _erased(work, proof_id)
                work.add(row)
                report.rows.append(row)
                report.not_asked -= 1
                # The service gives this answer once. If the store fails for long, the report has it.
                report.unkept = row
                work.keep()
                report.unkept = None
                told(row)
    except RunMustStop as stop:
        report.stopped = stop
    return report


def _gone(operator: Operator) -> set[str]:
    names = operator.results.all_parts("erasures")
    table = operator.results.table("erasures", names, ["environment", "proof_id", "reason"])
    is_gone = pc.field("environment") == operator.environment
    is_gone &= pc.field("reason").is_null()
    return {str(proof_id) for proof_id in table.filter(is_gone)["proof_id"].to_pylist()}


def _erased(work: OperationLeg, proof_id: str) -> Row:
    asked_at = work.service.clock()
    answer, request_id = work.ask(Call.ERASE, lambda partner: partner.erase(proof_id))
    row: Row = {"proof_id": proof_id, "asked_at": asked_at, "answered_at": work.service.clock()}
    row |= {"outcome": None, "erased_at": None, "request_id": request_id, "http_status": None, "reason": None}
    if isinstance(answer, CallFailed):
        row["http_status"] = answer.status
        row["reason"] = answer.reason
        return row
    row["outcome"] = answer.outcome
    row["erased_at"] = answer.erased_at
    # An answer about another proof is no receipt, nor is one with a word that the contract does not have.
    if answer.proof_id not in {None, proof_id}:
        row["reason"] = "bad_answer"
    elif answer.outcome not in GONE:
        row["reason"] = "unknown_outcome"
    return row


def names_of(results: Results, environment: str, wanted: ProofList) -> dict[str, str]:
    """Return the file of each proof that the tables know; ResultsError if they cannot be read."""
    query = f"{with_views('verdicts')} FROM ({_FILES})"
    with answering(results, [environment], "verdicts") as store:
        rows = store.execute(query, [list(wanted.proof_ids)]).fetchall()
    return dict(rows)


def read_proof_list(proof_ids: Sequence[str], file: Path | None) -> ProofList:
    """Read the IDs of the command and of a file: its lines, or the column `proof_id` of a CSV file.

    UsageError if an ID is bad, or there is none.
    """
    given: list[tuple[str, str]] = []  # each ID after where it stands
    for number, proof_id in enumerate(proof_ids, start=1):
        given.append((f"ID {number} of the command", proof_id))
    if file is not None:
        try:
            text = text_of_file(file.read_bytes())
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise UsageError(f"{file} cannot be read ({why}); nothing was erased.") from error
        lines = StringIO(text, newline="").readlines()
        given += _ids_in(lines, str(file))
    checked: list[str] = []
    for where, text in given:
        proof_id = text.strip()
        if proof_id:
            checked.append(_checked(proof_id, where))
    if not checked:
        raise UsageError("There is no proof ID to erase: give IDs, or --from with a file of them.")
    once = tuple(dict.fromkeys(checked))
    return ProofList(once, repeated=len(checked) - len(once), empty=len(given) - len(checked))


def _ids_in(lines: Sequence[str], name: str) -> Iterator[tuple[str, str]]:
    """Find the IDs in a file, each after where it stands: the lines, or the column `proof_id` of a CSV file."""
    try:
        rows = rows_of_csv(lines)
        _, header = next(rows, (1, ()))
        columns = [cell.strip() for cell in header]
        if _COLUMN in columns:
            for number, cells in rows:
                if cells:
                    # Of two columns of this name the last one counts: a tag may have the name.
                    row = dict(zip_longest(columns, cells, fillvalue=""))
                    yield f"{name}, line {number}", row[_COLUMN].removeprefix("'")
            return
    except ValueError as error:
        raise UsageError(f"{printable(name)}, {error}; nothing was erased.") from error
    if len(columns) > 1 or name.lower().endswith(".csv"):
        raise UsageError(f"{printable(name)} has no column {_COLUMN}; nothing was erased.")
    for number, line in enumerate(lines, start=1):
        yield f"{name}, line {number}", line


def _checked(proof_id: str, where: str) -> str:
    # `.` and `..` would lead the call to another path.
    is_text = all(letter.isprintable() and not letter.isspace() for letter in proof_id)
    is_name = proof_id not in {".", ".."} and set(proof_id).isdisjoint("\"',;")
    if not is_text or not is_name or len(proof_id) > _MOST_CHARS:
        raise UsageError(f"{printable(where)}: this is no proof ID; nothing was erased.")
    return proof_id
