"""Measure files per second with one process and with a worker process for each partition, where CPU is the limit.

Run from the checkout: `python -m benchmarks.processes [--rows 12000] [--partitions 2 4]`. Each run verifies the same
manifest of small files against the null service, with Prefect and the results store as in a real run. The rate is
that of the middle of a run, so the start of the cluster does not count.
"""

import argparse
import os
import tempfile
from datetime import datetime
from pathlib import Path

import duckdb

from benchmarks import children
from benchmarks.null_service import Running, launched

FILE_BYTES = 4096
AT_ONCE = 64
# The part of the rows that counts: before it processes start, after it some have no row left.
FIRST, LAST = 0.15, 0.75


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=12_000)
    parser.add_argument("--partitions", type=int, nargs="+", default=[2, 4])
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, launched(Path(name)) as service, children.prefect_server():
        folder = Path(name)
        catalog = children.manifest(folder, children.waves(folder, FILE_BYTES, 50), chosen.rows)
        print("| work | files a second | to threads |\n|---|---|---|")
        threads = rate(catalog, service, {})
        print(f"| threads | {threads:.0f} | 1.00 |", flush=True)
        for partitions in chosen.partitions:
            found = rate(catalog, service, {"PROOFSWEEP_PARTITIONS": str(partitions)})
            print(f"| partitions: {partitions} | {found:.0f} | {found / threads:.2f} |", flush=True)


def rate(catalog: Path, service: Running, settings: dict[str, str]) -> float:
    """Verify the catalog; give the files that were finished per second in the middle of the run."""
    os.environ |= settings
    results = Path(tempfile.mkdtemp(dir=catalog.parent))
    children.measure(["proofsweep_cli", "verify", str(catalog), "--results", str(results)], service, at_once=AT_ONCE)
    query = f"SELECT finished_at FROM '{results}/verdicts/*/*.parquet' ORDER BY 1"  # noqa: S608 - our own folder
    ends: list[datetime] = [row[0] for row in duckdb.execute(query).fetchall()]
    first, last = int(len(ends) * FIRST), int(len(ends) * LAST)
    return (last - first) / (ends[last] - ends[first]).total_seconds()


if __name__ == "__main__":
    main()
