"""Run a small night: a rate-limited lane, faults in one call of a hundred, a quota that ends midway, and one kill -9.

Run from the checkout: `python -m benchmarks.night [--rows 20000] [--rate 100]`. A run over a manifest is killed after a
quarter of its calls, resumed until its quota ends, and resumed again with more quota. Of a hundred calls, one is
answered with a 5xx, and one is served but its answer is lost. The figures come from the results store and from the
sandbox's own record: every row must be there once and correct, and every call must be explained.
"""

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

import duckdb

import proofsweep_sandbox as sandbox

FILES = 200
# Ends a night that does not get on: six times the ten minutes that 20,000 rows take.
DEADLINE_SECONDS = 3_600.0
FAULTS: tuple[tuple[str, str, dict[str, object]], ...] = (
    ("uploads", "status", {"status": 500}),
    ("uploads", "truncate", {}),
    ("slot", "status", {"status": 403}),
    ("verify", "status", {"status": 503}),
    ("verify", "truncate", {}),
)
# The journal is written every second. A writer that is slower than five more seconds lets no new call begin.
MOST_LOST_SECONDS = 6.0
# Keyed calls that were sent and got no answer; only calls for items have faults.
COUNT_LOST_ANSWERS = (
    "SELECT count(*) FROM {exchanges} "
    "WHERE call IN ('uploads', 'verify') AND bytes_sent IS NOT NULL AND request_id IS NULL"
)
ENOUGH_CALLS = 10**9
# Calls per second at the start, the default of `pace.first_rate`; the sandbox's profile starts at 500.
FIRST_RATE = 6.0


@dataclass(frozen=True, slots=True)
class Night:
    """One catalog, one key, and the folder of the results."""

    folder: Path
    operator: sandbox.Operator
    tenant: str
    samples: list[sandbox.Sample]
    rows: int

    @property
    def results(self) -> Path:
        """The results store."""
        return self.folder / "results"

    def start(self, *command: str) -> "subprocess.Popen[bytes]":
        """Start a command as a person would."""
        with (self.folder / "log.txt").open("a") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "proofsweep_cli", *command, "--results", str(self.results)],
                stdout=log,
                stderr=log,
            )

    def used(self) -> int:
        """Return the number of calls that the sandbox has charged."""
        return sum(int(key["limit"]) - int(key["remaining"]) for key in self.operator.usage(self.tenant))

    def query(self, sql: str) -> list[tuple[object, ...]]:
        """Query the tables of the results, which the SQL names `{verdicts}`, `{exchanges}` and `{runs}`."""
        tables = {name: f"'{self.results}/{name}/*/*.parquet'" for name in ("verdicts", "exchanges", "runs")}
        return duckdb.execute(sql.format(**tables)).fetchall()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rate", type=float, default=100.0, help="calls a second that the lane lets through")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sandbox.launch(Path(folder) / "sandbox") as running:
        night = configure(Path(folder), running, chosen.rows)
        night.operator.set_lane(chosen.rate, chosen.rate / 2)
        began = time.monotonic()
        print("| what | count |\n|---|---|")
        codes, killed_at = run_night(night)
        print(f"| exit codes | {', '.join(map(str, codes))} |")
        print_lines({"seconds": round(time.monotonic() - began)})
        if not all([print_rows(night), print_calls(night, killed_at)]):
            sys.exit("The figures of the night do not add up.")


def configure(folder: Path, running: sandbox.Running, rows: int) -> Night:
    """Write the catalog and set the environment."""
    samples = sandbox.write_catalog(folder / "catalog", running.operator, files=min(FILES, rows))
    tenant = running.operator.add_tenant("label", quota=round(rows * 1.2))
    (folder / "key").write_text(tenant.api_key)
    with (folder / "catalog.csv").open("w", newline="") as file:
        manifest = csv.writer(file)
        manifest.writerow(["audio", "sidecar"])
        manifest.writerows((each.audio, each.sidecar or "") for each in islice(cycle(samples), rows))
    os.environ |= {
        "PROOFSWEEP_SERVICE__BASE_URL": running.base_url,
        "PROOFSWEEP_SERVICE__API_KEY_FILE": str(folder / "key"),
        "PROOFSWEEP_CATALOG__DEDUPE": "false",
        "PROOFSWEEP_PACE__FIRST_RATE": str(FIRST_RATE),
    }
    for call, kind, members in FAULTS:
        running.operator.add_fault(call, kind, share=0.01, **members)
    return Night(folder, running.operator, tenant.tenant, samples, rows)


def run_night(night: Night) -> tuple[list[int], float]:
    """Verify and kill it, resume until the quota ends, resume with more; return the exit codes and the kill's time."""
    first = night.start("verify", str(night.folder / "catalog.csv"))
    deadline = time.monotonic() + DEADLINE_SECONDS
    while night.used() < night.rows // 2 and first.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    first.kill()
    killed_at = time.time()
    codes = [first.wait(), night.start("resume").wait(DEADLINE_SECONDS)]
    night.operator.set_quota(ENOUGH_CALLS, tenant=night.tenant)
    return [*codes, night.start("resume").wait(DEADLINE_SECONDS)], killed_at


def print_rows(night: Night) -> bool:
    """Print the counts of rows; return whether each row is there once, with its own verdict."""
    expected = {row: each.verdict for row, each in enumerate(islice(cycle(night.samples), night.rows))}
    found = [(int(str(row)), verdict) for row, verdict in night.query("SELECT manifest_row, verdict FROM {verdicts}")]
    lines = {
        "rows": len(found),
        "rows lost": len(expected.keys() - {row for row, _ in found}),
        "rows doubled": sum(times - 1 for times in Counter(row for row, _ in found).values()),
        "rows wrong": sum(expected.get(row) != verdict for row, verdict in found),
    }
    print_lines(lines)
    return list(lines.values()) == [night.rows, 0, 0, 0]


def print_calls(night: Night, killed_at: float) -> bool:
    """Print the counts of calls; return whether every call is explained.

    A call beyond the quota is sent, and the sandbox does not charge it. A call of the killed process that is not in its
    journal is charged, and is in no table. It must be from the last seconds before the kill, or have been in flight.
    """
    columns = ("calls", "calls_again", "throttled")
    legs = night.query("SELECT calls, calls_again, throttled FROM {runs}")
    spent = {name: sum(int(str(leg[at])) for leg in legs) for at, name in enumerate(columns)}
    ((lost,),) = night.query(COUNT_LOST_ANSWERS)
    answered = {row[0] for row in night.query("SELECT request_id FROM {exchanges} WHERE request_id IS NOT NULL")}
    served = [each for each in night.operator.exchanges() if each["tenant"] == night.tenant]
    refused = sum(each["request_id"] in answered and not each["charged"] and each["origin"] == "api" for each in served)
    unwritten = [each for each in served if each["request_id"] not in answered and each["charged"]]
    unrecorded = len(unwritten) - int(str(lost))
    oldest_seconds = max((killed_at - each["at"] for each in unwritten if each["status"] is not None), default=0.0)
    difference = spent["calls"] - night.used()
    unexplained = difference - refused + unrecorded
    print_lines(
        {
            "calls in `runs`": spent["calls"],
            "calls that the sandbox charged": night.used(),
            "of these, answers that nobody wrote down": len(unwritten),
            "of these, calls of the killed process that are in no table": unrecorded,
            "seconds before the kill, the oldest of them": round(max(0.0, oldest_seconds), 1),
            "calls made again": spent["calls_again"],
            "calls throttled": spent["throttled"],
        }
    )
    print(
        f"\n`runs` has {spent['calls']:,} calls, the sandbox charged {night.used():,}: {difference:,} apart. "
        f"{refused:,} were refused because the quota was used up, and not charged. "
        f"{unrecorded:,} of the killed process are in no table. Unexplained: {unexplained:,}."
    )
    return unexplained == 0 and oldest_seconds <= MOST_LOST_SECONDS


def print_lines(lines: Mapping[str, object]) -> None:
    """Print lines of the table."""
    print("\n".join(f"| {name} | {figure:,} |" for name, figure in lines.items()))


if __name__ == "__main__":
    main()
