"""`verify` takes a part of a catalog: what is due, what meets a condition, or what was tried longest ago."""

import json
import os
from pathlib import Path

import pytest

from ..worlds.command_world import wav_of
from ..worlds.sandbox_world import Samples, SandboxWorld

pytestmark = pytest.mark.usefixtures("without_prefect")

SUPPLIERS = ("acme", "zeta", "acme", "zeta", "")
OLD = 1_700_000_000.0


@pytest.fixture
def manifest(world: SandboxWorld, samples: Samples) -> Path:
    """A manifest of five accepted files of two suppliers; the last two files are new."""
    folder = world.deliver(samples.one_files[: len(SUPPLIERS)])
    for number in range(3):
        os.utime(folder / f"{number:02}.wav", (OLD, OLD))
    lines = [f"{number:02}.wav,{supplier}" for number, supplier in enumerate(SUPPLIERS)]
    (folder / "music.csv").write_text("\n".join(["audio,supplier", *lines, ""]))
    return folder / "music.csv"


def test_the_files_of_one_supplier_are_planned_and_verified(
    world: SandboxWorld, manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was left out was never verified, and what has its answer is not paid again."""
    acme = ("--where", "supplier = 'acme'")

    assert world.run("plan", str(manifest), *acme, "--json") == 0
    planned = json.loads(capsys.readouterr().out)
    assert (planned["items"], planned["eligible"], planned["skipped"]) == (2, 2, 3)
    assert not world.results.exists()
    assert world.run("plan", str(manifest), *acme, "--newer-than", "2d") == 0
    assert "nothing is due; rows that do not meet --where \"supplier = 'acme'\" --newer-than 2d: 5" in (
        capsys.readouterr().out
    )

    assert world.run("verify", str(manifest), *acme) == 0
    assert "2 rows, 2 to send, 3 skipped" in capsys.readouterr().out
    assert world.run("verify", str(manifest), "--newer-than", "2d", "--since-last") == 0
    assert world.run("verify", str(manifest), "--where", "supplier IS NULL", "--since-last") == 0
    charged = world.charged
    assert world.run("verify", str(manifest), "--max-age", "30d") == 0
    assert world.files_by_run() == [["00", "02"], ["03", "04"], ["01"]]
    assert world.run("verify", str(manifest), "--max-age", "30d", *acme) == 0
    assert world.charged - charged < 5


def test_a_part_of_a_catalog_says_nothing_of_the_rest(
    world: SandboxWorld, manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`diff` names the newest whole run beside it; a file that was left out is not gone, and one that is gone is."""
    world.run("verify", str(manifest))
    whole = min(path.name for path in world.results.glob("_runs/*"))
    world.run("verify", str(manifest), "--where", "supplier = 'acme'")
    capsys.readouterr()

    assert world.run("diff", "--catalog", str(manifest), "--json") == 0
    told, note = capsys.readouterr()
    part = max(path.name for path in world.results.glob("_runs/*"))
    assert json.loads(told)["run_id"] == part
    assert f"the newest of the whole catalog is {whole}" in note
    assert "gone" not in told
    plan = json.loads((world.results / "_runs" / part / "plan.json").read_text())
    assert (plan["selection"], plan["skipped"], plan["unmet"]) == ("--where \"supplier = 'acme'\"", 3, 3)


def test_only_files_that_stand_so_are_verified(
    world: SandboxWorld, manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By their newest answers; an interrupted run goes on, unless the options leave some of its rows out."""
    (manifest.parent / "01.wav").write_bytes(wav_of(bytes(8)))

    world.run("verify", str(manifest))
    capsys.readouterr()

    assert world.run("plan", str(manifest), "--only", "unreadable", "--only", "timeout", "--json") == 0
    planned = json.loads(capsys.readouterr().out)
    assert (planned["items"], planned["skipped"]) == (1, 4)
    assert world.run("verify", str(manifest), "--only", "rejected") == 3
    accepted = ("verify", str(manifest), "--only", "accepted")
    assert world.run(*accepted, "--max-calls", "6") == 6
    assert world.run("verify", str(manifest), "--only", "rejected") == 2
    assert "takes rows that --only rejected leaves out (--only accepted)" in " ".join(capsys.readouterr().err.split())
    assert world.run(*accepted) == 0
    assert world.files_by_run() == [["00", "01", "02", "03", "04"], ["01"], ["00", "02", "03", "04"]]


def test_only_what_changed_since_its_answer_is_verified(
    world: SandboxWorld, manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows that are left out are counted, and said; without a change there is no run."""
    world.run("verify", str(manifest))
    charged = world.charged
    capsys.readouterr()

    assert world.run("verify", str(manifest), "--since-last") == 0
    assert "nothing is due" in capsys.readouterr().out
    assert world.run("verify", str(manifest), "--max-age", "30d", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"items": 0, "skipped": 5}
    assert world.charged == charged

    os.utime(manifest.parent / "03.wav", (1, 1))
    assert world.run("verify", str(manifest), "--since-last") == 0
    assert "1 row, 1 to send, 4 skipped" in capsys.readouterr().out
    assert world.files_by_run()[1] == ["03"]
    assert [leg["skipped"] for leg in sorted(world.table("runs"), key=lambda leg: str(leg["run_id"]))] == [0, 4]


def test_a_night_on_which_only_less_is_listed_is_told(
    world: SandboxWorld, manifest: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person has excluded a file: a run without a row says so once, and nobody is asked to look at it."""
    (manifest.parent / "04.wav").write_bytes(wav_of(bytes(8)))
    assert world.run("verify", str(manifest)) == 3
    monkeypatch.setenv("PROOFSWEEP_CATALOG__EXCLUDE", '["04.wav"]')
    capsys.readouterr()

    codes = [world.run("verify", str(manifest), "--since-last") for _ in range(2)]

    said = capsys.readouterr().out
    assert (codes, said.count("the run only records"), said.count("nothing is due;")) == ([0, 0], 1, 1)
    assert world.files_by_run() == [["00", "01", "02", "03", "04"]]
    assert [leg["ended_by"] for leg in world.table("runs")] == ["complete", "complete"]
    assert world.run("diff") == world.run("rejects") == 0
    said = capsys.readouterr().out
    assert "1 gone" in said
    assert "No file needs attention" in said


def test_calls_go_to_what_was_tried_longest_ago(world: SandboxWorld, manifest: Path) -> None:
    """Three runs of two files each go round the catalog; each run is whole."""
    codes = [world.run("verify", str(manifest), "--oldest-first", "--max-calls", "7") for _ in range(3)]

    assert codes == [0, 0, 0]
    *first, (last, again) = world.files_by_run()
    assert first == [["00", "01"], ["02", "03"]]
    assert last == "04"
    assert again in {"00", "01"}
    assert {(leg["items"], leg["remaining"], leg["skipped"]) for leg in world.table("runs")} == {(2, 0, 3)}
