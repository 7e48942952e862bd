"""Whether the product does in real time what the simulation says: one lane, one run, both figures beside each other.

Run from the checkout: `python -m benchmarks.lane_in_real_time [--rate 20] [--burst 20] [--seconds 150]`. `proofsweep
verify` sends small files to a sandbox with such a lane, without knowing it. Counted is from the tenth second to the end
of the sending, from the run's own `exchanges` and from the sandbox's books; the simulation is watched as long.
"""

import argparse
import csv
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from pathlib import Path

import duckdb

import sandbox
from benchmarks.simulation.gateways import Gateway
from benchmarks.simulation.scenarios import Asked, Scenario
from benchmarks.simulation.trial import CLIENTS, LEARNED, measure, worst

_FILES = 200
_SINCE_SECONDS = 10
_SEEDS = 5
_THROTTLED = 429


@dataclass(frozen=True, slots=True)
class Call:
    """One keyed call: when, in seconds of whatever clock, and what it was answered."""

    at: float
    status: int | None


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=20.0)
    parser.add_argument("--burst", type=float, default=20.0)
    parser.add_argument("--seconds", type=int, default=150)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sandbox.launch(Path(folder) / "sandbox") as running:
        tenant = settle_in(Path(folder), running, round(chosen.rate * chosen.seconds / 2))
        running.operator.set_lane(chosen.rate, chosen.burst)
        verify(Path(folder))
        print("| counted by | calls | goodput | 429s |\n|---|---|---|---|")
        print_line("the run's own exchanges", own_calls(Path(folder) / "results"), chosen.rate)
        print_line("the sandbox", told_calls(running.operator, tenant), chosen.rate)
    print_simulation(chosen.rate, chosen.burst, chosen.seconds)


def settle_in(folder: Path, running: sandbox.Running, rows: int) -> str:
    """Write a catalog of so many rows, and export where everything is; give the tenant."""
    samples = sandbox.write_catalog(folder / "catalog", running.operator, files=_FILES)
    tenant = running.operator.add_tenant("lane")
    (folder / "key").write_text(tenant.api_key)
    with (folder / "catalog.csv").open("w", newline="") as file:
        manifest = csv.writer(file)
        manifest.writerow(["audio", "sidecar"])
        sent = [each for each in samples if not each.is_ineligible]
        manifest.writerows((each.audio, each.sidecar or "") for each in islice(cycle(sent), rows))
    os.environ |= {
        "PROOFSWEEP_SERVICE__BASE_URL": running.base_url,
        "PROOFSWEEP_SERVICE__API_KEY_FILE": str(folder / "key"),
        "PROOFSWEEP_PACE__FIRST_RATE": "6",
        "PROOFSWEEP_CATALOG__DEDUPE": "false",
        "PROOFSWEEP_RETRY__STORM_FAILURES": "0",
    }
    return tenant.tenant


def verify(folder: Path) -> None:
    """Run the product to its end; some of the catalog's files are rejected, and that is well."""
    command = ["verify", str(folder / "catalog.csv"), "--results", str(folder / "results")]
    done = subprocess.run([sys.executable, "-m", "cli", *command], capture_output=True, text=True, check=False)
    if done.returncode not in {0, 3}:
        raise SystemExit(f"verify ended with {done.returncode}:\n{done.stdout}{done.stderr}")


def own_calls(results: Path) -> list[Call]:
    """Read the calls for items from the table."""
    rows = duckdb.read_parquet(f"{results}/exchanges/*/*.parquet").filter("call IN ('uploads', 'verify')")
    return [Call(at, status) for at, status in rows.project("epoch(started_at), status").fetchall()]


def told_calls(operator: sandbox.Operator, tenant: str) -> list[Call]:
    """Ask the sandbox for the same."""
    told = [each for each in operator.exchanges() if each["tenant"] == tenant and each["origin"] == "api"]
    return [Call(each["at"], each["status"]) for each in told if each["call"] in {"uploads", "verify"}]


def print_line(name: str, calls: Iterable[Call], rate: float) -> None:
    """Print what was let through of what is possible, and the share of 429s."""
    ordered = sorted(calls, key=lambda call: call.at)
    first, last = ordered[0].at + _SINCE_SECONDS, ordered[-1].at - 1  # at the end there is nothing left to send
    counted = [call for call in ordered if first <= call.at < last]
    refused = sum(call.status == _THROTTLED for call in counted)
    goodput = (len(counted) - refused) / (rate * (last - first))
    print(f"| {name} | {len(counted):,} | {goodput:.3f} | {refused / len(counted):.2%} |", flush=True)


def print_simulation(rate: float, burst: float, seconds: int) -> None:
    """Print what the simulation says of such a lane."""
    lane = Scenario(
        name="its own",
        gateway=partial(Gateway, rate=rate, burst=burst),
        seconds=seconds,
        since=_SINCE_SECONDS,
        must=Asked(goodput=0.0),
    )
    trials = [measure(lane, seed, CLIENTS[LEARNED]) for seed in range(_SEEDS)]
    for name, figures in (("the simulation, worst of five seeds", worst(trials)), ("its first seed", trials[0])):
        print(f"| {name} | | {figures.goodput:.3f} | {figures.share:.2f}% |")


if __name__ == "__main__":
    main()
