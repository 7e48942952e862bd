"""Unusual audio: a file that is sent gets a verdict, a file that is not sent costs no call."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import proofsweep_sandbox as sandbox
from proofsweep_sandbox.samples import sounds

from .conftest import Command

Check = Callable[..., dict[str, Any]]
SLOT_BYTES = 65 * 1024 * 1024


@pytest.fixture
def check(proofsweep: Command) -> Check:
    """Verify one file, or one pair; give its row."""

    def check(*files: Path) -> dict[str, Any]:
        row: dict[str, Any] = json.loads(proofsweep("check", *files, "--json").stdout)
        return row

    return check


@pytest.fixture
def sealed(running: sandbox.Running, workdir: Path) -> bytes:
    (workdir / "take.wav").write_bytes(sounds.wav(0.5, Random(1)))  # noqa: S311 - a sound, not a secret
    return running.operator.issue(workdir / "take.wav", workdir / "sealed.wav").audio.read_bytes()


@pytest.mark.parametrize("paired", [False, True], ids=["alone", "paired"])
def test_a_slot_is_filled_to_its_last_byte(check: Check, workdir: Path, paired: bool) -> None:
    """Contract, Limits: 65 MiB are sent, and one byte more is refused without a call."""
    audio, sidecar = workdir / "long.wav", workdir / "long.sidecar"
    audio.write_bytes(sounds.wav_header(SLOT_BYTES - 44))
    sidecar.write_bytes(b"no proof at all")
    files = (audio, sidecar) if paired else (audio,)

    rows = []
    for size_bytes in (SLOT_BYTES - 1, SLOT_BYTES, SLOT_BYTES + 1):
        os.truncate(audio, size_bytes)
        rows.append(check(*files))

    assert [row["audio_bytes"] for row in rows] == [SLOT_BYTES - 1, SLOT_BYTES, SLOT_BYTES + 1]
    assert [row["reason"] for row in rows] == ["unreadable", "unreadable", "too_large"]
    assert [row["calls"] for row in rows] == [2, 2, 0]
    assert "68,157,441 bytes" in rows[2]["detail"]


@pytest.mark.parametrize("name", ["song", "song.mp3", "song.wav.txt"])
def test_a_credential_is_accepted_under_any_name(check: Check, sealed: bytes, workdir: Path, name: str) -> None:
    """The content decides what is sent, and the service never sees the name."""
    (workdir / name).write_bytes(sealed)

    assert check(workdir / name)["accepted"] is True


def with_riff_size(sealed: bytes, size: int) -> bytes:
    return sealed[:4] + size.to_bytes(4, "little") + sealed[8:]


DAMAGED = {
    "size 0": lambda sealed: with_riff_size(sealed, 0),
    "size all ones": lambda sealed: with_riff_size(sealed, 0xFFFFFFFF),
    "size one short": lambda sealed: with_riff_size(sealed, len(sealed) - 9),
    "a byte less": lambda sealed: sealed[:-1],
    "half": lambda sealed: sealed[: len(sealed) // 2],
    "its header alone": lambda sealed: sealed[:44],
    "twice": lambda sealed: sealed * 2,
    "as RF64": lambda sealed: b"RF64" + sealed[4:],
    "as RIFX": lambda sealed: b"RIFX" + sealed[4:],
    "behind a tag": lambda sealed: b"ID3\3\0\0\0\0\0\5" + bytes(5) + sealed,
}


@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_credential_gets_a_verdict(
    check: Check, sealed: bytes, workdir: Path, damage: Callable[[bytes], bytes]
) -> None:
    """A file with a WAV header is sent, even when it is damaged: it is rejected with a verdict, never failed."""
    (workdir / "song.wav").write_bytes(damage(sealed))

    row = check(workdir / "song.wav")

    assert (row["outcome"], row["accepted"]) == ("rejected", False)
    assert row["verdict"] in {"unreadable", "tampered"}
    assert row["verify_attempts"] == 1
