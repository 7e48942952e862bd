"""The exit code by which a script of an ordinary night decides: nothing to do, no such file, a refused key."""

import json
import os
from pathlib import Path

import pytest

from .conftest import Command

EMPTY_SELECTIONS = [["--newer-than", "1m"], ["--where", "size < 0"], ["--only", "timeout"], ["--only", "failed"]]


@pytest.mark.parametrize("command", ["verify", "plan"])
def test_a_selection_with_nothing_in_it_is_a_good_night(
    proofsweep: Command, aged: Path, workdir: Path, command: str
) -> None:
    """It costs no call and begins no run; what is said names the condition."""
    for options in EMPTY_SELECTIONS:
        done = proofsweep(command, aged, *options)

        said = [line for line in done.stderr.splitlines() if "New results store" not in line]
        assert (done.returncode, said) == (0, [])
        assert f"nothing is due; rows that do not meet {options[0]}" in done.stdout
        assert proofsweep(command, aged, *options, "--json").returncode == 0
    assert proofsweep("plan", aged, "--list", "--newer-than", "1m").returncode == 0
    assert not list(workdir.glob("results/_runs/*/plan.json"))


def test_a_file_that_is_not_there_is_a_wrong_command(proofsweep: Command, catalog: Path) -> None:
    """One line names it; a folder, and a sidecar that is not there, are no files to check either."""
    audio = next(catalog.rglob("*.wav"))
    told = [
        (["nowhere/song.wav"], "nowhere/song.wav: there is no audio at this location."),
        (["nowhere/song.wav", "--json"], "nowhere/song.wav: there is no audio at this location."),
        ([audio, "nowhere/proof"], "nowhere/proof: there is no sidecar at this location."),
        ([catalog], f"{catalog}: this is a folder. Verify all audio in it: proofsweep verify {catalog}"),
    ]
    for arguments, line in told:
        done = proofsweep("check", *arguments)

        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"proofsweep: {line}\n")


def test_an_empty_sidecar_is_a_finding_about_the_file(proofsweep: Command, catalog: Path, workdir: Path) -> None:
    """It is there, so the command is right."""
    (workdir / "proof").touch()

    done = proofsweep("check", next(catalog.rglob("*.wav")), workdir / "proof")

    assert done.returncode == 3
    assert "The sidecar file holds no bytes." in done.stdout


@pytest.mark.parametrize(
    ("key_file", "code", "why"),
    [("other", 7, "The service refused the key (403)"), ("nowhere", 0, "The key file nowhere cannot be read")],
)
def test_a_plan_whose_key_is_refused_ends_as_its_run_would_but_needs_none(
    proofsweep: Command, catalog: Path, monkeypatch: pytest.MonkeyPatch, *, key_file: str, code: int, why: str
) -> None:
    """The plan is printed all the same; only the quota is unknown."""
    Path("other").write_text("pk_of_another_service\n")
    monkeypatch.setenv("PROOFSWEEP_SERVICE__API_KEY_FILE", key_file)

    shown, document = proofsweep("plan", catalog), proofsweep("plan", catalog, "--json")

    assert (shown.returncode, document.returncode) == (code, code)
    assert "26 rows" in shown.stdout
    assert f"quota: not known: {why}" in shown.stdout
    assert json.loads(document.stdout)["items"] == 26


@pytest.fixture
def aged(tmp_path: Path) -> Path:
    """A manifest of a file that was delivered long ago."""
    (tmp_path / "song.wav").write_bytes(b"RIFF")
    os.utime(tmp_path / "song.wav", (1, 1))
    (tmp_path / "catalog.csv").write_text("audio\nsong.wav\n")
    return tmp_path / "catalog.csv"
