"""A catalog has one run at a time: a second is refused, and the next one goes on with what is unfinished."""

import json
import shutil
import signal
from collections import Counter
from itertools import cycle, islice
from pathlib import Path

import pytest

from ..worlds.sandbox_world import Samples, SandboxWorld

FILES = 60
EACH_ONCE = Counter({f"{number:02}.wav": 1 for number in range(FILES)})


@pytest.fixture
def catalog(world: SandboxWorld, samples: Samples) -> Path:
    """A folder of sixty accepted files and one that is none."""
    folder = world.deliver(islice(cycle(samples.one_files), FILES))
    (folder / "empty.wav").touch()
    return folder


def answered(world: SandboxWorld, *runs: str) -> Counter[str]:
    """Count the answers of POST /verify that each file got, in these runs or in all."""
    names = {(row["run_id"], row["manifest_row"]): Path(row["audio"]).name for row in world.table("verdicts")}
    calls = (row for row in world.table("exchanges") if row["run_id"] in (runs or runs_of(world)))
    rows = (row for row in calls if row["call"] == "verify" and row["status"] == 200)
    return Counter(names[row["run_id"], row["manifest_row"]] for row in rows)


def answered_and_written(world: SandboxWorld) -> Counter[str]:
    """Count the answers that were not lost in a kill: each of a leg that wrote the file's row as well."""
    written = {(row["run_id"], row["leg"], row["manifest_row"]): row["audio"] for row in world.table("verdicts")}
    calls = (row for row in world.table("exchanges") if row["call"] == "verify" and row["status"] == 200)
    answers = ((row["run_id"], row["leg"], row["manifest_row"]) for row in calls)
    return Counter(Path(written[answer]).name for answer in answers if answer in written)


def runs_of(world: SandboxWorld) -> list[str]:
    return sorted(path.name for path in world.results.glob("_runs/*"))


def endings(world: SandboxWorld) -> list[list[str]]:
    legs = {run: [leg for leg in world.legs() if leg["run_id"] == run] for run in runs_of(world)}
    return [[str(leg["ended_by"]) for leg in legs[run]] for run in runs_of(world)]


def test_a_live_run_refuses_every_other_of_its_catalog(
    world: SandboxWorld, catalog: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 9 and one line that names the run, its process and `status`; nothing is planned or sent for it."""
    world.run("verify", str(catalog), "--max-calls", "9")
    (world.folder / "link").symlink_to(catalog)
    world.operator.add_fault("verify", "slow", after=10, seconds=3.0)
    process = world.start("resume")
    world.wait_for(lambda: world.journalled(2) or process.poll() is not None)
    capsys.readouterr()

    attempts = (["verify", str(catalog), "--max-age", "30d"], ["verify", f"{catalog}/../link"], ["resume"])
    codes = [world.run(*attempt) for attempt in attempts]
    lines = capsys.readouterr().err.splitlines()
    world.operator.clear_faults()
    process.wait(timeout=100)

    (run_id,) = runs_of(world)
    assert codes == [9] * len(attempts)
    assert len(lines) == len(codes)
    assert all(f"run {run_id} " in line and f"process {process.pid} on " in line for line in lines)
    assert all(line.endswith(f"proofsweep status {run_id}") for line in lines)
    assert answered(world) == EACH_ONCE


def test_the_same_command_goes_on_and_then_takes_what_was_added(
    world: SandboxWorld, catalog: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What has a row is not paid again, the ineligible file is listed once, and the object is of the last run.

    What the killed leg spent beyond its journal is not guessed; the calls that the next one repeats are counted.
    """
    world.interrupt(str(catalog), signal.SIGKILL)
    charged_to_dead = world.charged
    shutil.copy(catalog / "00.wav", catalog / "added.wav")
    capsys.readouterr()

    code = world.run("verify", str(catalog), "--json")

    told = capsys.readouterr()
    whole = json.loads(told.out)
    first, second = runs_of(world)
    assert code == 3
    assert f"Run {first} is unfinished and goes on: " in told.err
    assert (whole["run_id"], whole["accepted"], whole["skipped"]) == (second, 1, FILES + 1)
    assert endings(world) == [["killed", "complete"], ["complete"]]
    dead, *others = sorted(world.legs(), key=lambda leg: (leg["run_id"], leg["leg"]))
    finished = {row["manifest_row"] for row in world.table("verdicts") if (row["run_id"], row["leg"]) == (first, 1)}
    calls = (row for row in world.table("exchanges") if (row["run_id"], row["leg"]) == (first, 1))
    repeated = [row for row in calls if row["call"] in {"uploads", "verify"} and row["manifest_row"] not in finished]
    assert dead["calls_unrecorded"] is None
    assert dead["calls"] <= charged_to_dead
    assert sum(leg["calls"] for leg in others) == world.charged - charged_to_dead
    assert [leg["calls_again"] for leg in (dead, *others)] == [0, len(repeated), 0]
    assert answered_and_written(world) == EACH_ONCE + Counter(["added.wav"])
    assert world.run("resume") == 0


def test_a_nightly_command_goes_on_with_what_another_one_left(
    world: SandboxWorld, catalog: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What an unfinished run has to do is due. Conditions that leave some of its rows out are a question.

    It is exit code 2 then, and one line that names `resume` and `stop --for-good`. A run that goes on alone, when
    nothing was added, gives its code, and its summary is shown once.
    """
    (catalog / "empty.wav").unlink()
    world.run("verify", str(catalog), "--max-calls", "25")
    charged = world.charged
    capsys.readouterr()

    refused = world.run("verify", str(catalog), "--max-age", "30d", "--where", "name = '00.wav'")

    (run_id,) = runs_of(world)
    (line,) = capsys.readouterr().err.splitlines()
    assert (refused, world.charged) == (2, charged)
    assert f"proofsweep resume {run_id} --results {world.results_url}" in line
    assert f"proofsweep stop --for-good {run_id} --results {world.results_url}" in line
    assert "(all rows)" in line
    assert world.run("verify", str(catalog), "--since-last") == 0
    assert capsys.readouterr().out.count("every row has its outcome") == 1
    assert endings(world) == [["window", "complete"]]
    assert answered(world) == EACH_ONCE


def test_a_new_plan_leaves_out_what_a_killed_run_has_in_its_journal(
    world: SandboxWorld, catalog: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The older run is superseded: no command goes on with it, its codes ask for nothing, and an audit is content."""
    world.interrupt(str(catalog), signal.SIGKILL)
    (old,) = runs_of(world)

    given_up = world.run("stop", "--for-good", old)
    code = world.run("verify", str(catalog), "--max-age", "30d")

    _, new = runs_of(world)
    rows = Counter(row["run_id"] for row in world.table("verdicts") if row["outcome"] == "accepted")
    assert (given_up, code) == (0, 3)
    assert endings(world) == [["killed", "superseded"], ["complete"]]
    assert (rows[old] > 0, rows[old] + rows[new]) == (True, FILES)
    finished = {Path(row["audio"]).name for row in world.table("verdicts") if row["run_id"] == old}
    assert not finished & set(answered(world, new))
    charged = world.charged
    capsys.readouterr()
    codes = [world.run(*words) for words in (["resume"], ["resume", old], ["status", old], ["audit"])]
    assert ({*codes} <= {0, 3}, codes[-1], world.charged) == (True, 0, charged)
    assert "superseded" in capsys.readouterr().out


def test_a_second_run_that_cannot_be_planned_hides_nothing_of_the_first(world: SandboxWorld, catalog: Path) -> None:
    """The first one is reported, and the higher of both exit codes is given: 8 for a catalog that is away meanwhile."""
    shutil.copy(catalog / "00.wav", catalog / "60.wav")
    listed = world.folder / "list.csv"
    listed.write_text("\n".join(["audio", *(f"catalog/{number:02}.wav" for number in range(FILES + 1))]))
    world.run("verify", str(listed), "--max-calls", "20")
    world.operator.set_lane(10, 5)
    process = world.start("verify", str(listed), "--json")
    world.wait_for(lambda: world.begun(2) or process.poll() is not None)
    listed.unlink()

    assert process.wait(60) == 8, world.logs
    assert f'"run_id": "{runs_of(world)[0]}"' in world.logs
    assert "is it mounted?" in world.logs
    assert endings(world) == [["window", "complete"]]
