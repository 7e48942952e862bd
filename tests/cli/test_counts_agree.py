"""Whoever asks how many files are accepted, answered or gone is told the same, each night."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import proofsweep_sandbox as sandbox

from ..worlds.nights import Label, verify_night
from .conftest import Command

Counts = dict[str, int]

COOKBOOK = (Path(__file__).parents[2] / "docs" / "cookbook.md").read_text(encoding="utf-8")


@pytest.fixture
def label(workdir: Path, running: sandbox.Running) -> Label:
    """Six accepted files, two that are rejected, and one that is no audio that can be sent."""
    label = Label(workdir / "music", running.operator)
    for number in range(6):
        label.credentialed(f"good {number}.wav")
    for number in range(2):
        label.plain(f"bad {number}.wav")
    (label.folder / "spoken.mp3").write_bytes(b"\xff\xfb\x90\x00" * 500)
    return label


def test_ten_nights(proofsweep: Command, label: Label) -> None:
    """Files come, go, come back and change, sidecars come late, rejects are verified again, and few calls are spent."""
    names = ("files", "accepted", "answered", "gone")
    bad, good = ([label.folder / f"{kind} {number}.wav" for number in range(3)] for kind in ("bad", "good"))
    nights: list[tuple[Callable[[], object], dict[str, object], tuple[int, ...]]] = [
        (lambda: None, {}, (9, 6, 8, 0)),
        (lambda: label.credentialed("new.wav"), {"since_last": True}, (10, 7, 9, 0)),
        (good[0].unlink, {}, (9, 6, 8, 1)),
        (lambda: label.sidecar_of(bad[0]), {"only": ("rejected",)}, (9, 7, 8, 1)),
        (lambda: label.sidecar_of(label.folder / "spoken.mp3"), {"since_last": True}, (9, 8, 9, 1)),
        (lambda: label.credentialed("good 0.wav"), {"since_last": True}, (10, 9, 10, 0)),
        (lambda: os.utime(good[1], (1, 1)), {"where": "name = 'bad 1.wav'"}, (10, 9, 9, 0)),
        (bad[1].unlink, {"only": ("rejected", "accepted")}, (9, 9, 9, 1)),
        (lambda: good[2].rename(label.folder / "renamed.wav"), {}, (9, 9, 9, 1)),
        (lambda: (label.folder / "bad 0.wav.sidecar").write_bytes(b"none"), {"since_last": True}, (9, 8, 9, 1)),
    ]
    for number, (happens, selection, counted) in enumerate(nights, 1):
        happens()
        assert verify_night(label.folder, **selection) is not None
        ways = told(proofsweep) if number == len(nights) else {"coverage": covered(proofsweep)}
        counts = dict(zip(names, counted, strict=True))
        assert (number, ways) == (number, {way: {name: counts[name] for name in seen} for way, seen in ways.items()})


def asked(proofsweep: Command, question: int) -> list[dict[str, object]]:
    query = re.search(rf"\*\*{question}\. .*?\n```sql\n(.*?)^```$", COOKBOOK, re.DOTALL | re.MULTILINE)
    assert query is not None
    return list(json.loads(proofsweep("query", query[1], "--format", "json").stdout))


def covered(proofsweep: Command) -> Counts:
    [coverage] = json.loads(proofsweep("query", "FROM coverage", "--format", "json").stdout)
    return {name: int(coverage[name]) for name in ("files", "accepted", "answered", "gone")}


def told(proofsweep: Command) -> dict[str, Counts]:
    """Return what each way to ask says of the counts that it has."""
    [status] = json.loads(proofsweep("status", "--json").stdout)["catalogs"]
    states = {str(row["state"]): int(str(row["files"])) for row in asked(proofsweep, 9)}
    [tenth] = asked(proofsweep, 10)
    proofsweep("report", "--file", "page.html")
    page = re.sub(r"<[^>]+>", "", Path("page.html").read_text())
    Path("page.html").unlink()
    headline = re.search(r"(\d+) of (\d+) files \([\d.]+ %\) have an answer; (\d+) accepted", page)
    gone = re.search(r"(\d+) (?:is|are) gone", page)
    assert headline is not None
    proofsweep("export", "--only", "accepted", "--file", "list.csv")
    accepted = len(Path("list.csv").read_text().splitlines()) - 1
    Path("list.csv").unlink()
    return {
        "coverage": covered(proofsweep),
        "status": {"files": status["files"], "accepted": status["accepted"]},
        "cookbook 9": {"accepted": states["accepted"], "gone": states.get("gone", 0)},
        "cookbook 10": {"files": int(str(tenth["files"])), "answered": int(str(tenth["answered"]))},
        "cookbook 6": {"gone": len(asked(proofsweep, 6))},
        "headline": {
            "answered": int(headline[1]),
            "files": int(headline[2]),
            "accepted": int(headline[3]),
            "gone": int(gone[1]) if gone else 0,
        },
        "export": {"accepted": accepted},
    }
