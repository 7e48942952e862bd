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


def test_bytes_that_are_no_http_get_an_answer_with_a_request_id(running: sandbox.Running) -> None:
    """The body is an ApiError."""
    head, _, body = sent_raw(running.base_url, b"GET /v1/health HTTP/1.1\r\nno colon here\r\n\r\n").partition(
        b"\r\n\r\n"
    )

    lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    assert head.startswith(b"HTTP/1.1 400")
    assert lines[b"x-request-id"] == lines[b"x-amzn-requestid"]
    assert b'"code":"invalid_request"' in body


def test_a_form_with_a_wrong_boundary_prints_nothing(silent: tuple[str, Path]) -> None:
    """A refused form is an ordinary answer."""
    base_url, errors = silent
    key = {"x-api-key": (errors.parent / "home" / "key").read_text().strip()}
    slot = httpx.post(f"{base_url}/uploads?purpose=verify", headers=key, trust_env=False).json()

    kind = {"content-type": "multipart/form-data; boundary=one"}
    answer = httpx.post(slot["url"], headers=kind, content=b"--two\r\nx\r\n--two--\r\n", trust_env=False)

    assert answer.status_code == 400
    assert errors.read_text() == ""


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The base URL of a sandbox, and the file of what it prints as errors."""
    errors = tmp_path / "errors"
    home = ["--home", str(tmp_path / "home"), "--port=0", "--storage-port=0", "--operator-port=0"]
    with errors.open("w") as file, tempfile.TemporaryFile("w+"):
        process = subprocess.Popen(
            [sys.executable, "-m", "proofsweep_sandbox", *home, "--ends-with-stdin"],
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
