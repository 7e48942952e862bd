"""Watched folders, wired from settings."""

from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from proofsweep.app import App
from proofsweep.config.load import load_settings
from proofsweep.domain.errors import CatalogError, ConfigError, RunIsActive, UsageError
from proofsweep.ingest.one_pass import WatchedFolder
from proofsweep.sources.selection import Selection


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that nobody asks, and a folder to watch."""
    (tmp_path / "key").write_text("pk_test")
    (tmp_path / "in").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PROOFSWEEP_SERVICE__API_KEY_FILE", str(tmp_path / "key"))


def test_an_empty_folder_is_watched_by_one_process(tmp_path: Path) -> None:
    """However it is spelled; a pass over it finds nothing."""
    with App(load_settings()).watched_folder("in/") as watched:
        assert watched.path == str(tmp_path / "in")
        assert list(watched.one_pass().runs()) == []
        with pytest.raises(RunIsActive), App(load_settings()).watched_folder(str(tmp_path / "in")):
            pass
        watched.refuse_if_lost()


def test_a_process_that_was_taken_over_begins_nothing() -> None:
    """It may only have slept: another one works on the folder now."""
    with _watched() as watched:
        watched.lease.claim(watched.term + 1)
        with pytest.raises(RunIsActive):
            watched.refuse_if_lost()


@pytest.mark.parametrize("target", ["in/ok", "in", "."])
def test_files_are_not_moved_to_where_they_are_found_again(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    """Neither of the two places may lie in the other."""
    monkeypatch.setenv("PROOFSWEEP_INGEST__QUARANTINE", target)

    with pytest.raises(ConfigError, match=r"ingest.quarantine: .* lie in one another"), _watched():
        pass


def test_the_two_targets_are_two_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else accepted and rejected files would lie together."""
    monkeypatch.setenv("PROOFSWEEP_INGEST__QUARANTINE", "out")
    monkeypatch.setenv("PROOFSWEEP_INGEST__ACCEPTED", "out/")

    with pytest.raises(ConfigError, match="the same place"), _watched():
        pass


def test_what_cannot_be_watched_is_one_line(tmp_path: Path) -> None:
    """A folder that is not there, and a manifest."""
    (tmp_path / "list.csv").write_text("audio\na.wav\n")

    for location in ("nowhere", "list.csv"):
        with pytest.raises(CatalogError, match="no such folder"), App(load_settings()).watched_folder(location):
            pass


@pytest.mark.parametrize("selection", [Selection(where="supplier = 'acme'"), Selection(newer_than="soon")])
def test_a_condition_that_cannot_be_used_is_refused_before_the_folder_is_claimed(
    selection: Selection, tmp_path: Path
) -> None:
    """A folder has no column of suppliers; nothing is written."""
    with pytest.raises(UsageError), App(load_settings()).watched_folder("in", selection):
        pass

    assert not (tmp_path / "results").exists()


def _watched() -> AbstractContextManager[WatchedFolder]:
    return App(load_settings()).watched_folder("in")
