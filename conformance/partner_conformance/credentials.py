"""Forgeries of a one-file credential: changed bytes of its C2PA manifest, which is a chunk of the WAV. Pure."""

import struct
from collections.abc import Iterator, Mapping

_HEAD_BYTES = 8
_LABEL_BYTES = 17
# COSE: a signature has 64 bytes or more, and they are the last of its box.
_SIGNATURE_BYTES = 64

Span = tuple[int, int]


def chunk_of(audio: bytes, name: bytes = b"C2PA") -> Span | None:
    """Return where the content of a WAV's chunk begins and ends; None if there is no such chunk."""
    at = 12
    while audio[:4] == b"RIFF" and at + _HEAD_BYTES <= len(audio):
        label, length = struct.unpack_from("<4sI", audio, at)
        if label == name:
            return at + _HEAD_BYTES, min(at + _HEAD_BYTES + length, len(audio))
        at += _HEAD_BYTES + length + length % 2
    return None


def forgeries(audio: bytes) -> Mapping[str, bytes]:
    """Return forged copies by the part that was changed; none if there is no manifest, or it cannot be read."""
    parts = _parts(audio)
    forged = {}
    for label, (_, end) in parts.items():
        if label == "c2pa.signature":
            forged["signature"] = _flipped(audio, end - 1)
        elif label.startswith("c2pa.claim"):
            forged["claim"] = _flipped(audio, end - 1)
        elif label != "c2pa.hash.data":
            forged[f"assertion {len(forged) + 1}"] = _flipped(audio, end - 1)
    return forged


def without_its_end(audio: bytes) -> bytes:
    """Return a WAV with correct sizes and the first half of its manifest."""
    start, end = chunk_of(audio) or (0, 0)
    half = (end - start) // 4 * 2
    return _with_chunk(audio, audio[start : start + half])


def without_credential(audio: bytes) -> bytes:
    """Return the same WAV without its manifest."""
    return _with_chunk(audio, b"")


def with_credential_of(audio: bytes, other: bytes) -> bytes:
    """Return audio with the manifest of another WAV in place of its own."""
    start, end = chunk_of(other) or (0, 0)
    return _with_chunk(audio, other[start:end])


def with_signature_of(audio: bytes, other: bytes) -> bytes | None:
    """Return a WAV with the signature of another one; None if one of them has none."""
    ours, theirs = _parts(audio).get("c2pa.signature"), _parts(other).get("c2pa.signature")
    if ours is None or theirs is None:
        return None
    return audio[: ours[1] - _SIGNATURE_BYTES] + other[theirs[1] - _SIGNATURE_BYTES : theirs[1]] + audio[ours[1] :]


def _with_chunk(audio: bytes, manifest: bytes) -> bytes:
    """Return a WAV with this manifest; without a chunk if it is empty."""
    start, end = chunk_of(audio) or (len(audio) + _HEAD_BYTES, len(audio))
    chunk = b"C2PA" + struct.pack("<I", len(manifest)) + manifest + bytes(len(manifest) % 2) if manifest else b""
    rest = audio[: start - _HEAD_BYTES] + chunk + audio[end + end % 2 :]
    return rest[:4] + struct.pack("<I", len(rest) - _HEAD_BYTES) + rest[8:]


def _parts(audio: bytes) -> dict[str, Span]:
    """Return where the content of each part of the manifest lies, by the part's label."""
    try:
        return dict(_boxes(audio, *(chunk_of(audio) or (0, 0)), label=""))
    except (struct.error, UnicodeDecodeError):
        return {}


def _boxes(audio: bytes, at: int, end: int, *, label: str) -> Iterator[tuple[str, Span]]:
    """Yield the innermost boxes with the label of the box around each (JUMBF, ISO 19566-5)."""
    while at + _HEAD_BYTES <= end:
        length, kind = struct.unpack_from(">I4s", audio, at)
        inside = at + _HEAD_BYTES
        if kind == b"jumb":
            described = inside + struct.unpack_from(">I", audio, inside)[0]
            name = audio[inside + _HEAD_BYTES + _LABEL_BYTES : described].split(b"\0")[0].decode()
            yield from _boxes(audio, described, at + length, label=name)
        else:
            yield label, (inside, at + length)
        at += max(length, _HEAD_BYTES)


def _flipped(audio: bytes, at: int) -> bytes:
    return audio[:at] + bytes([audio[at] ^ 1]) + audio[at + 1 :]
