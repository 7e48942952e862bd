"""Looking at a watched folder: what is complete, and what is waited for."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from proofsweep.catalog.catalog import PartOfCatalog
from proofsweep.model.ingest import Decision
from proofsweep.model.items import ManifestRow
from proofsweep.model.known_batches import KnownBatches

from .conftest import WAV, Watched

CREDENTIALED = WAV[:4] + (60).to_bytes(4, "little") + WAV[8:] + bytes(8) + b"C2PA\x08\0\0\0" + bytes(8)
MANIFEST = b"\0\0\0\x18jumb\0\0\0\x10jumdc2pa"
ELSEWHERE = WAV[:4] + (72).to_bytes(4, "little") + WAV[8:] + bytes(8) + b"prvn\x14\0\0\0" + MANIFEST + bytes(8)
MP3 = b"ID3\x03\0\0\0\0\0\0" + bytes(64)


@pytest.mark.parametrize(
    ("name", "content", "sidecar", "is_taken"),
    [
        ("a.wav", CREDENTIALED, None, True),
        ("a.wav", ELSEWHERE, None, True),
        ("a.wav", WAV + bytes(8), None, False),
        ("a.wav", WAV + bytes(8), b"proof", True),
        ("a.wav", WAV + bytes(8), b"", False),
        ("a.wav", WAV, b"proof", False),
        ("a.wav", b"", None, False),
        ("a.mp3", MP3, None, False),
        ("a.mp3", MP3, b"proof", True),
        ("a.flac", b"fLaC" + bytes(64), None, True),
    ],
    ids=[
        "credential",
        "other chunk",
        "no sidecar",
        "pair",
        "empty sidecar",
        "cut short",
        "empty",
        "mp3",
        "mp3 pair",
        "unlisted",
    ],
)
def test_only_a_complete_file_is_taken_before_its_time(
    watched: Watched, name: str, content: bytes, sidecar: bytes | None, *, is_taken: bool
) -> None:
    """A file that may still get its sidecar, or its end, is waited for, and then taken as it is."""
    watched.deliver(name, content)
    if sidecar is not None:
        watched.deliver(f"{name}.sidecar", sidecar)
    one = watched.new_pass()
    look = replace(one.look, rules=replace(one.look.rules, pair_seconds=900))

    first = look(one.folder(), {}, {}, watched.now, known=KnownBatches())
    later = look(one.folder(), first.sightings, {}, watched.now + timedelta(seconds=10), known=KnownBatches())
    last = look(one.folder(), first.sightings, {}, watched.now + timedelta(seconds=900), known=KnownBatches())

    assert first.decisions == {Decision.SETTLING: 1}
    assert later.decisions == {(Decision.TAKE if is_taken else Decision.INCOMPLETE): 1}
    assert last.decisions == {Decision.TAKE: 1}


class _Twins(PartOfCatalog):
    """A folder of which two files are one item."""

    def rows(self) -> Iterator[ManifestRow]:
        """Yield both."""
        return (replace(row, item_id="one") for row in super().rows())


def test_a_file_that_cannot_be_told_from_another_waits_for_it(watched: Watched) -> None:
    """Else it would have the other one's answer."""
    watched.deliver("a.wav")
    watched.deliver("b.wav", WAV + b"another.")
    one = watched.new_pass()

    first = one.look(_Twins(one.folder()), {}, {}, watched.now, known=KnownBatches())
    settled = watched.now + timedelta(seconds=10)
    later = one.look(_Twins(one.folder()), first.sightings, {}, settled, known=KnownBatches())

    assert later.decisions == {Decision.TAKE: 1, Decision.INCOMPLETE_BATCH: 1}
    assert [row.named_audio for row in later.ready] == ["a.wav"]
