"""A results store is opened by its location; its objects stand whole or not at all, and are created once."""

import errno
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from obstore.store import MemoryStore, S3Store

from proofsweep.domain.errors import NameTaken, ResultsError
from proofsweep.store.bucket_store import BucketStore
from proofsweep.store.objects import FolderStore, Store, open_store, probe


@pytest.mark.parametrize("url", ["{}/results", "file://{}/results"])
def test_a_store_is_opened_by_path_or_file_url(tmp_path: Path, url: str) -> None:
    """Opening it makes nothing."""
    store = open_store(url.format(tmp_path))

    assert store.url == str(tmp_path / "results")
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://host/results", "ftp://"),
        ("s3://me:hunter2@bucket/results", r"docs/buckets\.md"),
        ("~nobody-of-this-name/results", "the name of no user"),
    ],
)
def test_a_place_that_can_be_no_store_is_refused(url: str, words: str) -> None:
    """An unknown kind is not made as a folder of that name, and a password is not repeated."""
    with pytest.raises(ResultsError, match=words) as refused:
        open_store(url)

    assert "hunter2" not in refused.value.message


class OverwritingStore(BucketStore):
    """A bucket that knows no conditions, as at some gateways."""

    def create(self, name: str, content: bytes) -> None:
        self.delete(name)
        super().create(name, content)


def test_a_store_that_will_do_is_left_as_it_was(tmp_path: Path) -> None:
    probe(FolderStore(tmp_path / "results"))

    assert list(tmp_path.iterdir()) == []


def test_no_store_begins_where_the_folder_above_is_missing(tmp_path: Path) -> None:
    """A share that is not mounted has no folder for it; nothing is made in its place."""
    store = FolderStore(tmp_path / "share" / "results")

    for write in (lambda: probe(store), lambda: store.create("a", b""), lambda: store.replace("a", b"")):
        with pytest.raises(ResultsError, match=r"no folder .*/share\. Is it mounted\?"):
            write()

    assert list(tmp_path.iterdir()) == []


def test_a_store_below_a_folder_that_may_not_be_searched_is_probed_at_that_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it can be written there is an error of the store, in one line."""
    closed, stat = tmp_path / "closed", os.stat
    closed.mkdir()

    def refuse(path: Any, **options: Any) -> os.stat_result:  # noqa: ANN401 - as `os.stat` takes them
        if closed in Path(path).parents and Path(path).name == "results":
            raise PermissionError(errno.EACCES, "Permission denied")
        return stat(path, **options)

    monkeypatch.setattr(os, "stat", refuse)

    probe(FolderStore(closed / "results"))

    assert list(closed.iterdir()) == []


def test_a_store_that_writes_over_objects_is_refused() -> None:
    """Two processes might each believe that a row is theirs to finish."""
    bucket = MemoryStore()

    with pytest.raises(ResultsError, match="s3://bucket overwrites"):
        probe(OverwritingStore("s3://bucket", lambda _root: bucket))

    assert bucket.list().collect() == []


NAME = "verdicts/run_date=2026-11-20/r-00000-001.parquet"


class Forgetful(BaseHTTPRequestHandler):
    """An S3 that takes an object and then fails to say so; after that it knows that the name is taken.

    It never says so of a name that begins with `lost`, and `rival` lets every writer through.
    """

    kept: ClassVar[dict[str, bytes]] = {}

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["content-length"]))
        if self.path.endswith("/rival"):
            self.kept[self.path] = b"another process wrote this right behind"
            return self._answer(200, b"")
        is_taken = self.kept.setdefault(self.path, content) is not content
        return self._answer(412 if is_taken and "/lost" not in self.path else 503, b"")

    def do_GET(self) -> None:
        content = self.kept.get(self.path)
        self._answer(404 if content is None else 200, content or b"")

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _answer(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.send_header("etag", '"1"')
        self.send_header("last-modified", "Fri, 20 Nov 2026 00:00:00 GMT")
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def forgetful() -> Iterator[BucketStore]:
    Forgetful.kept.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Forgetful) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        tried_twice = S3Store(
            "bucket",
            endpoint=f"http://127.0.0.1:{server.server_port}",
            access_key_id="key",
            secret_access_key="secret",
            client_options={"allow_http": True},
            retry_config={"max_retries": 1, "retry_timeout": timedelta(seconds=5)},
        )
        yield BucketStore("s3://bucket", lambda _root: tried_twice, is_marked=False)
        server.shutdown()


@pytest.mark.parametrize("name", ["a", "lost"])
def test_what_an_unanswered_attempt_has_put_is_ours(forgetful: BucketStore, name: str) -> None:
    """The library tries again by itself, and then finds the name taken by its own first attempt, or no answer again."""
    forgetful.create(name, b"content")

    assert forgetful.read(name) == b"content"


def test_what_stands_in_the_store_counts_and_not_its_answer(forgetful: BucketStore) -> None:
    """Some buckets let two writers through; the last one's object remains."""
    with pytest.raises(NameTaken):
        forgetful.create("rival", b"content")


def test_a_large_object_is_put_in_one_request(forgetful: BucketStore) -> None:
    """Of an upload in pieces, which this bucket does not know, a kill would leave some that nobody sees."""
    forgetful.replace("rival", bytes(6 * 1024 * 1024))

    assert forgetful.read("rival")


@pytest.fixture
def folder(tmp_path: Path) -> Store:
    return FolderStore(tmp_path / "results")


@pytest.mark.parametrize("write", [FolderStore.create, FolderStore.replace])
def test_an_object_and_all_folders_above_it_survive_a_power_cut(
    folder: FolderStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    write: Callable[[FolderStore, str, bytes], None],
) -> None:
    """Each folder that was made is made durable in the one above; else the whole branch may be gone."""
    durable: set[int] = set()
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: durable.add(os.fstat(handle).st_ino) or fsync(handle))

    write(folder, NAME, b"content")

    path = tmp_path / "results" / NAME
    above = [each for each in path.parents if each.is_relative_to(tmp_path)]
    assert [each for each in [path, *above] if each.stat().st_ino not in durable] == []


@pytest.mark.parametrize("write", ["create", "replace"])
@pytest.mark.parametrize("name", ["a", "deep/er/a"])
def test_a_place_that_is_a_file_is_said_to_be_unwritable(tmp_path: Path, name: str, write: str) -> None:
    """It is one line for a person: neither a name that is taken, nor a traceback."""
    (tmp_path / "results").write_text("a file")

    with pytest.raises(ResultsError, match="results cannot be written"):
        getattr(FolderStore(tmp_path / "results"), write)(name, b"")


@pytest.mark.parametrize(("error", "is_made"), [(errno.EEXIST, True), (errno.EIO, True), (errno.EIO, False)])
def test_a_link_counts_and_not_the_error_that_making_it_reports(
    folder: Store, monkeypatch: pytest.MonkeyPatch, *, error: int, is_made: bool
) -> None:
    """NFS repeats a request whose answer was lost, and finds the name taken by the first one."""
    link = os.link
    folder.create("b", b"so that the store has begun")

    def link_and_fail(*given: Any, **named: Any) -> None:  # noqa: ANN401 - as `os.link` takes them
        if is_made:
            link(*given, **named)
        raise OSError(error, "the answer was lost")

    monkeypatch.setattr(os, "link", link_and_fail)
    with nullcontext() if is_made else pytest.raises(ResultsError):
        folder.create(NAME, b"content")

    assert folder.read(NAME) == (b"content" if is_made else None)
