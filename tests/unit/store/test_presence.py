"""A store that is away is neither empty nor new: nothing is read or made in what stands in its place."""

import errno
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from obstore.store import MemoryStore

from proofsweep.domain.errors import ResultsError
from proofsweep.store import bounded_calls
from proofsweep.store.bucket_store import BucketStore
from proofsweep.store.folder_root import MARKER
from proofsweep.store.objects import FolderStore, Store, open_store

NAME = "verdicts/run_date=2026-11-20/a.parquet"

ACTS: dict[str, Callable[[Store], object]] = {
    "create": lambda store: store.create("verdicts/b", b"b"),
    "replace": lambda store: store.replace("verdicts/b", b"b"),
    "read": lambda store: store.read("verdicts/none"),
    "names": lambda store: store.names("verdicts"),
    "folders": lambda store: store.folders("verdicts"),
    "sizes": lambda store: store.sizes("verdicts"),
    "delete": lambda store: store.delete(NAME),
}


class Share:
    """A folder that may be unmounted: then an empty one stands in its place, or none."""

    def __init__(self, tmp_path: Path) -> None:
        self.place, self._kept = tmp_path / "results", tmp_path / "share"

    def unmount(self, *, leaves_folder: bool = True) -> None:
        self.place.rename(self._kept)
        if leaves_folder:
            self.place.mkdir()

    def mount(self) -> None:
        if self.place.exists():
            self.place.rmdir()  # fails if anything was made there
        self._kept.rename(self.place)


@pytest.fixture
def share(tmp_path: Path) -> Share:
    return Share(tmp_path)


@pytest.fixture
def store(share: Share) -> FolderStore:
    store = FolderStore(share.place)
    store.create(NAME, b"a")
    return store


@pytest.mark.parametrize("kind", ["folder", "bucket"])
def test_a_new_store_is_said_once_and_one_without_a_marker_is_not_new(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    bucket = MemoryStore()

    def opened() -> Store:
        return FolderStore(tmp_path / "s") if kind == "folder" else BucketStore("s3://bucket/s", lambda _root: bucket)

    said: list[str] = []
    for name in "ab":
        opened().create(name, b"")
        said.append(capsys.readouterr().err)
    first = opened().read(MARKER)
    opened().delete(MARKER)
    opened().replace("c", b"")
    said.append(capsys.readouterr().err)

    assert said == [f"proofsweep: New results store: {opened().url}\n", "", ""]
    assert first is not None
    assert opened().read(MARKER) not in {None, first}


@pytest.mark.parametrize("act", ["read", "names", "folders", "sizes", "delete"])
def test_whoever_only_reads_begins_no_store(tmp_path: Path, act: str) -> None:
    ACTS[act](FolderStore(tmp_path / "results"))

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["no folder", "an empty folder", "bucket"])
def test_a_store_that_must_exist_is_begun_by_a_person_alone(tmp_path: Path, kind: str) -> None:
    """A share that is not mounted is no new store, for who reads and for who writes."""
    bucket, place = MemoryStore(), tmp_path / "results"
    if kind == "an empty folder":
        place.mkdir()

    def opened() -> Store:
        if kind == "bucket":
            return BucketStore("s3://bucket", lambda _root: bucket, must_exist=True)
        return open_store(str(place), must_exist=True)

    for act in ACTS.values() if kind != "bucket" else [ACTS["create"], ACTS["read"], ACTS["names"]]:
        with pytest.raises(ResultsError, match=r"is it mounted\? .*`proofsweep doctor`"):
            act(opened())
    assert not place.exists() or list(place.iterdir()) == []
    opened().begin()
    for act in ACTS.values():
        act(opened())


@pytest.mark.parametrize("leaves_folder", [True, False])
@pytest.mark.parametrize("act", ACTS)
def test_a_store_that_went_is_away_until_it_is_back(
    share: Share, store: FolderStore, act: str, *, leaves_folder: bool
) -> None:
    share.unmount(leaves_folder=leaves_folder)

    for each in (store, store.below("verdicts")):
        with pytest.raises(ResultsError, match="results is away: another folder, or none"):
            ACTS[act](each)
    share.mount()
    ACTS[act](store)


@pytest.mark.parametrize("is_written_first", [True, False])
def test_another_store_in_its_place_is_not_taken_for_it(
    share: Share, store: FolderStore, *, is_written_first: bool
) -> None:
    seen = FolderStore(share.place)
    seen.read(NAME)
    share.unmount()
    if is_written_first:
        FolderStore(share.place).create(NAME, b"of the other")

    for known in (store, seen):
        with pytest.raises(ResultsError, match="away"):
            known.create("b", b"b")

    assert not (share.place / "b").exists()


def test_a_store_that_was_mounted_anew_is_the_same(tmp_path: Path, share: Share, store: FolderStore) -> None:
    """Its marker says so, though device and inode are others."""
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in (MARKER, NAME):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes((share.place / name).read_bytes())
    share.unmount(leaves_folder=False)
    copy.rename(share.place)

    store.create("b", b"b")

    assert store.read(NAME) == b"a"
    assert store.read("none") is None


def test_a_share_that_is_mounted_while_a_command_works_is_not_taken_for_the_new_store(
    share: Share, store: FolderStore
) -> None:
    """It has planned by the empty place what the store had answers of."""
    share.unmount()
    surprised = FolderStore(share.place)
    assert surprised.read(NAME) is None
    share.mount()

    with pytest.raises(ResultsError, match="away"):
        surprised.create("b", b"b")

    assert store.read("b") is None


@pytest.mark.parametrize("is_back", [True, False])
def test_what_is_written_while_the_store_goes_counts_as_not_written(
    share: Share, store: FolderStore, monkeypatch: pytest.MonkeyPatch, *, is_back: bool
) -> None:
    """Nothing of it lies below the mount point, in whatever moment that was; the next try writes it."""
    link = os.link

    def go(*given: Any, **named: Any) -> None:  # noqa: ANN401 - as `os.link` takes them
        share.unmount()
        link(*given, **named)
        if is_back:
            share.mount()

    monkeypatch.setattr(os, "link", go)
    if is_back:
        store.create("b", b"b")
    else:
        with pytest.raises(ResultsError, match="away"):
            store.create("b", b"b")
        share.mount()
    monkeypatch.undo()
    store.create("b", b"b")

    assert store.read("b") == b"b"


@pytest.mark.parametrize("error", [errno.EINVAL, errno.ENOTSUP])
def test_a_file_system_that_makes_no_folder_durable_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    """As CIFS, FUSE and Windows drives under Linux."""
    fsync = os.fsync

    def refuse(handle: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{handle}"):  # noqa: PTH112 - a handle
            raise OSError(error, os.strerror(error))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", refuse)
    store = FolderStore(tmp_path / "results")

    store.create(NAME, b"a")

    assert store.read(NAME) == b"a"


@pytest.mark.parametrize("error", [errno.EPERM, errno.ENOTSUP, errno.ENOSYS])
def test_a_file_system_without_hard_links_is_refused_with_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    def refuse(*_given: Any, **_named: Any) -> None:  # noqa: ANN401 - as `os.link` takes them
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(os, "link", refuse)

    with pytest.raises(ResultsError, match=r"results cannot be written \(its file system has no hard links, without"):
        FolderStore(tmp_path / "results").create(NAME, b"a")

    assert list((tmp_path / "results").rglob("*")) == []


def test_a_call_that_hangs_is_left_behind(share: Share, store: FolderStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its caller hears so, and the next ones sooner; when the store answers again, all is as before."""
    goes_on, fsync = threading.Event(), os.fsync
    monkeypatch.setattr(bounded_calls, "ANSWER_SECONDS", 0.3)
    monkeypatch.setattr(bounded_calls, "_SECONDS_WHILE_ONE_HANGS", 0.1)
    monkeypatch.setattr(os, "fsync", lambda handle: (goes_on.wait(30.0), fsync(handle)))

    for name in ("b", "c"):
        with pytest.raises(ResultsError, match=r"results does not answer\."):
            store.create(name, b"b")
    assert store.read(NAME) == b"a"
    assert all(thread.daemon for thread in threading.enumerate() if thread.name == "store")
    goes_on.set()
    store.create("b", b"b")

    assert share.place.joinpath("b").read_bytes() == b"b"


def test_a_store_that_hangs_keeps_a_few_threads(
    share: Share, store: FolderStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often it is asked, as each pass over a watched folder does; it is used again when it answers."""
    goes_on, fsync = threading.Event(), os.fsync
    for bound in ("ANSWER_SECONDS", "_SECONDS_WHILE_ONE_HANGS"):
        monkeypatch.setattr(bounded_calls, bound, 0.1)
    monkeypatch.setattr(bounded_calls, "_MOST_HANGING", 2)
    monkeypatch.setattr(os, "fsync", lambda handle: (goes_on.wait(30.0), fsync(handle)))

    for number in range(6):
        with pytest.raises(ResultsError, match=r"results does not answer\."):
            store.create(f"{number}", b"b")
    goes_on.set()
    while True:
        with suppress(ResultsError):
            store.create("b", b"b")
            break

    assert share.place.joinpath("b").read_bytes() == b"b"
    assert not share.place.joinpath("5").exists()


def test_a_process_that_was_frozen_waits_on_for_its_store(
    share: Share, store: FolderStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All the time was over when it woke up, and the call had no moment of it."""
    waited: list[float | None] = []

    class FrozenFuture(Future[Any]):
        def result(self, timeout: float | None = None) -> Any:  # noqa: ANN401 - as in `concurrent`
            waited.append(timeout)
            if len(waited) == 1:
                raise TimeoutError
            return super().result(timeout)

    monkeypatch.setattr(bounded_calls, "Future", FrozenFuture)

    store.create("b", b"b")

    assert share.place.joinpath("b").read_bytes() == b"b"
    assert sum(filter(None, waited)) < bounded_calls.ANSWER_SECONDS / 2


def test_a_bucket_is_asked_once_for_its_marker() -> None:
    asked: list[str] = []

    class Counting(BucketStore):
        def read(self, name: str) -> bytes | None:
            asked.append(name)
            return super().read(name)

    bucket = MemoryStore()
    store = Counting("s3://bucket", lambda _root: bucket)
    for name in "abc":
        store.replace(name, b"")

    assert asked[0] == MARKER
    assert asked.count(MARKER) == 2  # that there is none, and that it is this one's
    asked.clear()
    again = Counting("s3://bucket", lambda _root: bucket)
    for name in "abc":
        again.replace(name, b"")
    assert asked == [MARKER]


@pytest.mark.parametrize(
    ("number", "is_outage"), [(errno.ENOSPC, True), (errno.EIO, True), (errno.ESTALE, True), (errno.EACCES, False)]
)
def test_only_what_may_be_well_again_by_itself_is_an_outage(tmp_path: Path, number: int, *, is_outage: bool) -> None:
    """A full disk and a lost mount are; a right that is missing is a mistake, and the same tomorrow."""
    store = FolderStore(tmp_path / "results")

    with pytest.raises(ResultsError) as said, store.wrapped_errors("written"):
        raise OSError(number, os.strerror(number))

    assert said.value.is_outage == is_outage
