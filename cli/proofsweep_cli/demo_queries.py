"""Queries of a demo's tables; each runs exactly as it is printed."""

from pathlib import Path

import duckdb
from rich.console import Console

from proofsweep import results

_SQL = """\
SELECT mode, verdict, count(*) AS files,
       round(avg(grade_human), 2) AS grade_human, round(median(verify_ms)) AS verify_ms
FROM '{store}/verdicts/*/*.parquet'
WHERE verdict IS NOT NULL
GROUP BY ALL ORDER BY mode, files DESC"""

_PANDAS = """\
results.open_results({store!r}).pandas("verdicts").pivot_table(
    index="audio_format", columns="outcome", aggfunc="size", fill_value=0
)"""


_DELIVERY = """\
SELECT batch, release_title, title, isrc, outcome, reason
FROM catalog
ORDER BY file"""


def show_delivery(out: Console, store: Path) -> None:
    """Show what became of each file of a delivery, as `proofsweep query` does."""
    answer = results.open_results(str(store)).sql(_DELIVERY)
    _show(out, "proofsweep query", _DELIVERY, str(answer))


def show_queries(out: Console, store: Path) -> None:
    """Query a results store with DuckDB, and with pandas; print each query and its result."""
    sql = _SQL.format(store=str(store).replace("'", "''"))
    _show(out, "DuckDB", sql, str(duckdb.sql(sql)))
    expression = _PANDAS.format(store=str(store))
    frame = eval(expression, {"results": results})  # noqa: S307 - our own text, as it is printed
    _show(out, "pandas", expression, frame.to_string())


def _show(out: Console, title: str, query: str, result: str) -> None:
    out.print(title, style="bold")
    for line in query.splitlines():
        out.print(f"  {line}", style="cyan", soft_wrap=True)
    for line in result.rstrip().splitlines():
        out.print(f"  {line}", soft_wrap=True)
    out.print()
