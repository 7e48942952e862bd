"""One item in one run, as the tables have it."""

from collections.abc import Sequence
from dataclasses import dataclass

from proofsweep.model.runs import Plan
from proofsweep.model.tables.columns import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """One item in one run.

    Attributes:
        row: of `verdicts`; None while the row remains.
        exchanges: rows of `exchanges`, in the order in which they began; also those of the row with the same bytes
            whose answer was used.
    """

    plan: Plan
    manifest_row: int
    row: Row | None
    exchanges: Sequence[Row]


def rows_of_calls(manifest_row: int, row: Row | None) -> set[int]:
    """Name the rows whose calls led to a row's outcome: its own, and the one with the same bytes that was asked."""
    used = None if row is None else row["answered_by_row"]
    return {manifest_row} | ({used} if isinstance(used, int) else set())
