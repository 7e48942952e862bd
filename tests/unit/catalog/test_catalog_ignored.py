"""Entries of a folder that gave no row are counted by cause."""

from proofsweep.catalog.catalog import Cause, Ignored


def test_every_cause_is_named_with_its_count() -> None:
    """One that did not occur is named too, so that the sentence always reads alike."""
    ignored = Ignored()
    ignored[Cause.NOT_AUDIO] += 2
    ignored[Cause.UNREADABLE] += 1

    assert str(ignored) == (
        "2 not audio, 0 orphan sidecars, 1 unreadable, 0 outside, 0 repeated folders, 0 checksum lists, "
        "0 unreadable lists, 0 unused checksums, 0 not in bag"
    )


def test_a_new_count_is_empty() -> None:
    """A manifest ignores nothing."""
    assert sum(Ignored().values()) == 0
