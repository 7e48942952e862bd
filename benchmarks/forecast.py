"""Hold the forecast of `plan` against ten nights of the sandbox with other rates, sizes and failures.

Run from the checkout: `python -m benchmarks.forecast [--seconds 60] [--only NAME] [--keep FOLDER]`. For each night, a
short run over some files teaches. Then `plan` forecasts the night, and `verify` runs it, as a person would: the start
of the program counts. Twenty runs take some twenty minutes.
"""

import argparse
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import wave
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path

import httpx

import proofsweep_sandbox as sandbox

_TAUGHT_SHARE = 0.3  # of the night's rows, in the run that teaches
_FILES = 24  # different ones; the manifest repeats them
_MOST_ERROR = 0.25
_LEAST_RIGHT = 0.9
_OPEN_LANE = (5_000.0, 5_000.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NightSpec:
    """A night and what limits it.

    Attributes:
        files_per_second: about how fast it goes, which gives the number of rows.
        lane: calls per second, and the burst.
        delays: seconds that the answer to a call waits, by its name.
        kilobytes: the bounds of the files' sizes.
        bytes_per_second: what the link to the storage carries.
        failing: the share of the calls that is answered with 500, in the night and in the run before.
        taught_failing: that share in the run before, if it is another one.
        settings: further settings of both runs.
    """

    name: str
    files_per_second: float
    lane: tuple[float, float] = _OPEN_LANE
    delays: Mapping[str, float] = field(default_factory=dict)
    kilobytes: tuple[int, int] = (4, 40)
    bytes_per_second: float | None = None
    failing: float = 0.0
    taught_failing: float | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


NIGHTS = (
    NightSpec(name="20 calls a second", files_per_second=10, lane=(20, 20)),
    NightSpec(name="40 a second, a burst of 10", files_per_second=20, lane=(40, 10)),
    NightSpec(name="8 a second, a burst of 60", files_per_second=4, lane=(8, 60)),
    NightSpec(name="12 a second, 5 % fail", files_per_second=6, lane=(12, 12), failing=0.05),
    NightSpec(name="20 a second, 15 % fail", files_per_second=8, lane=(20, 20), failing=0.15),
    NightSpec(name="20 a second, 30 % failed before", files_per_second=10, lane=(20, 20), taught_failing=0.3),
    NightSpec(name="14 a second, files of 0.1 to 1.4 MB", files_per_second=7, lane=(14, 14), kilobytes=(100, 1_400)),
    NightSpec(name="an uplink of 4 MB/s", files_per_second=4, kilobytes=(400, 1_600), bytes_per_second=4e6),
    NightSpec(
        name="four workers",
        files_per_second=7,
        delays={"uploads": 0.1, "verify": 0.4},
        settings={"PACE__WORKERS": "4"},
    ),
    NightSpec(
        name="slow answers, 30 a second",
        files_per_second=15,
        lane=(30, 30),
        delays={"uploads": 0.5, "verify": 1.5},
    ),
)


@dataclass(frozen=True, slots=True)
class Compared:
    """What was said of a night, and how long it took."""

    rows: int
    said_seconds: float
    seconds: float
    pace_binds: str

    @property
    def error(self) -> float:
        """How much later the end was said to be, as a share of the time."""
        return self.said_seconds / self.seconds - 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="about how long each night takes")
    parser.add_argument("--only", default="", help="the nights whose name contains this")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the results stores here")
    chosen = parser.parse_args()
    print("| night | files | forecast | real | error | limited by |\n|---|---|---|---|---|---|", flush=True)
    errors = []
    for spec in (each for each in NIGHTS if chosen.only in each.name):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) if chosen.keep is None else chosen.keep / spec.name.replace(" ", "-").replace("/", "-")
            folder.mkdir(parents=True, exist_ok=True)
            found = compare(spec, folder, chosen.seconds)
        errors.append(abs(found.error))
        times = f"{found.said_seconds:.1f} s | {found.seconds:.1f} s | {found.error:+.0%}"
        print(f"| {spec.name} | {found.rows:,} | {times} | {found.pace_binds} |", flush=True)
    right = sum(error <= _MOST_ERROR for error in errors)
    print(f"| within {_MOST_ERROR:.0%} | {right} of {len(errors)} | | | asked: {_LEAST_RIGHT:.0%} | |")


def compare(spec: NightSpec, folder: Path, seconds: float) -> Compared:
    """Teach, forecast and run one night."""
    with sandbox.launch(folder / "sandbox", module="benchmarks.slow_link_sandbox") as running:
        rows = max(24, round(spec.files_per_second * seconds))
        audio = recordings(folder / "audio", running.operator, spec.kilobytes)
        environment = configure(spec, folder, running)
        taught = manifest(folder / "earlier.csv", audio, max(20, round(rows * _TAUGHT_SHARE)))
        tonight = manifest(folder / "tonight.csv", audio, rows)
        running.operator.set_lane(*spec.lane)
        httpx.put(f"{running.operator_url}/link", content=json.dumps(spec.bytes_per_second)).raise_for_status()
        set_faults(running.operator, spec, spec.failing if spec.taught_failing is None else spec.taught_failing)
        proofsweep(["verify", str(taught)], environment, folder)
        set_faults(running.operator, spec, spec.failing)
        said = json.loads(proofsweep(["plan", str(tonight), "--json"], environment, folder))
        began = time.monotonic()
        proofsweep(["verify", str(tonight)], environment, folder)
        return Compared(rows, said["seconds"], time.monotonic() - began, said["pace_binds"])


def set_faults(operator: sandbox.Operator, spec: NightSpec, failing: float) -> None:
    """Let calls wait, and a share of them fail, from now on."""
    operator.clear_faults()
    for call, seconds in spec.delays.items():
        operator.add_fault(call, "slow", seconds=seconds)
    for call in ("uploads", "verify") if failing else ():
        operator.add_fault(call, "status", status=500, share=failing)


def configure(spec: NightSpec, folder: Path, running: sandbox.Running) -> dict[str, str]:
    """Return the environment of the runs; every file is sent, however often it comes."""
    (folder / "key").write_text(running.operator.add_tenant("forecast").api_key)
    settings = {
        "SERVICE__BASE_URL": running.base_url,
        "SERVICE__API_KEY_FILE": str(folder / "key"),
        "RESULTS__URL": str(folder / "results"),
        "CATALOG__DEDUPE": "false",
        **spec.settings,
    }
    return {**os.environ, **{f"PROOFSWEEP_{name}": value for name, value in settings.items()}}


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
    if done.returncode not in {0, 3, 4}:
        raise SystemExit(
            f"{arguments[0]} ended with {done.returncode}:\n{done.stdout}\n{(folder / 'log.txt').read_text()}"
        )
    return done.stdout


if __name__ == "__main__":
    main()
