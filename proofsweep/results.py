"""Open a results store from Python.

    from proofsweep import results

    store = results.open_results("results")
    store.verdicts(columns=["audio", "verdict"])            # pyarrow.Table
    store.pandas("verdicts", run_id=store.latest_run())     # pandas.DataFrame, Arrow-backed

The columns of the tables are declared in `proofsweep.domain.tables`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from proofsweep.errors import ResultsError
from proofsweep.storage.results.plans_and_parts import SCHEMAS, Results
from proofsweep.storage.results.run_index import RunIndex
from proofsweep.storage.results.store import open_store

if TYPE_CHECKING:
    import pandas as pd

TableName = Literal["verdicts", "exchanges", "runs", "ingest"]


class ResultsStore:
    """The tables of one results store, also of a run that is not finished; each call reads the store anew.

    With `run_id`, a table has only the rows of that run. With `columns`, it has only those columns, in that order.
    """

    def __init__(self, results: Results) -> None:
        self._results = results

    @property
    def url(self) -> str:
        """Where the store is."""
        return self._results.store.url

    def run_ids(self) -> list[str]:
        """List the runs, oldest first."""
        return sorted(RunIndex(self._results).refreshed().records)

    def latest_run(self) -> str:
        """Name the newest run.

        Raises:
            ResultsError: there is no run.
        """
        run_ids = self.run_ids()
        if not run_ids:
            raise ResultsError(f"There is no run in {self.url}.")
        return run_ids[-1]

    def verdicts(self, run_id: str | None = None, columns: Sequence[str] | None = None) -> pa.Table:
        """Give one row per manifest row.

        Example:
            `store.verdicts(columns=["audio", "outcome", "reason"]).to_pylist()`
        """
        return self.table("verdicts", run_id, columns)

    def exchanges(self, run_id: str | None = None, columns: Sequence[str] | None = None) -> pa.Table:
        """Give one row per HTTP exchange: the audit trail, with the partner's request IDs.

        Example:
            `store.exchanges(store.latest_run(), ["call", "status", "request_id"])`
        """
        return self.table("exchanges", run_id, columns)

    def runs(self, run_id: str | None = None, columns: Sequence[str] | None = None) -> pa.Table:
        """Give one row per leg of a run; a leg has none until it ends.

        Example:
            `store.runs(columns=["run_id", "leg", "ended_by", "remaining"])`
        """
        return self.table("runs", run_id, columns)

    def table(self, table: TableName, run_id: str | None = None, columns: Sequence[str] | None = None) -> pa.Table:
        """Give a table by its name.

        Raises:
            ResultsError: there is no such table, run or column, or the store cannot be read.
        """
        if table not in SCHEMAS:
            raise ResultsError(f"There is no table {table!r}; there are {', '.join(SCHEMAS)}.")
        unknown = set(columns or ()).difference(SCHEMAS[table].names)
        if unknown:
            raise ResultsError(f"The table {table} has no column {', '.join(sorted(unknown))}.")
        names = self._results.all_parts(table) if run_id is None else self._parts_of(table, run_id)
        return self._results.table(table, names, None if columns is None else list(columns))

    def pandas(
        self, table: TableName, run_id: str | None = None, columns: Sequence[str] | None = None
    ) -> "pd.DataFrame":
        """Give a table as a pandas frame whose columns keep their Arrow types, so that null stays null.

        Example:
            `store.pandas("verdicts").groupby("outcome").size()`

        Raises:
            ResultsError: as `table` does.
        """
        import pandas as pd  # noqa: PLC0415 - a caller that needs only Arrow does not load pandas

        return self.table(table, run_id, columns).to_pandas(types_mapper=pd.ArrowDtype)

    def _parts_of(self, table: TableName, run_id: str) -> list[str]:
        return self._results.parts_of(table, self._results.plan(run_id))


def open_results(url: str) -> ResultsStore:
    """Open the results store at a folder's path, `file://` URL or bucket URL.

    Example:
        `open_results("results").latest_run()`

    Raises:
        ResultsError: no run was ever planned there; the path is probably misspelt.
    """
    results = Results(open_store(url))
    if not results.store.folders("_runs"):
        raise ResultsError(f"There is no results store at {results.store.url}.")
    return ResultsStore(results)
