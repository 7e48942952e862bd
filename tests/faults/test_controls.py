"""What a leg does while a check comes out wrong, and what it does with files of which nothing is known."""

import errno
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from ..servers.foreign_service import Answer
from ..worlds.command_world import said
from ..worlds.core import plan, set_chosen, work
from ..worlds.foreign_world import ForeignWorld

FILES = 40


@pytest.fixture
def world(bare_world: ForeignWorld, monkeypatch: pytest.MonkeyPatch) -> ForeignWorld:
    """Everything that runs need, with little time between probes."""
    monkeypatch.setenv("PROOFSWEEP_RETRY__ATTEMPTS", "2")
    set_chosen(monkeypatch, probe_wait_seconds=0.2)
    return bare_world


def endings(world: ForeignWorld) -> list[str]:
    return [str(leg["ended_by"]) for leg in world.legs()]


def test_a_mount_that_goes_between_two_legs_makes_no_file_missing(world: ForeignWorld) -> None:
    """The leg ends, no row is written; when the folder is back, `resume` verifies all that remain."""
    run_id = plan(world.catalog(*["valid"] * FILES))
    world.service.changes["verify"] = lambda number, usual: usual if number < 20 else replace(usual, status=503)
    work(run_id)
    world.service.changes.clear()
    (world.folder / "away").mkdir()
    away = [shutil.move(path, world.folder / "away" / path.name) for path in world.folder.glob("*.wav")]

    work(run_id)
    rows_then = world.rows()
    for path in away:
        shutil.move(path, world.folder / Path(path).name)
    work(run_id)

    assert 0 < len(rows_then) < FILES
    assert {row["outcome"] for row in rows_then} == {"accepted"}
    assert {row["outcome"] for row in world.rows()} == {"accepted"}
    assert len(world.rows()) == FILES
    assert endings(world) == ["breaker", "breaker", "complete"]


def test_a_firewall_on_the_way_is_not_the_key(world: ForeignWorld) -> None:
    """Every call gets a page that is no ApiError: the leg ends with 8, and no file is blamed."""
    run_id = plan(world.catalog(*["valid"] * FILES))
    world.service.changes["uploads"] = lambda number, usual: usual if number < 10 else Answer(403, b"<html>no</html>")

    work(run_id)

    assert endings(world) == ["breaker"]
    assert "firewall" in said("status", run_id)


def test_a_service_that_accepts_silence_is_found_out_within_a_hundred_files(world: ForeignWorld) -> None:
    """It has refused nothing, so audio without a credential is sent; that is accepted, and nothing more is believed."""
    run_id = plan(world.catalog(*["valid"] * 200))
    world.service.changes["verify"] = lambda _number, _usual: Answer(document={"good": True, "verdict": "valid"})

    work(run_id)

    assert endings(world) == ["breaker"]
    assert "accepted silence" in said("status", run_id)
    assert len(world.rows()) <= 100 + 20  # those in flight


def test_a_mixture_of_verdicts_costs_no_call_but_those_of_its_files(world: ForeignWorld) -> None:
    """Two fifths are rejected, also with verdicts that nobody knows: each is an answer."""
    verdicts = ["valid", "tampered", "valid", "unregistered", "valid", "valid", "neverHeardOf", "valid", "valid"]
    verdicts += ["tampered"]
    run_id = plan(world.catalog(*verdicts * 15))

    work(run_id)

    assert endings(world) == ["complete"]
    assert (world.service.received["uploads"], world.service.received["verify"]) == (150, 150)
    assert [row["verdict"] for row in world.rows()] == verdicts * 15


def test_accepted_files_that_are_refused_stop_the_run_only_if_others_are_refused_too(world: ForeignWorld) -> None:
    """An emptied registry: no row. One proof that was revoked: its row, and all others."""
    planned_first = plan(world.catalog(*["valid"] * FILES))
    work(planned_first)
    revoked = next(iter(world.service.verdicts))
    world.service.verdicts[revoked] = "unregistered"
    one = plan(world.folder / "catalog.csv")
    work(one)
    after_one = [row["outcome"] for row in world.rows() if row["run_id"] == one]
    world.service.verdicts = dict.fromkeys(world.service.verdicts, "unregistered")
    all_of_them = plan(world.folder / "catalog.csv")

    work(all_of_them)

    rows = [row for row in world.rows() if row["run_id"] == all_of_them]
    assert sorted(after_one) == ["accepted"] * (FILES - 1) + ["rejected"]
    assert endings(world) == ["complete", "complete", "breaker"]
    assert len(rows) <= 1  # the one that was refused before
    assert "emptied registry" in said("status", all_of_them)


def let_opens_fail(monkeypatch: pytest.MonkeyPatch, error: int, fails: Callable[[str], bool]) -> None:
    """Let the system refuse to open some of the audio files, by their names."""
    opens = os.open

    def refuse_some(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        name = Path(path).name
        if name.endswith(".wav") and fails(name):
            raise OSError(error, os.strerror(error))
        return opens(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", refuse_some)


@pytest.mark.parametrize(("error", "unavailable"), [(errno.EMFILE, []), (errno.EIO, [7])])
def test_a_file_that_cannot_be_opened_holds_no_run(
    world: ForeignWorld, monkeypatch: pytest.MonkeyPatch, error: int, unavailable: list[int]
) -> None:
    """Without files left, each tenth open fails, and the file is tried again last; with a bad sector, its row fails."""
    run_id = plan(world.catalog(*["valid"] * FILES))
    opens = count(1)
    let_opens_fail(monkeypatch, error, lambda name: next(opens) % 10 == 5 if error == errno.EMFILE else name == "7.wav")

    work(run_id)

    failed = [row for row in world.rows() if row["outcome"] != "accepted"]
    assert [(row["manifest_row"], row["reason"]) for row in failed] == [
        (row, "source_unavailable") for row in unavailable
    ]
    assert endings(world) == ["complete"]
