"""A bucket keeps results as a folder does."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import obstore
import pytest
from obstore.store import MemoryStore

from proofsweep.domain.errors import NameTaken, ResultsError
from proofsweep.store.bucket_store import BucketStore

NAME = "verdicts/run_date=2026-11-20/r-00000-001.parquet"


@pytest.fixture(params=["s3://bucket", "s3://bucket/deep/results"])
def store(request: pytest.FixtureRequest) -> BucketStore:
    """A store in a bucket's root, and one below a prefix."""
    bucket = MemoryStore()
    obstore.put(bucket, "deep/results-of-another/t/x", b"")
    return BucketStore(request.param, lambda _root: bucket)


class Forgetful(BaseHTTPRequestHandler):
    """An S3 that takes an object and then fails to say so; after that it knows that the name is taken."""

    kept: ClassVar[dict[str, bytes]] = {}

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["content-length"]))
        self._answer(412 if self.kept.setdefault(self.path, content) is not content else 503, b"")

    def do_GET(self) -> None:
        self._answer(200, self.kept[self.path])

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
def forgetful(monkeypatch: pytest.MonkeyPatch) -> Iterator[BucketStore]:
    Forgetful.kept.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Forgetful) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
        }.items():
            monkeypatch.setenv(name, value)
        yield BucketStore("s3://bucket")
        server.shutdown()


def test_what_an_unanswered_attempt_has_put_is_ours(forgetful: BucketStore) -> None:
    """The library tries again by itself, and then finds the name taken by its own first attempt."""
    forgetful.create("a", b"content")

    assert forgetful.read("a") == b"content"


def test_what_somebody_else_has_put_is_not_ours_though_it_is_the_same(forgetful: BucketStore) -> None:
    """A create that is refused at its first attempt has put nothing."""
    forgetful.create("a", b"content")

    with pytest.raises(NameTaken):
        forgetful.create("a", b"content")


def test_a_bucket_that_cannot_be_opened_is_one_line() -> None:
    """Nothing of what the library says is repeated: it may hold anything."""

    def fail(_root: str) -> MemoryStore:
        raise ValueError("secret")

    with pytest.raises(ResultsError, match="s3://bucket cannot be opened") as refused:
        BucketStore("s3://bucket", fail).create("a", b"")

    assert "secret" not in refused.value.message


def test_folders_after_one_are_listed_without_those_before(store: BucketStore) -> None:
    """A name that begins like the given one is another folder; hidden ones are none."""
    for name in ("a/x", "b/x", "b/deep/y", "b0/x", "c/deep/er/x", ".d/x"):
        store.create(f"_runs/{name}", b"")

    assert store.folders("_runs", "b") == ["b0", "c"]
    assert store.folders("_runs", "z") == store.folders("_other", "b") == []
