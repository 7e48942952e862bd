"""Entries of a folder that gave no row are counted by cause."""

from proofsweep.catalog.catalog import Cause, Ignored


def test_every_cause_is_named_with_its_count() -> None:
    """One that any folder may have is named also if it did not occur; those of deliveries and checksums only if so."""
    ignored = Ignored()
    ignored[Cause.NOT_AUDIO] += 2
    ignored[Cause.UNREADABLE] += 1

    assert str(ignored) == "2 not audio, 0 orphan sidecars, 1 unreadable, 0 outside, 0 repeated folders"

    ignored[Cause.CHECKSUM_LISTS] += 1
    assert str(ignored).endswith("0 repeated folders, 1 checksum lists")


def test_a_new_count_is_empty() -> None:
    """A manifest ignores nothing."""
    assert sum(Ignored().values()) == 0
