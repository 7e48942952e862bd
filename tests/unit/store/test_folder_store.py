"""Objects stand whole or not at all, and are made once."""

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from proofsweep.domain.errors import NameTaken, ResultsError
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


def test_what_cannot_be_deleted_is_an_error_of_the_store(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system may turn read-only in mid-run."""
    store.create(NAME, b"content")

    def refuse(_path: Path, *, missing_ok: bool) -> None:
        raise OSError(errno.EROFS, f"read-only, missing or not: {missing_ok}")

    monkeypatch.setattr(Path, "unlink", refuse)

    with pytest.raises(ResultsError, match="cannot be written"):
        store.delete(NAME)


def test_of_many_racers_one_wins(store: Store) -> None:
    """The others each hear of it, and the winner's content stands whole."""
    start, won, lost = threading.Barrier(16), list[bytes](), list[bytes]()

    def race(content: bytes) -> None:
        start.wait(30.0)
        try:
            store.create(NAME, content)
        except NameTaken:
            lost.append(content)
        else:
            won.append(content)

    racers = [threading.Thread(target=race, args=(bytes([number]) * 100_000,)) for number in range(16)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(60.0)

    assert (len(won), len(lost)) == (1, 15)
    assert store.read(NAME) == won[0]


def test_a_write_that_broke_off_is_no_object(store: Store, tmp_path: Path) -> None:
    """What a killed process leaves behind is neither listed nor in the way."""
    folder = tmp_path / "deep" / "results" / "verdicts"
    folder.mkdir(parents=True)
    (folder / ".draft-0011").write_bytes(b"half of")

    store.create("verdicts/a", b"whole")

    assert store.names("verdicts") == ["verdicts/a"]


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
