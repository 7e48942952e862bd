"""Open a results store from Python.

    from proofsweep import results

    store = results.open_results("results")                 # environment= names one of several
    store.verdicts(columns=["audio", "verdict"])            # pyarrow.Table
    store.pandas("verdicts", run_id=store.latest_run())     # pandas.DataFrame, Arrow-backed
    store.latest()                                          # each item's newest answer
    store.changes(store.latest_run())                       # what that run found otherwise than before
    store.sql("SELECT file, what_to_do FROM rejects")       # duckdb.DuckDBPyRelation

The columns of the tables are declared in `proofsweep.store.tables`, the views in `proofsweep/queries/sql`.
"""

import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.config.load import load_settings
from proofsweep.domain.errors import ConfigError, ResultsError
from proofsweep.domain.runs import Plan
from proofsweep.queries.status import environment_in
from proofsweep.queries.views import NAMES
from proofsweep.store import layout
from proofsweep.store.journal import KEYS_OF_ROWS, unpublished_of_all
from proofsweep.store.listings import newest_whole
from proofsweep.store.objects import open_store
from proofsweep.store.parts import SCHEMAS, Results
from proofsweep.store.sql import quoted, quoted_name

if TYPE_CHECKING:
    import duckdb
    import pandas as pd


class ResultsStore:
    """The tables of one results store, also of a run that is not finished; each call reads the store anew.

    With `run_id`, a table has only the rows of that run. With `columns`, it has only those columns, in that order. An
    environment that is named to a call goes before that of the store; `all` is all of them.
    """

    def __init__(self, results: Results, environment: str | None = None) -> None:
        self._results = results
        self._environment = environment

    @property
    def url(self) -> str:
        return self._results.store.url

    def latest_run(self, catalog: str | None = None, *, environment: str | None = None) -> str:
        """Name the newest run of a catalog, as the commands without a run take it.

        A pass over a watched folder, which is a part of a catalog, counts only if there is nothing else. ResultsError
        if there is no run, or the store has several environments and it is not clear which one is meant.
        """
        wanted = environment or self._environment
        of_all = wanted in {None, "all"}
        plans = self._results.log.runs().plans(None if of_all else wanted, catalog)
        if plans and wanted is None:
            environments = {plan.environment for plan in plans}
            meant = environment_in(self._results, environments, self._of_config)
            plans = [plan for plan in plans if plan.environment == meant]
        newest = newest_whole(plans)
        if newest is None:
            raise ResultsError(f"There is no such run in {self.url}.")
        return newest.run_id

    def verdicts(self, run_id: str | None = None, columns: Sequence[str] | None = None) -> pa.Table:
        """Return one row per manifest row: `store.verdicts(columns=["audio", "outcome", "reason"]).to_pylist()`."""
        return self.table("verdicts", run_id, columns)

    def exchanges(self, run_id: str | None = None, columns: Sequence[str] | None = None) -> pa.Table:
        """Return one row per HTTP exchange: the audit trail, with the partner's request IDs."""
        return self.table("exchanges", run_id, columns)

    def runs(self, run_id: str | None = None, columns: Sequence[str] | None = None) -> pa.Table:
        """Return one row per leg of a run; a leg has none until it ends."""
        return self.table("runs", run_id, columns)

    def table(
        self,
        name: str,
        run_id: str | None = None,
        columns: Sequence[str] | None = None,
        *,
        environment: str | None = None,
    ) -> pa.Table:
        """Return a table of all environments, or a view: of one that is named, else of the run's, else as `sql` does.

        A table of an environment that is named is the view of its name, where each tag is a column. ResultsError if
        there is no such table, view, run or column, or the store cannot be read.
        """
        plan = None if run_id is None else self._results.plan(run_id)
        # A run has its own environment: that of the store is not for it.
        named = environment
        if plan is None:
            named = environment or self._environment
        if name not in SCHEMAS or named is not None:
            return self._view(name, plan, columns, named)
        self._refuse_unknown(name, {*(columns or ())}.difference(SCHEMAS[name].names))
        results = self._results
        # Journals are read before parts are listed: rows move there meanwhile, and would be in neither.
        journalled = unpublished_of_all(results, name) if name in KEYS_OF_ROWS else []
        parts = list(results.all_parts(name) if plan is None else results.parts_of(name, plan))
        chosen = SCHEMAS[name].names if columns is None else list(columns)
        tables = [results.table(name, parts, chosen)]
        for waiting in journalled:
            own = waiting
            if plan is not None:
                own = waiting.filter(pc.field("run_id") == plan.run_id)
            tables.append(_not_in(own, results, name, parts).select(chosen))
        return pa.concat_tables(tables, promote_options="default")

    def latest(self, *, environment: str | None = None) -> pa.Table:
        """Return one row per item, its newest answer: `store.latest().group_by("outcome").aggregate([...])`."""
        return self.table("latest_answer", environment=environment)

    def changes(self, run_id: str | None = None, *, environment: str | None = None) -> pa.Table:
        """Return what each run, or one, found otherwise than the runs before: per item before, now, and the cause."""
        return self.table("changes", run_id, environment=environment)

    def sql(self, query: str, environment: str | None = None) -> "duckdb.DuckDBPyRelation":
        """Ask in SQL over the views of `proofsweep query`, each tag a column; their tables read the store anew.

        Of several statements the last one's answer is given, and it is computed when it is read. Sums of whole numbers,
        which DuckDB gives in 128 bits, are int64. The views show the environment that is named, all of them with `all`,
        and by default that of the config if the store has it, or the only one.

        Raises:
            ResultsError: there is no run of the environment, or it is not clear which one is meant, or the store cannot
                be read.
            duckdb.Error: the query is wrong.
        """
        from proofsweep.queries.connection import close, open_views  # noqa: PLC0415 - a reader of tables needs no DuckDB
        from proofsweep.queries.tables import STORE_SCHEME  # noqa: PLC0415 - the same

        named = environment or self._environment
        connection = open_views(self._results, named, preferred=self._of_config, asked=query)
        answer = _with_int64(connection.sql(query))
        if connection.filesystem_is_registered(STORE_SCHEME):  # else an answer may outlive this object
            weakref.finalize(self, close, connection)
        return answer

    def pandas(
        self,
        table: str,
        run_id: str | None = None,
        columns: Sequence[str] | None = None,
        *,
        environment: str | None = None,
    ) -> "pd.DataFrame":
        """Return a table or a view as a pandas frame whose columns keep their Arrow types, so that null stays null."""
        import pandas as pd  # noqa: PLC0415 - a caller that needs only Arrow does not load pandas

        return self.table(table, run_id, columns, environment=environment).to_pandas(types_mapper=pd.ArrowDtype)

    @cached_property
    def _of_config(self) -> str | None:
        """The environment of the config; a config that cannot be read names none."""
        with suppress(ConfigError):
            return load_settings().service.environment
        return None

    def _view(self, name: str, plan: Plan | None, columns: Sequence[str] | None, environment: str | None) -> pa.Table:
        if name not in NAMES:
            raise ResultsError(f"There is no table or view {name!r}; there are {', '.join(NAMES)}.")
        needed = set(columns or ())
        if plan is not None:
            environment = environment or plan.environment
            needed.add("run_id")
        answer = self.sql(f"FROM {name}", environment)
        self._refuse_unknown(name, needed.difference(answer.columns))
        chosen = answer
        if plan is not None:
            chosen = answer.filter(f"run_id = {quoted(plan.run_id)}")
        if columns is not None:
            chosen = chosen.select(*map(quoted_name, columns))  # DuckDB reads a text as SQL
        rows: pa.Table = chosen.to_arrow_table()
        return rows

    @staticmethod
    def _refuse_unknown(name: str, columns: set[str]) -> None:
        if columns:
            raise ResultsError(f"{name} has no column {', '.join(sorted(columns))}.")


def _not_in(journalled: pa.Table, results: Results, name: str, parts: Sequence[str]) -> pa.Table:
    """Leave out the rows of a journal that have come into parts meanwhile."""
    key = list(KEYS_OF_ROWS[name])
    run_ids = {*journalled["run_id"].to_pylist()}
    own = [part for part in parts if layout.run_of(part) in run_ids]
    published = {*_cells(results.table(name, own, key))}
    is_waiting = [cells not in published for cells in _cells(journalled.select(key))]
    return journalled.filter(pa.array(is_waiting, pa.bool_()))


def _cells(table: pa.Table) -> Iterator[tuple[object, ...]]:
    return zip(*(column.to_pylist() for column in table.columns), strict=True)


def _with_int64(answer: "duckdb.DuckDBPyRelation") -> "duckdb.DuckDBPyRelation":
    """Return the same rows without numbers of 128 bits, which pandas takes for floats and Polars for decimals."""
    kinds = [kind.id for kind in getattr(answer, "types", ())]  # a statement without rows answers None
    if "hugeint" not in kinds:
        return answer
    columns: list[str] = []
    for name, kind in zip(answer.columns, kinds, strict=True):
        # By its position: a query may have a name twice.
        value = f"#{len(columns) + 1}"
        if kind == "hugeint":
            value += "::BIGINT"
        columns.append(f"{value} AS {quoted_name(name)}")
    return answer.project(", ".join(columns))


def open_results(url: str, environment: str | None = None) -> ResultsStore:
    """Open the results store at a folder's path, `file://` URL or bucket URL.

    Each call speaks of the environment, if one is named here. ResultsError if no run was ever planned there; the path
    is probably misspelt.
    """
    results = Results(open_store(url))
    if not any(map(results.store.folders, ("_runs", "probes"))):
        raise ResultsError(f"There is no results store at {results.store.url}.")
    return ResultsStore(results, environment)
