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
from .test_whose_fault import for_poison, late

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
    fail_after(world, 20)
    work(run_id)
    world.service.changes.clear()
    away = [shutil.move(path, world.folder / "away" / path.name) for path in _files_of(world)]

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


def fail_after(world: ForeignWorld, calls: int) -> None:
    """Let the service fail for everything after so many verify calls."""
    world.service.changes["verify"] = lambda number, usual: usual if number < calls else replace(usual, status=503)


def _files_of(world: ForeignWorld) -> list[Path]:
    (world.folder / "away").mkdir()
    return sorted(world.folder.glob("*.wav"))


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
    verdicts = [
        "valid",
        "tampered",
        "valid",
        "unregistered",
        "valid",
        "valid",
        "neverHeardOf",
        "valid",
        "valid",
        "tampered",
    ]
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
    assert all(row["outcome"] != "rejected" or row["verdict"] == "unregistered" for row in rows)
    assert len(rows) <= 1  # the one that was refused before
    assert "emptied registry" in said("status", all_of_them)


def test_a_file_that_always_times_out_fails_alone(world: ForeignWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is tried twice; the others are answered after it."""
    monkeypatch.setenv("PROOFSWEEP_TIMEOUTS__READ_SECONDS", "0.3")
    run_id = plan(world.catalog("poison", *["valid"] * 5))
    world.service.changes["verify"] = for_poison(late)

    work(run_id)

    assert endings(world) == ["complete"]
    assert [row["outcome"] for row in world.rows()] == ["failed"] + ["accepted"] * 5
    assert world.service.received["uploads"] == 5 + 2


def let_opens_fail(monkeypatch: pytest.MonkeyPatch, error: int, fails: Callable[[str], bool]) -> None:
    """Let the system refuse to open some of the audio files, by their names."""
    opens = os.open

    def refuse_some(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        name = Path(path).name
        if name.endswith(".wav") and fails(name):
            raise OSError(error, os.strerror(error))
        return opens(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", refuse_some)


def test_a_process_without_files_left_makes_no_file_unreadable(
    world: ForeignWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each tenth open fails: the file is tried again last, and every row is accepted."""
    run_id = plan(world.catalog(*["valid"] * FILES))
    opens = count(1)
    let_opens_fail(monkeypatch, errno.EMFILE, lambda _: next(opens) % 10 == 5)

    work(run_id)

    assert {row["outcome"] for row in world.rows()} == {"accepted"}
    assert endings(world) == ["complete"]


def test_one_bad_sector_holds_no_run(world: ForeignWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file gives EIO, others can be read: its row is `failed`, and the leg is complete."""
    run_id = plan(world.catalog(*["valid"] * FILES))
    let_opens_fail(monkeypatch, errno.EIO, lambda name: name == "7.wav")

    work(run_id)

    assert [row["manifest_row"] for row in world.rows() if row["reason"] == "source_unavailable"] == [7]
    assert endings(world) == ["complete"]
