"""Ask a results store of many nights, as a person in the morning does: `python -m benchmarks.answers [--full]`.

A first night verifies the whole catalog, each later one a part of it. Each answer is a whole command, with its start;
the ratio is to a Python in which DuckDB counts all rows by outcome, without a view. `--full` is a catalog of 1,000,000
files and 400 nights; `--items 10000000 --nights 2` is the one to try latest answers with.
"""

import argparse
import os
import tempfile
from pathlib import Path

from benchmarks.children import Used, run

_PLAIN = "import duckdb; duckdb.sql(\"SELECT outcome, count(*) FROM '{place}' GROUP BY ALL\").fetchall()"
_ANSWERS = {
    "latest answers, counted": ["query", "SELECT outcome, count(*) FROM latest_answer GROUP BY ALL"],
    "changes of the last run, counted": ["query", "SELECT change, count(*) FROM changes WHERE {last} GROUP BY ALL"],
    "status": ["status"],
    "status of the last run": ["status", "{run}"],
    "rejects": ["rejects"],
    "diff": ["diff"],
    "explain a file": ["explain", "{item}"],
    "the page of the catalog": ["report", "--file", "{page}"],
    "the page of the last run": ["report", "{run}", "--file", "{page}"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--nights", type=int, default=40)
    parser.add_argument("--rows", type=int, default=500, help="rows of each night but the first")
    parser.add_argument("--full", action="store_true", help="1,000,000 items, 400 nights of 2,500 rows")
    parser.add_argument("--store", type=Path, help="a store that exists, in place of building one")
    chosen = parser.parse_args()
    items, nights, rows = (1_000_000, 400, 2_500) if chosen.full else (chosen.items, chosen.nights, chosen.rows)
    with tempfile.TemporaryDirectory(prefix="proofsweep-answers-") as folder:
        if chosen.store is None:
            sizes = ["--items", str(items), "--nights", str(nights), "--rows", str(rows)]
            run(["-m", "benchmarks.built_store", folder, *sizes], {})  # in a process of its own: this one stays small
        show(chosen.store or Path(folder))


def show(store: Path) -> None:
    run_id = max(folder.name for folder in (store / "_runs").iterdir())
    told = {"run": run_id, "last": f"run_id = '{run_id}'", "item": "label-00/release-000000/track-00000000.wav"}
    os.environ |= {"PROOFSWEEP_RESULTS__URL": str(store), "PROOFSWEEP_SERVICE__ENVIRONMENT": "production"}
    print("| answer | seconds | CPU s | CPU to the plain count | peak MB |\n|---|---|---|---|---|")
    plain = run(["-c", _PLAIN.format(place=f"{store}/verdicts/*/*.parquet")], {})
    _print("DuckDB's count of all rows", plain, plain)
    if not (store / "_latest").exists():
        _print(
            "the base of latest answers, made of all parts",
            run(["-m", "proofsweep.store.latest", str(store)], {}),
            plain,
        )
    with tempfile.TemporaryDirectory() as place:
        for name, command in _ANSWERS.items():
            words = [word.format(**told, page=f"{place}/page.html") for word in command]
            _print(name, run(["-m", "proofsweep_cli", *words], {}, codes=(0, 3)), plain)


def _print(name: str, used: Used, plain: Used) -> None:
    ratio = used.cpu_seconds / plain.cpu_seconds
    figures = f"{used.seconds:.2f} | {used.cpu_seconds:.2f} | {ratio:.1f} | {used.peak_mebibytes:.0f}"
    print(f"| {name} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
