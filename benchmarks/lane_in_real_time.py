"""Compare the product in real time with the simulation: one lane, one run, both figures.

Run from the checkout: `python -m benchmarks.lane_in_real_time [--rate 20] [--burst 20] [--seconds 150]`.
`proofsweep verify` sends small files to a sandbox with a lane that it does not know. The calls from the tenth second to
the last are counted, from the run's own `exchanges` and from the sandbox's record. The simulation lasts as long.
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
from http import HTTPStatus
from itertools import cycle, islice
from pathlib import Path

import duckdb

import proofsweep_sandbox as sandbox
from benchmarks.simulation.gateways import Gateway
from benchmarks.simulation.scenarios import Scenario, Target
from benchmarks.simulation.trial import CLIENTS, LEARNED, measure, worst

_FILES = 200
# The pacer's first search for the rate is not counted, as in the scenario "R40 B20, cold start".
_SINCE_SECONDS = 10
# As many as the figures of docs/quota.md use.
_SEEDS = 5


@dataclass(frozen=True, slots=True)
class SentCall:
    """The time of one keyed call, in seconds of any clock, and the status of its answer."""

    at: float
    status: int | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=20.0)
    parser.add_argument("--burst", type=float, default=20.0)
    parser.add_argument("--seconds", type=int, default=150)
    parser.add_argument("--first-rate", type=float, default=6.0, help="calls per second at the start")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sandbox.launch(Path(folder) / "sandbox") as running:
        tenant = configure(Path(folder), running, round(chosen.rate * chosen.seconds / 2))
        os.environ["PROOFSWEEP_PACE__FIRST_RATE"] = str(chosen.first_rate)
        running.operator.set_lane(chosen.rate, chosen.burst)
        verify(Path(folder))
        print("| counted by | calls | goodput | 429s |\n|---|---|---|---|")
        print_line("the run's own exchanges", own_calls(Path(folder) / "results"), chosen.rate)
        print_line("the sandbox", sandbox_calls(running.operator, tenant), chosen.rate)
    print_simulation(chosen.rate, chosen.burst, chosen.seconds)


def configure(folder: Path, running: sandbox.Running, rows: int) -> str:
    """Write a catalog with this number of rows and set the environment; return the tenant."""
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
        "PROOFSWEEP_CATALOG__DEDUPE": "false",
    }
    return tenant.tenant


def verify(folder: Path) -> None:
    """Run the product until it ends; some of the catalog's files are rejected, as they must be."""
    arguments = ["verify", str(folder / "catalog.csv"), "--results", str(folder / "results")]
    done = subprocess.run(
        [sys.executable, "-m", "proofsweep_cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode not in {0, 3}:
        raise SystemExit(f"verify ended with {done.returncode}:\n{done.stdout}")


def own_calls(results: Path) -> list[SentCall]:
    """Read the calls for items from the run's own table."""
    rows = duckdb.read_parquet(f"{results}/exchanges/*/*.parquet").filter("call IN ('uploads', 'verify')")
    return [SentCall(at, status) for at, status in rows.project("epoch(started_at), status").fetchall()]


def sandbox_calls(operator: sandbox.Operator, tenant: str) -> list[SentCall]:
    """Read the calls for items from the sandbox."""
    exchanges = [each for each in operator.exchanges() if each["tenant"] == tenant and each["origin"] == "api"]
    return [SentCall(each["at"], each["status"]) for each in exchanges if each["call"] in {"uploads", "verify"}]


def print_line(name: str, calls: Iterable[SentCall], rate: float) -> None:
    """Print the goodput and the share of 429s."""
    ordered = sorted(calls, key=lambda call: call.at)
    first, last = (
        ordered[0].at + _SINCE_SECONDS,
        ordered[-1].at - 1,
    )  # in the last second there is not enough left to send
    counted = [call for call in ordered if first <= call.at < last]
    refused = sum(call.status == HTTPStatus.TOO_MANY_REQUESTS for call in counted)
    goodput = (len(counted) - refused) / (rate * (last - first))
    print(f"| {name} | {len(counted):,} | {goodput:.3f} | {refused / len(counted):.2%} |", flush=True)


def print_simulation(rate: float, burst: float, seconds: int) -> None:
    """Print the figures of the simulation for this lane."""
    lane = Scenario(
        name="own lane",
        gateway=partial(Gateway, rate=rate, burst=burst),
        seconds=seconds,
        since=_SINCE_SECONDS,
        must=Target(goodput=0.0),
    )
    trials = [measure(lane, seed, CLIENTS[LEARNED]) for seed in range(_SEEDS)]
    for name, figures in (("the simulation, worst of five seeds", worst(trials)), ("its first seed", trials[0])):
        print(f"| {name} | | {figures.goodput:.3f} | {figures.share:.2f}% |")


if __name__ == "__main__":
    main()
