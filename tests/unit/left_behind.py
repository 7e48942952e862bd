"""What processes leave in a results store: rows, exchanges, leases, and a store that breaks off."""

import json
from collections.abc import Sequence
from pathlib import Path

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.exchanges import AnswerHeaders, Call, Exchange, Failure
from proofsweep.domain.items import Row
from proofsweep.domain.runs import AnyRun, Plan
from proofsweep.store import layout
from proofsweep.store.journal import Journal, read_journal
from proofsweep.store.latest import Latest
from proofsweep.store.legs import Legs
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results, table_of
from proofsweep.store.rows import exchange_row
from proofsweep.store.runs import RunLog

from .scripted_service import NOW


class BreakingStore(FolderStore):
    """A store that takes so many writes and deletions, None for any number, and then none."""

    def __init__(self, root: Path, writes_left: int | None = None) -> None:
        super().__init__(root)
        self.writes_left = writes_left

    def create(self, name: str, content: bytes) -> None:
        self._count()
        super().create(name, content)

    def delete(self, name: str) -> None:
        self._count()
        super().delete(name)

    def _count(self) -> None:
        if self.writes_left == 0:
            raise ResultsError("The store broke off.")
        self.writes_left = None if self.writes_left is None else self.writes_left - 1


def verdict(plan: Plan, leg: int, number: int, **cells: object) -> Row:
    row: Row = {"run_id": plan.run_id, "leg": leg, "environment": plan.environment, "manifest_row": number}
    row |= {"item_id": f"item-{number}", "audio": f"/{number}.wav", "outcome": "accepted", "accepted": True}
    return row | {"action": "accept", "verify_attempts": 1, "calls": 2} | cells


def exchange(
    call: Call = Call.UPLOADS, status: int | None = 200, failure: Failure | None = None, **facts: object
) -> Exchange:
    known: dict[str, object] = {"attempt": 1, "started_at": NOW, "elapsed_ms": 1.0, "headers": AnswerHeaders()}
    return Exchange(call=call, status=status, failure=failure, **known | facts)  # type: ignore[arg-type]  # the test's own words


def write_part(results: Results, plan: Plan, leg: int, seq: int, numbers: Sequence[int]) -> None:
    rows = [verdict(plan, leg, number) for number in numbers]
    results.create_part(layout.part_name("verdicts", plan.run_id, plan.run_date, seq, leg), "verdicts", rows)


def write_journal(results: Results, plan: Plan, leg: int, numbers: Sequence[int], writer: str = "w") -> None:
    """Write rows down as a leg does, each with one exchange, and publish nothing."""
    journal = Journal(results, plan.run_id, leg, writer)
    for number in numbers:
        trail = exchange_row(exchange(), run_id=plan.run_id, leg=leg, manifest_row=number, environment=plan.environment)
        journal.add(verdict(plan, leg, number), [trail])
    journal.flush()


def let_holder_die(results: Results, run: AnyRun, leg: int) -> None:
    """Change a leg that this process has begun to one of an earlier process with the same number."""
    entry = next(begun.entry for begun in Legs(results, run).open() if begun.leg == leg)
    change_holder(results, entry, process_started="earlier")


def change_holder(results: Results, entry: int, **cells: str) -> None:
    """Change what an entry of the log says of the process that made it."""
    facts = json.loads(results.store.read(layout.log_name(entry)) or b"{}")
    facts["holder"] |= cells
    results.store.replace(layout.log_name(entry), json.dumps(facts).encode())
    results.log = RunLog(results.store)


def rows_of(results: Results, plan: Plan, table: str = "verdicts") -> list[int | None]:
    found = results.table(table, results.parts_of(table, plan), ["manifest_row"])
    return list(found["manifest_row"].to_pylist())


def journal_rows(results: Results, plan: Plan, leg: int, table: str = "verdicts") -> list[int | None]:
    segments = read_journal(results.store, layout.journal_folder(plan.run_id, leg), table)
    return [number for _, part in segments for number in part["manifest_row"].to_pylist()]


def base_rows(results: Results) -> list[Row]:
    """Read the rows of the base of the newest answers, in its order."""
    files = [results.store.read(file.name) for file in Latest(results).base.files]
    return [row for content in files for row in table_of(content or b"").to_pylist()]
