"""Hold `plan --rehearse` against ten real nights of the sandbox, each with another limit.

Run from the checkout: `python -m benchmarks.rehearsal [--seconds 40] [--only NAME]
[--keep FOLDER]`. For each night, a short run over
some files teaches what the lane, the answers and the link are like. Then the night is rehearsed, and run. The table
compares how long the rehearsal said that the leg takes with how long it took by the table `runs`. Some twenty runs take
a quarter of an hour; a machine that is busy with other work spoils them.
"""

import argparse
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
import wave
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice
from pathlib import Path

import duckdb
import httpx

import proofsweep_sandbox as sandbox

# A run that only teaches takes this share of the night.
_TAUGHT_SHARE = 0.5
# Different files; the manifest repeats them.
_FILES = 24
# The largest error that is asked for.
_MOST_ERROR = 0.10
_OPEN_LANE = (5_000.0, 5_000.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NightSpec:
    """A night and its limit.

    Attributes:
        files_per_second: about how fast it goes, which gives the number of rows.
        lane: calls per second, and the burst.
        delays: seconds that the answer to a call waits, by its name.
        kilobytes: the bounds of the files' sizes.
        gate: what the sandbox's gate is set to.
        settings: further settings of both runs.
        quota_share: the share of the rows that the quota covers.
        window_share: the share of the night after which the window closes, counted from the rehearsal.
    """

    name: str
    files_per_second: float
    lane: tuple[float, float] = _OPEN_LANE
    delays: Mapping[str, float] = field(default_factory=dict)
    kilobytes: tuple[int, int] = (4, 40)
    gate: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    quota_share: float | None = None
    window_share: float | None = None


NIGHTS = (
    NightSpec(name="a lane of 20 a second", files_per_second=10, lane=(20, 20)),
    NightSpec(name="a lane of 60 with a burst of 15", files_per_second=30, lane=(60, 15)),
    NightSpec(name="a lane of 8 with a burst of 60", files_per_second=5, lane=(8, 60)),
    NightSpec(
        name="eight calls at once", files_per_second=16, delays={"uploads": 0.1, "verify": 0.3}, gate={"at_once": 8}
    ),
    NightSpec(name="an uplink of 4 MB/s", files_per_second=4, kilobytes=(400, 1_600), gate={"bytes_per_second": 4e6}),
    NightSpec(
        name="an uplink of 6 MB/s, a lane of 14",
        files_per_second=7,
        kilobytes=(100, 1_400),
        lane=(14, 14),
        gate={"bytes_per_second": 6e6},
    ),
    NightSpec(
        name="four workers",
        files_per_second=7,
        delays={"uploads": 0.1, "verify": 0.4},
        settings={"PACE__WORKERS": "4"},
    ),
    NightSpec(
        name="32 workers and slow answers",
        files_per_second=14,
        delays={"uploads": 0.5, "verify": 1.5},
        settings={"PACE__WORKERS": "32"},
    ),
    NightSpec(name="a lane of 30, quota for half", files_per_second=30, lane=(30, 30), quota_share=0.5),
    NightSpec(name="a lane of 24, a window", files_per_second=24, lane=(24, 24), window_share=0.8),
)


@dataclass(frozen=True, slots=True)
class Compared:
    """What was said of a night, and what it took; `rows` are those that were finished.

    A window closes at an instant, however long the program takes to start: such a night is compared by its end. The
    others are compared by how long the leg takes.
    """

    said: Mapping[str, object]
    seconds: float
    rows: int
    finished_at: datetime
    has_window: bool

    @property
    def error(self) -> float:
        """How much later the end was said to be, as a share of the time that the leg took."""
        if self.has_window:
            said_at = datetime.fromisoformat(str(self.said["ends_at"]))
            return (said_at - self.finished_at).total_seconds() / self.seconds
        return float(str(self.said["seconds"])) / self.seconds - 1

    @property
    def limits(self) -> str:
        """What was said to limit it, and to end it while rows remain."""
        end = f", ends by {self.said['binds']}" if self.said["rows_left"] else ""
        return f"{self.said['pace_binds']}{end}"


def main() -> None:
    """Run the nights and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=40.0, help="about how long each night takes")
    parser.add_argument("--only", default="", help="the nights whose name contains this")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the results stores here")
    chosen = parser.parse_args()
    print("| night | rehearsed | real | error | limited by |\n|---|---|---|---|---|", flush=True)
    errors = []
    for spec in (each for each in NIGHTS if chosen.only in each.name):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) if chosen.keep is None else chosen.keep / spec.name.replace(" ", "-").replace("/", "-")
            folder.mkdir(parents=True, exist_ok=True)
            found = compare(spec, folder, chosen.seconds)
        errors.append(abs(found.error))
        said = f"{found.said['rows']:,} rows, {found.said['seconds']:.1f} s"
        real = f"{found.rows:,} rows, {found.seconds:.1f} s"
        print(f"| {spec.name} | {said} | {real} | {found.error:+.1%} | {found.limits} |", flush=True)
    print(f"| worst | | | {max(errors):.1%}, asked: {_MOST_ERROR:.0%} | |")


def rows_of(spec: NightSpec, seconds: float) -> int:
    """Return the rows of a night."""
    return max(24, round(spec.files_per_second * seconds))


def compare(spec: NightSpec, folder: Path, seconds: float) -> Compared:
    """Teach, rehearse and run one night."""
    with sandbox.launch(folder / "sandbox", module="benchmarks.gated_sandbox") as running:
        rows = rows_of(spec, seconds)
        audio = recordings(folder / "audio", running.operator, spec.kilobytes)
        environment = configure(spec, folder, running)
        taught = manifest(folder / "earlier.csv", audio, max(20, round(rows * _TAUGHT_SHARE)))
        tonight = manifest(folder / "tonight.csv", audio, rows)
        running.operator.set_lane(*spec.lane)
        for call, delay in spec.delays.items():
            running.operator.set_latency(call, delay)
        httpx.put(f"{running.operator_url}/gate", json=dict(spec.gate)).raise_for_status()
        proofsweep(["verify", str(taught)], environment, folder)
        if spec.quota_share is not None:
            (key,) = running.operator.usage(environment["TENANT"])
            used = int(key["limit"]) - int(key["remaining"])
            running.operator.set_quota(used + round(2 * rows * spec.quota_share), tenant=environment["TENANT"])
        bounds = []
        if spec.window_share is not None:
            closes = datetime.now(UTC) + timedelta(seconds=seconds * spec.window_share)
            bounds = ["--until", f"{closes:%Y-%m-%dT%H:%M:%SZ}"]
        said = json.loads(proofsweep(["plan", str(tonight), "--rehearse", "--json", *bounds], environment, folder))
        proofsweep(["verify", str(tonight), *bounds], environment, folder)
    legs = duckdb.read_parquet(f"{folder}/results/runs/*/*.parquet").order("started_at DESC")
    cells = "epoch(started_at), epoch(finished_at), accepted + rejected + failed"
    began, ended, finished = legs.project(cells).fetchall()[0]
    ended_at = datetime.fromtimestamp(ended, UTC)
    return Compared(said["rehearsal"], ended - began, finished, ended_at, spec.window_share is not None)


def configure(spec: NightSpec, folder: Path, running: sandbox.Running) -> dict[str, str]:
    """Return the environment of the runs; every file is sent, however often it comes."""
    tenant = running.operator.add_tenant("rehearsal")
    (folder / "key").write_text(tenant.api_key)
    settings = {
        "SERVICE__BASE_URL": running.base_url,
        "SERVICE__API_KEY_FILE": str(folder / "key"),
        "RESULTS__URL": str(folder / "results"),
        "CATALOG__DEDUPE": "false",
        "PACE__FIRST_RATE": "6",
        **spec.settings,
    }
    return {**os.environ, **{f"PROOFSWEEP_{name}": value for name, value in settings.items()}, "TENANT": tenant.tenant}


def recordings(folder: Path, operator: sandbox.Operator, kilobytes: tuple[int, int]) -> list[Path]:
    """Make files with credentials; their sizes are spread evenly between the bounds."""
    folder.mkdir()
    chance, made = random.Random(1), []
    for number in range(_FILES):
        size = round(1_000 * (kilobytes[0] + (kilobytes[1] - kilobytes[0]) * number / (_FILES - 1)))
        with wave.open(str(folder / "bare.wav"), "wb") as file:
            file.setparams((1, 2, 44_100, 0, "NONE", ""))
            file.writeframes(chance.randbytes(size // 2 * 2))
        made.append(operator.issue(folder / "bare.wav", folder / f"{number}.wav", song=str(number)).audio)
    chance.shuffle(made)
    return made


def manifest(path: Path, audio: Sequence[Path], rows: int) -> Path:
    """Name files in turn."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["audio"])
        writer.writerows([each] for each in islice(cycle(audio), rows))
    return path


def proofsweep(arguments: list[str], environment: dict[str, str], folder: Path) -> str:
    """Run a command as a person would and return what it printed."""
    with (folder / "log.txt").open("a") as log:
        done = subprocess.run(
            [sys.executable, "-m", "proofsweep_cli", *arguments],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=environment,
            check=False,
        )
    if done.returncode not in {0, 3, 5, 6}:
        raise SystemExit(
            f"{arguments[0]} ended with {done.returncode}:\n{done.stdout}\n{(folder / 'log.txt').read_text()}"
        )
    return done.stdout


if __name__ == "__main__":
    main()
