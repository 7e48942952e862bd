"""A folder is watched by one process, and its files are never moved to where they are found again."""

from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from proofsweep.domain.errors import CatalogError, ConfigError, RunIsActive, UsageError
from proofsweep.ingest.one_pass import WatchedFolder, watched_folder
from proofsweep.sources.selection import Selection

from .conftest import Watched


@pytest.fixture(autouse=True)
def here(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder in which the watched one lies."""
    monkeypatch.chdir(watched.root)


def opened(watched: Watched, location: str = "in", **settings: object) -> AbstractContextManager[WatchedFolder]:
    """Watch a folder, with these settings."""
    watched.settings = watched.settings.model_copy(update=settings)
    return watched_folder(watched.context(), location)


def test_an_empty_folder_is_watched_by_one_process(watched: Watched) -> None:
    """However it is spelled; a pass over it finds nothing."""
    with opened(watched, "in/", batch_moves="release") as first:
        assert (first.path, first.disposal.by_release) == (str(watched.folder), True)
        assert list(first.one_pass().runs()) == []
        with pytest.raises(RunIsActive), opened(watched, str(watched.folder)):
            pass
        first.refuse_if_lost()


def test_a_process_that_was_taken_over_begins_nothing(watched: Watched) -> None:
    """It may only have slept: another one works on the folder now."""
    with opened(watched) as first:
        first.lease.claim(first.term + 1)
        with pytest.raises(RunIsActive):
            first.refuse_if_lost()


@pytest.mark.parametrize("target", ["in/ok", "in", "."])
def test_files_are_not_moved_to_where_they_are_found_again(watched: Watched, target: str) -> None:
    """Neither of the two places may lie in the other."""
    with (
        pytest.raises(ConfigError, match=r"ingest.quarantine: .* lie in one another"),
        opened(watched, quarantine=target),
    ):
        pass


def test_the_two_targets_are_two_places(watched: Watched) -> None:
    """Else accepted and rejected files would lie together."""
    with pytest.raises(ConfigError, match="the same place"), opened(watched, quarantine="out", accepted="out/"):
        pass


@pytest.mark.parametrize("location", ["nowhere", "list.csv"])
def test_what_cannot_be_watched_is_one_line(watched: Watched, location: str) -> None:
    """A folder that is not there, and a manifest."""
    Path("list.csv").write_text("audio\na.wav\n")

    with pytest.raises(CatalogError, match="no such folder"), opened(watched, location):
        pass


@pytest.mark.parametrize("selection", [Selection(where="supplier = 'acme'"), Selection(newer_than="soon")])
def test_a_condition_that_cannot_be_used_is_refused_before_the_folder_is_claimed(
    watched: Watched, selection: Selection
) -> None:
    """A folder has no column of suppliers; nothing is written."""
    context = replace(watched.context(), selection=selection)
    with pytest.raises(UsageError), watched_folder(context, "in"):
        pass

    assert not (watched.root / "results").exists()
