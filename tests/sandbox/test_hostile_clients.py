"""Clients that send what no client should send: the sandbox refuses it, and holds and prints nothing."""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

import proofsweep_sandbox as sandbox

TIMEOUT_SECONDS = 30


def sent_raw(url: str, data: bytes) -> bytes:
    """Send bytes over a new connection; return all that comes back."""
    place = urlsplit(url)
    with socket.create_connection((place.hostname or "", place.port or 0), timeout=TIMEOUT_SECONDS) as connection:
        connection.sendall(data)
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize("path", ["/partner/keys?limit=", "/proofs?limit=", "/partner/usage?days="])
@pytest.mark.parametrize("number", ["0000000101", "000000100999", "9" * 40, "9" * 5000, "٣", "1.0", "00"])
def test_a_number_out_of_bounds_is_a_400(api: httpx.Client, path: str, number: str) -> None:
    """With leading zeros, of any length, in any script."""
    assert api.get(f"{path}{number}").status_code == 400


@pytest.mark.parametrize("path", ["/partner/keys?limit=", "/proofs?limit=", "/partner/usage?days="])
def test_zeros_before_a_number_change_nothing(api: httpx.Client, path: str) -> None:
    """007 is seven."""
    assert api.get(f"{path}007").status_code == 200


def test_bytes_that_are_no_http_get_an_answer_with_a_request_id(
    running: sandbox.Running, operator: sandbox.Operator
) -> None:
    """The body is an ApiError, and the request ID is in the log."""
    head, _, body = sent_raw(running.base_url, b"GET /v1/health HTTP/1.1\r\nno colon here\r\n\r\n").partition(
        b"\r\n\r\n"
    )

    lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    logged = {each["request_id"] for each in operator.exchanges()}
    assert head.startswith(b"HTTP/1.1 400")
    assert lines[b"x-request-id"] == lines[b"x-amzn-requestid"]
    assert lines[b"x-request-id"].decode() in logged
    assert b'"code":"invalid_request"' in body


def test_the_storage_answers_such_bytes_in_its_own_form(api: httpx.Client) -> None:
    """With its own request ID, and XML."""
    slot = api.post("/uploads", params={"purpose": "verify"}).json()

    answer = sent_raw(slot["url"], b"\x16\x03\x01 this is TLS\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 400")
    assert b"x-amz-request-id: " in answer
    assert b"<Code>invalid_request</Code>" in answer


def test_a_large_body_of_a_rotation_is_not_kept(api: httpx.Client, running: sandbox.Running) -> None:
    """It is read and hashed piece by piece: 64 MiB do not raise the memory by 30."""
    peak = Path(f"/proc/{running.pid}/status")
    if not peak.exists():
        pytest.skip("needs /proc")
    before = _peak_kib(peak)

    answer = api.post("/partner/keys/rotate", headers={"idempotency-key": "k" * 16}, content=bytes(64 * 1024 * 1024))

    assert answer.status_code == 201
    assert _peak_kib(peak) - before < 30 * 1024


def test_a_form_with_a_wrong_boundary_prints_nothing(silent: tuple[str, Path]) -> None:
    """A refused form is an ordinary answer."""
    base_url, errors = silent
    key = {"x-api-key": (errors.parent / "home" / "key").read_text().strip()}
    slot = httpx.post(f"{base_url}/uploads?purpose=verify", headers=key, trust_env=False).json()

    kind = {"content-type": "multipart/form-data; boundary=one"}
    answer = httpx.post(slot["url"], headers=kind, content=b"--two\r\nx\r\n--two--\r\n", trust_env=False)

    assert answer.status_code == 400
    assert errors.read_text() == ""


def test_half_open_connections_are_closed(silent: tuple[str, Path]) -> None:
    """A connection that sends nothing, or half of its headers, is closed in time; a complete one is not."""
    base_url, _ = silent
    place = urlsplit(base_url)
    pieces = (b"", b"GET /v1/health HTTP/1.1\r\nhost: x")
    waiting = [socket.create_connection((place.hostname or "", place.port or 0), timeout=10) for _ in pieces]
    for connection, piece in zip(waiting, pieces, strict=True):
        connection.sendall(piece)

    ended = [connection.recv(1) for connection in waiting]

    assert ended == [b"", b""]
    for connection in waiting:
        connection.close()


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A sandbox whose header timeout is half a second; its base URL, and the file of what it prints as errors."""
    errors = tmp_path / "errors"
    program = (
        "import proofsweep_sandbox.wire; proofsweep_sandbox.wire._HEADER_SECONDS = 0.5\n"
        "from proofsweep_sandbox.__main__ import main; import sys; main(sys.argv[1:])"
    )
    home = ["--home", str(tmp_path / "home"), "--port=0", "--storage-port=0", "--operator-port=0"]
    with errors.open("w") as file, tempfile.TemporaryFile("w+"):
        process = subprocess.Popen(
            [sys.executable, "-c", program, *home, "--ends-with-stdin"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )
        assert process.stdin
        assert process.stdout
        base_url = process.stdout.readline().split('"base_url": "')[1].split('"')[0]
        yield base_url, errors
        process.stdin.close()
        process.wait(20)
        process.stdout.close()


def _peak_kib(status: Path) -> int:
    (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1])
