"""Objects are read as they were opened, and listed as if they lay in folders."""

import itertools
import os
import threading
from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import obstore
import pytest
from obstore.store import MemoryStore, S3Store

from proofsweep.domain.errors import NameTaken, SourceError
from proofsweep.domain.reasons import Reason
from proofsweep.files import bucket_files
from proofsweep.files.audio import open_audio, read_sidecar
from proofsweep.files.bucket_files import PIECE_BYTES, BucketFiles

WAVE = b"RIFF\x24\x00\x00\x00WAVEfmt "


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def files(store: MemoryStore) -> BucketFiles:
    """A source in which every bucket is that one."""
    return BucketFiles(lambda _root: store)


def test_an_object_that_is_deleted_while_it_is_looked_at_has_changed(store: MemoryStore, files: BucketFiles) -> None:
    """It is not missing: it was there when it was opened."""
    obstore.put(store, "a.wav", WAVE + bytes(3 * PIECE_BYTES))

    with open_audio("s3://bucket/a.wav", files) as audio:
        obstore.delete(store, "a.wav")
        with pytest.raises(SourceError) as changed:
            list(audio.chunks())

    assert changed.value.reason == Reason.SOURCE_CHANGED


class ObjectServer(ThreadingHTTPServer):
    """S3 with one object of 6 MiB, whose answers break off after `most_bytes`; it notes each request."""

    def __init__(self) -> None:
        self.content = WAVE + os.urandom(6 * PIECE_BYTES)
        self.etag = '"one"'
        self.most_bytes = len(self.content)
        self.requests: list[tuple[str, str | None, str | None]] = []
        super().__init__(("127.0.0.1", 0), ObjectRequest)

    @property
    def files(self) -> BucketFiles:
        """A source of this bucket, without obstore's own retries."""
        store = S3Store(
            "bucket",
            endpoint=f"http://127.0.0.1:{self.server_port}",
            skip_signature=True,
            client_options={"allow_http": True},
            retry_config={"max_retries": 0, "retry_timeout": timedelta(seconds=1)},
        )
        return BucketFiles(lambda _root: store)


class ObjectRequest(BaseHTTPRequestHandler):
    server: ObjectServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Give the object from where the request says, if it is still the one that the request names."""
        server, start = self.server, self.headers["Range"]
        self.server.requests.append((self.command, start, self.headers["If-Match"]))
        if self.headers["If-Match"] not in {None, server.etag}:
            self.send_error(412)
            return
        offset = int(start.removeprefix("bytes=").partition("-")[0]) if start else 0
        size, rest = len(server.content), server.content[offset:]
        self.send_response(206 if start else 200)
        for name, value in {"ETag": server.etag, "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(rest)))
        if start:
            self.send_header("Content-Range", f"bytes {offset}-{size - 1}/{size}")
        self.end_headers()
        self.wfile.write(rest[: server.most_bytes])
        self.close_connection = len(rest) > server.most_bytes

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def server() -> Iterator[ObjectServer]:
    with ObjectServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_what_is_sent_costs_one_request(server: ObjectServer) -> None:
    """The request serves the look at its first bytes too, and nothing is asked at the end; a sidecar is read whole."""
    with open_audio("s3://bucket/a.wav", server.files, is_sent=True) as audio:
        sent = b"".join(audio.chunks())

    assert sent == server.content
    assert read_sidecar("s3://bucket/a.sidecar", 8 * PIECE_BYTES, server.files) == server.content
    assert server.requests == [("GET", None, None)] * 2


def test_an_answer_that_breaks_off_is_continued_with_the_same_version(server: ObjectServer) -> None:
    """A store ends an answer that waits long for a slow upload; bytes of two versions are never sent as one file."""
    server.most_bytes = 2 * PIECE_BYTES + 100

    with open_audio("s3://bucket/a.wav", server.files, is_sent=True) as audio:
        sent = b"".join(audio.chunks())
    first, *others = server.requests

    assert (sent, audio.sha256) == (server.content, sha256(server.content).hexdigest())
    assert first == ("GET", None, None)
    assert {(ranged is not None, version) for _, ranged, version in others} == {(True, '"one"')}
    with open_audio("s3://bucket/a.wav", server.files, is_sent=True) as audio:
        server.etag = '"two"'
        with pytest.raises(SourceError) as changed:
            list(audio.chunks())
    assert changed.value.reason == Reason.SOURCE_CHANGED


@pytest.mark.parametrize(("after", "requests"), [(b"", 1), (b"LIST\4\0\0\0INFO", 2)])
def test_a_look_for_a_credential_does_not_read_the_audio(
    store: MemoryStore, files: BucketFiles, monkeypatch: pytest.MonkeyPatch, after: bytes, *, requests: int
) -> None:
    """One request gives what stands before it, and another one what follows it, if anything does."""
    audio = bytes(3 * PIECE_BYTES)
    chunks = b"WAVEfmt \2\0\0\0\0\0data" + len(audio).to_bytes(4, "little") + audio + after
    obstore.put(store, "a.wav", b"RIFF" + len(chunks).to_bytes(4, "little") + chunks)

    asked, get = [], obstore.get

    def counted(store: MemoryStore, key: str, **options: Any) -> Any:  # noqa: ANN401 - as obstore has them
        asked.append(key)
        return get(store, key, **options)

    monkeypatch.setattr(obstore, "get", counted)
    with open_audio("s3://bucket/a.wav", files) as opened:
        assert opened.is_bare()
    assert len(asked) == requests


def test_an_object_is_created_by_a_client_that_waits_for_large_ones_and_never_in_parts(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than one request may have is refused before it is sent, and before it fills the memory."""
    monkeypatch.setattr(bucket_files, "_LARGE_BYTES", 4)
    monkeypatch.setattr(bucket_files, "_MOST_BYTES", 8)
    opened: list[str] = []

    def open_to_create(root: str) -> MemoryStore:
        opened.append(root)
        return store

    files = BucketFiles(lambda _root: MemoryStore(), open_to_create=open_to_create)

    files.create("s3://bucket/a", [b"abc", b"def"], sha256(b"abcdef").hexdigest())
    with pytest.raises(SourceError, match="more than 5 GiB"):
        files.create("s3://bucket/b", itertools.repeat(b"abc"), "")
    with pytest.raises(NameTaken):
        files.create("s3://bucket/a", [b"abc"], sha256(b"abc").hexdigest())

    assert [meta["path"] for meta in obstore.list(store).collect()] == ["a"]
    assert obstore.get(store, "a").bytes() == b"abcdef"
    assert opened == ["s3://bucket"]


def test_a_bucket_is_opened_once_and_again_when_it_is_told_so(store: MemoryStore) -> None:
    """That is how expired credentials are left behind."""
    opened = list[str]()

    def open_root(root: str) -> MemoryStore:
        opened.append(root)
        return store

    files = BucketFiles(open_root)
    for _ in range(2):
        files.facts("s3://b/x")
        files.facts("s3://b/y")
        files.reopen("s3://b/x")

    assert opened == ["s3://b", "s3://b"]


class RefusedObject(BaseHTTPRequestHandler):
    """An object of S3 that is encrypted with a key of its owner."""

    def do_HEAD(self) -> None:
        """Refuse without a body, as HTTP demands."""
        self.send_response(400)
        self.end_headers()

    def do_GET(self) -> None:
        """Refuse, and say why."""
        body = b"<Error><Code>InvalidRequest</Code><Message>It was stored using encryption.</Message></Error>"
        self.send_response(400)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.mark.parametrize("ask", ["facts", "open"])
def test_an_object_that_its_bucket_does_not_give_is_at_fault_itself(server: ObjectServer, ask: str) -> None:
    """The store is well, and its code is told, also where only the object's size was asked for."""
    server.RequestHandlerClass = RefusedObject

    with pytest.raises(SourceError, match=r"does not give this object \(InvalidRequest\)") as refused:
        getattr(server.files, ask)("s3://bucket/a.wav")

    assert refused.value.reason == Reason.UNREADABLE_FILE
