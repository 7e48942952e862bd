"""Objects stand whole or not at all, and are made once."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.store.objects import FolderStore, Store

NAME = "verdicts/run_date=2026-11-20/r-00000-001.parquet"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return a store in a folder that is not there yet."""
    return FolderStore(tmp_path / "deep" / "results")


@pytest.mark.parametrize("write", [FolderStore.create, FolderStore.replace])
def test_an_object_and_all_folders_above_it_survive_a_power_cut(
    store: FolderStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    write: Callable[[FolderStore, str, bytes], None],
) -> None:
    """Each folder that was made is made durable in the one above; else the whole branch may be gone."""
    durable: set[int] = set()
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: durable.add(os.fstat(handle).st_ino) or fsync(handle))

    write(store, NAME, b"content")

    path = tmp_path / "deep" / "results" / NAME
    above = [folder for folder in path.parents if folder.is_relative_to(tmp_path)]
    assert [each for each in [path, *above] if each.stat().st_ino not in durable] == []


@pytest.mark.parametrize("write", ["create", "replace"])
@pytest.mark.parametrize("name", ["a", "deep/er/a"])
def test_a_place_that_is_a_file_is_said_to_be_unwritable(tmp_path: Path, name: str, write: str) -> None:
    """It is one line for a person: neither a name that is taken, nor a traceback."""
    (tmp_path / "results").write_text("a file")

    with pytest.raises(ResultsError, match="results cannot be written"):
        getattr(FolderStore(tmp_path / "results"), write)(name, b"")


@pytest.mark.parametrize("error", [errno.EEXIST, errno.EIO])
def test_a_link_that_was_made_although_it_reports_an_error_is_ours(
    store: Store, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    """NFS repeats a request whose answer was lost, and finds the name taken by the first one."""
    link = Path.hardlink_to

    def link_and_forget(path: Path, draft: Path) -> None:
        link(path, draft)
        raise OSError(error, "the answer was lost")

    monkeypatch.setattr(Path, "hardlink_to", link_and_forget)
    store.create(NAME, b"content")

    assert store.read(NAME) == b"content"


def test_a_link_that_was_not_made_is_an_error_of_the_store(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing stands under the name."""

    def refuse(_path: Path, _draft: Path) -> None:
        raise OSError(errno.EIO, "input/output error")

    monkeypatch.setattr(Path, "hardlink_to", refuse)

    with pytest.raises(ResultsError):
        store.create(NAME, b"content")

    assert store.read(NAME) is None
