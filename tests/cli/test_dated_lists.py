"""A list comes under a new name each time: with one name for all, the newest takes the place of the older ones."""

import json
import os
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
    """What the new list lacks is then gone, also for the views in a DuckDB of one's own."""
    first = listed(label, "katalog.csv", *(f"{kind} {number}.wav" for kind in ("good", "bad") for number in range(3)))
    other = listed(label, "other.csv", "bad 2.wav")
    verify_night(first)
    verify_night(other)
    second = listed(label, "katalog_2026-11-27.csv", "good 0.wav", "good 1.wav", "good 2.wav", "bad 0.wav", "new.wav")
    label.credentialed("new.wav")

    monkeypatch.setenv("PROOFSWEEP_CATALOG__NAME", "music")
    run_id = verify_night(second, since_last=True)

    stands = states(proofsweep)
    assert (stands["bad 0.wav"], stands["bad 1.wav"], stands["bad 2.wav"]) == ("rejected", "gone", "rejected")
    assert "1 more is gone" in proofsweep("rejects").stdout
    covered = json.loads(proofsweep("query", "FROM coverage ORDER BY catalog", "--format", "json").stdout)
    assert [(Path(row["catalog"]).name, row["files"], row["gone"]) for row in covered] == [
        ("katalog_2026-11-27.csv", 5, 1),
        ("other.csv", 1, 0),
    ]
    named = [each["catalog"] for each in json.loads(proofsweep("status", "--json").stdout)["catalogs"]]
    assert sorted(Path(each).name for each in named) == ["katalog_2026-11-27.csv", "other.csv"]
    assert "good 0.wav" not in proofsweep("diff", run_id or "", "--format", "csv").stdout

    third = listed(label, "katalog_2026-11-28.csv", "good 0.wav", "good 1.wav")
    os.utime(label.folder / "good 0.wav", (1, 1))
    verify_night(third, since_last=True)
    assert [name for name, state in sorted(states(proofsweep).items()) if state == "gone"] == [
        "bad 0.wav",
        "bad 1.wav",
        "good 2.wav",
        "new.wav",
    ]
    assert proofsweep("audit").returncode == 0
