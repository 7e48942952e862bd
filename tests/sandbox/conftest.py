"""Calls to the sandbox of all tests; each test has its own tenant."""

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, Unpack

import httpx
import pytest

import proofsweep_sandbox as sandbox
from proofsweep_sandbox.samples import sounds

Verify = Callable[..., httpx.Response]
Issue = Callable[..., sandbox.Issued]


@pytest.fixture
def operator(running: sandbox.Running) -> Iterator[sandbox.Operator]:
    """The operator; faults and lanes are reset after the test, and faults that another test left before it."""
    running.operator.clear_faults()
    yield running.operator
    running.operator.clear_faults()
    running.operator.set_lane(2000, 4000)


@pytest.fixture
def later(operator: sandbox.Operator) -> Iterator[Callable[[float], None]]:
    """Move the sandbox's time ahead; it is moved back after the test."""
    moved: list[float] = []

    def move(seconds: float) -> None:
        moved.append(seconds)
        operator.move_clock(seconds)

    yield move
    operator.move_clock(-sum(moved))


@pytest.fixture
def key(operator: sandbox.Operator) -> sandbox.NewKey:
    return operator.add_tenant("a test")


@pytest.fixture
def api(running: sandbox.Running, key: sandbox.NewKey) -> Iterator[httpx.Client]:
    headers = {"x-api-key": key.api_key}
    with httpx.Client(base_url=running.base_url, headers=headers, trust_env=False) as client:
        yield client


def pages_of(api: httpx.Client, path: str) -> list[dict[str, Any]]:
    """Read a list in pages of two, by their cursors."""
    pages = [api.get(path, params={"limit": 2}).json()]
    while "nextCursor" in pages[-1]:
        pages.append(api.get(path, params={"limit": 2, "cursor": pages[-1]["nextCursor"]}).json())
    return pages


@pytest.fixture
def keyless(running: sandbox.Running) -> Iterator[httpx.Client]:
    """Calls without any key: the API's public call, slots and links."""
    with httpx.Client(base_url=running.base_url, trust_env=False) as client:
        yield client


@pytest.fixture
def wav(tmp_path: Path) -> Path:
    """A small WAV without any credential."""
    file = tmp_path / "take one.wav"
    file.write_bytes(sounds.wav(0.05, Random(1)))  # noqa: S311 - a sound, not a secret
    return file


@pytest.fixture
def issue(operator: sandbox.Operator, key: sandbox.NewKey, wav: Path, tmp_path: Path) -> Issue:
    """Issue a proof for the small WAV, by default one of this test's tenant."""
    sealed = tmp_path / "sealed"
    sealed.mkdir()

    def issue(**options: Unpack[sandbox.IssueOptions]) -> sandbox.Issued:
        options.setdefault("tenant", key.tenant)
        return operator.issue(wav, sealed, **options)

    return issue


@pytest.fixture
def upload(api: httpx.Client, keyless: httpx.Client) -> Callable[[bytes], str]:
    def upload(audio: bytes) -> str:
        slot = api.post("/uploads", params={"purpose": "verify"}).json()
        stored = keyless.post(slot["url"], data=slot["fields"], files={"file": ("audio", audio)})
        assert stored.status_code == 204, stored.text
        return str(slot["uploadId"])

    return upload


@pytest.fixture
def verify(api: httpx.Client, upload: Callable[[bytes], str]) -> Verify:
    """Upload and verify audio, with an optional sidecar; return the answer."""

    def verify(audio: bytes, sidecar: bytes | None = None) -> httpx.Response:
        body = {"uploadId": upload(audio)}
        if sidecar is not None:
            body["sidecar"] = base64.b64encode(sidecar).decode()
        return api.post("/verify", json=body)

    return verify
