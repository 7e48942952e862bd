"""An asset is passed on while it arrives: its size comes first, and a broken download is not the upload's fault."""

from collections.abc import Iterator
from hashlib import sha256

import httpcore
import pytest

from proofsweep.client.assets import AssetBody, AssetRelay
from proofsweep.domain.formats import AudioFormat
from proofsweep.errors import SlotSpent, SourceError

WAV = b"RIFF\x2c\0\0\0WAVEfmt " + bytes(40)


def test_an_asset_is_read_once_and_hashed() -> None:
    """Only its first bytes are read before it is sent."""
    given: list[int] = []

    def pieces() -> Iterator[bytes]:
        for number, piece in enumerate([WAV, *[bytes(4096)] * 9]):
            given.append(number)
            yield piece

    body = AssetBody(pieces(), len(WAV) + 9 * 4096, 1_000_000)
    begun = len(given)
    sent = b"".join(body.chunks())

    assert (body.audio_format, body.facts.size_bytes) == (AudioFormat.WAV, len(sent))
    assert body.sha256 == sha256(sent).hexdigest()
    assert begun < len(given) == 10


def test_an_asset_of_unknown_size_is_read_first() -> None:
    """A slot needs a Content-Length."""
    body = AssetBody([WAV, WAV], None, 2 * len(WAV))

    assert body.facts.size_bytes == 2 * len(WAV)
    assert b"".join(body.chunks()) == WAV + WAV


def test_an_asset_of_unknown_size_is_not_read_beyond_its_bound() -> None:
    """It is too large for a slot, whatever is behind; the transport may cut it off a little later."""
    pieces = iter([WAV, WAV, WAV])
    relay = AssetRelay(len(WAV), lambda body: [*body.chunks()].clear())

    assert relay.take(pieces) == ""
    assert isinstance(relay.error, SourceError)
    assert (relay.error.reason, len(list(pieces))) == ("too_large", 1)
    assert relay.most_bytes > len(WAV)


def broken() -> Iterator[bytes]:
    """Break off after a piece."""
    yield WAV
    raise httpcore.ReadError("SECRET url")


@pytest.mark.parametrize("size_bytes", [None, 100_000])
def test_a_download_that_breaks_off_says_so(size_bytes: int | None) -> None:
    """In words without a URL; the relay keeps the error, so that the exchange is recorded."""
    relay = AssetRelay(1_000_000, lambda body: [*body.chunks()].clear())

    digest = relay.take(broken(), size_bytes)

    assert isinstance(relay.error, SourceError)
    assert (relay.error.reason, "SECRET" in str(relay.error), digest) == ("source_unavailable", False, "")


def test_what_using_an_asset_raises_is_kept_until_the_next_time() -> None:
    """A spent slot is asked for again with another download."""
    uses = [SlotSpent("It is spent.", stage="slot", reason="slot_refused")]

    def use(body: AssetBody) -> None:
        if uses:
            raise uses.pop()
        list(body.chunks())

    relay = AssetRelay(1_000_000, use)

    first, error = relay.take([WAV], len(WAV)), relay.error
    second = relay.take([WAV], len(WAV))

    assert (first, isinstance(error, SlotSpent)) == ("", True)
    assert (second, relay.error) == (sha256(WAV).hexdigest(), None)
