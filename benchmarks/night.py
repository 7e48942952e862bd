"""A night in small: a rate-limited lane, faults by the hundredth, a quota that ends in the middle, and one kill -9.

Run from the checkout: `python -m benchmarks.night [--rows 20000] [--rate 100]`. A run over a manifest is killed a
quarter of the way, resumed until its quota ends, and resumed again with more quota. Of a hundred calls one is answered
with a 5xx, and one is served but its answer is lost. What is printed comes from the results store and from the
sandbox's own books: every row must be there once and right, and every call be accounted for.
"""

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

import duckdb

import sandbox

FILES = 200
PATIENCE_SECONDS = 3_600.0
FAULTS = (
    ("uploads", "status", {"status": 500}),
    ("uploads", "reset_after", {}),
    ("slot", "status", {"status": 403}),
    ("verify", "status", {"status": 503}),
    ("verify", "reset_after", {}),
)
ENOUGH = 10**9
CAREFUL_RATE = 6.0
"""With which a run begins elsewhere; the sandbox's profile begins as if there were no lane."""


@dataclass(frozen=True, slots=True)
class Night:
    """One catalog, one key, and where the results go."""

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
        """Begin a command as a person would."""
        with (self.folder / "log.txt").open("a") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "cli", *command, "--results", str(self.results)], stdout=log, stderr=log
            )

    def used(self) -> int:
        """Give the calls that the sandbox has charged."""
        return sum(int(key["limit"]) - int(key["remaining"]) for key in self.operator.usage(self.tenant))

    def ask(self, query: str) -> list[tuple[object, ...]]:
        """Query a table of the results, named as `{verdicts}` and the like."""
        tables = {name: f"'{self.results}/{name}/*/*.parquet'" for name in ("verdicts", "exchanges", "runs")}
        return duckdb.sql(query.format(**tables)).fetchall()


def main() -> None:
    """Live through the night, and print the morning's books."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rate", type=float, default=100.0, help="calls a second that the lane lets through")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sandbox.launch(Path(folder) / "sandbox") as running:
        night = settle_in(Path(folder), running, chosen.rows)
        night.operator.set_lane(chosen.rate, chosen.rate / 2)
        began = time.monotonic()
        print("| what | count |\n|---|---|")
        codes = live_through(night)
        print(f"| exit codes | {', '.join(map(str, codes))} |")
        print_lines({"seconds": round(time.monotonic() - began)})
        if not all([print_rows(night), print_books(night)]):
            sys.exit("The night's books are wrong.")


def settle_in(folder: Path, running: sandbox.Running, rows: int) -> Night:
    """Write the catalog, and export where everything is."""
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
        "PROOFSWEEP_RETRY__STORM_FAILURES": "0",
        "PROOFSWEEP_PACE__FIRST_RATE": str(CAREFUL_RATE),
    }
    for call, kind, members in FAULTS:
        running.operator.add_fault(call, kind, share=0.01, **members)
    return Night(folder, running.operator, tenant.tenant, samples, rows)


def live_through(night: Night) -> list[int]:
    """Verify, be killed, resume until the quota ends, and resume with more; give the exit codes."""
    first = night.start("verify", str(night.folder / "catalog.csv"))
    deadline = time.monotonic() + PATIENCE_SECONDS
    while night.used() < night.rows // 2 and first.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    first.kill()
    codes = [first.wait(), night.start("resume").wait()]
    night.operator.set_quota(ENOUGH, tenant=night.tenant)
    return [*codes, night.start("resume").wait()]


def print_rows(night: Night) -> bool:
    """Print what became of the rows; say whether each is there once, with the verdict that is its own."""
    wanted = {row: each.verdict for row, each in enumerate(islice(cycle(night.samples), night.rows))}
    found = [(int(str(row)), verdict) for row, verdict in night.ask("SELECT manifest_row, verdict FROM {verdicts}")]
    lines = {
        "rows": len(found),
        "rows lost": len(wanted.keys() - {row for row, _ in found}),
        "rows doubled": sum(times - 1 for times in Counter(row for row, _ in found).values()),
        "rows wrong": sum(wanted.get(row) != verdict for row, verdict in found),
    }
    print_lines(lines)
    return list(lines.values()) == [night.rows, 0, 0, 0]


def print_books(night: Night) -> bool:
    """Print what was spent; say whether the books explain every call.

    A call beyond the quota is sent, and the sandbox does not charge it. Calls that the killed process could not write
    down are in no table; the sandbox has their request IDs.
    """
    columns = ("calls", "calls_again", "throttled")
    legs = night.ask("SELECT calls, calls_again, throttled FROM {runs}")
    spent = {name: sum(int(str(leg[at] or 0)) for leg in legs) for at, name in enumerate(columns)}
    answered = {row[0] for row in night.ask("SELECT request_id FROM {exchanges} WHERE request_id IS NOT NULL")}
    told = [each for each in night.operator.exchanges() if each["tenant"] == night.tenant]
    refused = sum(each["request_id"] in answered and not each["charged"] and each["origin"] == "api" for each in told)
    unseen = sum(each["request_id"] not in answered and bool(each["charged"]) for each in told)
    booked = spent["calls"] + unseen
    difference = booked - night.used()
    print_lines(
        {
            "calls in `runs`": spent["calls"],
            "calls that the sandbox charged": night.used(),
            "of these, calls that a killed process did not write down": unseen,
            "calls made again": spent["calls_again"],
            "calls throttled": spent["throttled"],
        }
    )
    print(
        f"\nWritten down or lost with the kill: {booked:,} calls; charged by the sandbox: {night.used():,}; "
        f"{difference:,} apart. "
        f"{refused:,} were refused for want of quota, and not charged. Unexplained: {difference - refused:,}."
    )
    return difference == refused


def print_lines(lines: dict[str, object]) -> None:
    """Print rows of the table."""
    print("\n".join(f"| {name} | {figure:,} |" for name, figure in lines.items()))


if __name__ == "__main__":
    main()
