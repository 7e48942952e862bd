"""Broken seals: they bind less than the exact audio bytes."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from proofsweep_sandbox.seals.identity import Condition, Finding
from proofsweep_sandbox.seals.one_file import OneFileSeals
from proofsweep_sandbox.seals.sidecars import SidecarSeals

from .broken_parts import BrokenPart, replacing
from .definition import PartReplacement

_RIFF_HEAD_BYTES = 8


class _AnyAudioAccepted(BrokenPart, SidecarSeals):
    def examine(self, sidecar: bytes, audio_sha256: str) -> Finding:
        """Compare no digest."""
        finding = super().examine(sidecar, audio_sha256)
        is_changed = finding.condition is Condition.AUDIO_CHANGED
        return replace(finding, condition=Condition.INTACT) if is_changed else finding


class _EndsIgnored(BrokenPart, OneFileSeals):
    def examine(self, audio: Path) -> Finding:
        """Bind neither the first nor the last sample."""
        content = audio.read_bytes()
        start = content.find(b"data") + _RIFF_HEAD_BYTES
        length = int.from_bytes(content[start - 4 : start], "little")
        others = [_flipped(content, at) for at in (start, start + length - 1) if at < len(content)]
        return _first_intact(super().examine, audio, others)


class _FormatIgnored(BrokenPart, OneFileSeals):
    def examine(self, audio: Path) -> Finding:
        """Do not bind the rate in the WAV's format."""
        content = audio.read_bytes()
        rate = content.find(b"fmt ") + 12
        return _first_intact(super().examine, audio, [_flipped(content, rate)])


class _TailIgnored(BrokenPart, OneFileSeals):
    def examine(self, audio: Path) -> Finding:
        """Ignore what follows the end that the RIFF header tells."""
        content = audio.read_bytes()
        end = _RIFF_HEAD_BYTES + int.from_bytes(content[4:8], "little")
        return _first_intact(super().examine, audio, [content[:end]])


def _first_intact(examine: Callable[[Path], Finding], audio: Path, others: list[bytes]) -> Finding:
    """Examine the audio, and other bytes in its place until they are intact."""
    finding = examine(audio)
    copy = audio.with_name(f"{audio.name}.copy")
    for other in others:
        if finding.condition is not Condition.UNREADABLE:
            break
        copy.write_bytes(other)
        finding = examine(copy)
        copy.unlink()
    return finding


def _flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


accept_any_audio: PartReplacement = replacing("sidecars", _AnyAudioAccepted)
ignore_both_ends: PartReplacement = replacing("one_file", _EndsIgnored)
ignore_the_format: PartReplacement = replacing("one_file", _FormatIgnored)
ignore_the_tail: PartReplacement = replacing("one_file", _TailIgnored)
