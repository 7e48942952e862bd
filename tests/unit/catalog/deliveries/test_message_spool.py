"""Messages come back from disk as they were read."""

from proofsweep.catalog.deliveries.ern import read_message
from proofsweep.catalog.deliveries.message_spool import MessageSpool
from tests.unit.catalog.deliveries.held_file import HeldFile
from tests.worlds.ddex_messages import Sending, Track, sent


def test_message_comes_back_by_its_number() -> None:
    """In any order, and again."""
    written = [
        read_message(HeldFile(Sending(icpn=icpn, tracks=[Track(isrc="É", files=[sent("a.wav", b"a")])]).content()))
        for icpn in ("111", "222")
    ]

    with MessageSpool.opened() as spool:
        numbers = [spool.add(message) for message in written]

        assert [spool.message(number) for number in reversed(numbers)] == written[::-1]
        assert spool.message(numbers[0]) == written[0]
