"""Bags in a watched folder: what is not there is waited for."""

from .conftest import WAV, Watched

CREDENTIALED = WAV[:4] + (60).to_bytes(4, "little") + WAV[8:] + bytes(8) + b"C2PA\x08\0\0\0" + bytes(8)


def test_files_that_a_bag_names_and_that_are_not_there_are_not_looked_at(watched: Watched) -> None:
    """They are still on their way, or were moved by an earlier pass; neither is a fault of the delivery."""
    watched.deliver("bag/data/a.wav", CREDENTIALED)
    watched.deliver("bag/bagit.txt", b"BagIt-Version: 1.0\n")
    watched.deliver("bag/manifest-md5.txt", f"{'0' * 32}  data/a.wav\n{'0' * 32}  data/gone.wav\n".encode())
    one = watched.new_pass()

    looked = one.look(one.folder(), {}, {}, watched.now)

    assert looked.decisions.total() == 1
    assert len(looked.sightings) == 1
