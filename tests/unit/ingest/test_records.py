"""Rows of the table `ingest`, and what the next pass learns from them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results
from proofsweep.store.tables import INGEST

from ...worlds.killed_passes import (
    KilledMove,
    LocalSite,
    Site,
    check_every_line,
    deliver_anew,
    nothing,
    take_back,
    take_name,
)
from .conftest import Watched


def test_each_row_has_all_columns(watched: Watched) -> None:
    """The order is the table's, and times are instants."""
    watched.deliver("acme/a.wav")
    one = watched.run_pass()

    (row,) = one.report.rows
    assert list(row) == [column.name for column in INGEST.columns]
    assert (row["supplier"], row["tries"], row["disposition"]) == ("acme", 1, "accepted")
    assert row["audio_moved_to"] == str(watched.root / "ok" / "acme" / "a.wav")
    assert row["acted_at"] == watched.now


def test_the_files_of_a_leg_are_disposed_of_once(watched: Watched) -> None:
    """A second time only reads what became of them."""
    watched.deliver("a.wav")
    one = watched.run_pass()
    plan = watched.results.plan(one.report.run_ids[0])
    watched.deliver("a.wav")

    again = one.records.of_leg(plan, 1, {})

    assert one.records.has_leg(plan, 1)
    assert again == one.report.rows
    assert (watched.folder / "a.wav").exists()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the killed one leaves its files open
@pytest.mark.parametrize("meanwhile", [nothing, deliver_anew, take_back, take_name])
def test_a_pair_is_moved_whole_or_not_at_all_wherever_a_pass_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[Site], None]
) -> None:
    """Also if its files, or its names at the target, are others by then; what was moved has one row."""
    monkeypatch.setattr(os, "fsync", lambda _file: None)  # a process that is killed loses nothing that was written

    def make(line: int) -> KilledMove:
        folder = tmp_path / str(line)
        return KilledMove(LocalSite(folder / "files"), Results(FolderStore(folder / "results")))

    assert check_every_line(make, meanwhile) > 100
