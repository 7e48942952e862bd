"""A list comes under a new name each time: with one name for all, the newest takes the place of the older ones."""

import json
from pathlib import Path

import pytest

import proofsweep_sandbox as sandbox

from ..worlds.nights import Label, verify_night
from .conftest import Command


@pytest.fixture
def label(workdir: Path, running: sandbox.Running) -> Label:
    """Three accepted files, and three that are rejected."""
    label = Label(workdir / "music", running.operator)
    for number in range(3):
        label.credentialed(f"good {number}.wav")
        label.plain(f"bad {number}.wav")
    return label


def listed(label: Label, name: str, *files: str) -> Path:
    path = label.folder / name
    path.write_text("\n".join(["audio", *files]) + "\n")
    return path


def states(proofsweep: Command) -> dict[str, str]:
    rows = json.loads(proofsweep("query", "SELECT file, state FROM catalog", "--format", "json").stdout)
    return {row["file"]: row["state"] for row in rows}


def test_the_newest_list_takes_the_place_of_the_older(
    proofsweep: Command, label: Label, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the new list lacks is gone, also for the views in a DuckDB of one's own."""
    monkeypatch.setenv("PROOFSWEEP_CATALOG__NAME", "music")
    files = [f"{kind} {number}.wav" for kind in ("good", "bad") for number in range(3)]
    verify_night(listed(label, "katalog.csv", *files))
    second = listed(label, "katalog_2026-11-27.csv", "good 0.wav", "good 1.wav", "good 2.wav", "bad 0.wav", "new.wav")
    label.credentialed("new.wav")

    run_id = verify_night(second, since_last=True)

    stands = states(proofsweep)
    assert (stands["bad 0.wav"], stands["bad 1.wav"], stands["bad 2.wav"]) == ("rejected", "gone", "gone")
    covered = json.loads(proofsweep("query", "FROM coverage", "--format", "json").stdout)
    assert [(Path(row["catalog"]).name, row["files"], row["gone"]) for row in covered] == [(second.name, 5, 2)]
    assert "good 0.wav" not in proofsweep("diff", run_id or "", "--format", "csv").stdout
    assert proofsweep("audit").returncode == 0
