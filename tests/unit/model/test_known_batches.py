"""What is known of deliveries."""

from proofsweep.model.known_batches import KnownBatches


def test_of_a_new_folder_nothing_is_known() -> None:
    """Two folders share nothing."""
    known = KnownBatches()
    known.senders.add("P1")

    assert KnownBatches() == KnownBatches(since={}, folders=set(), senders=set())
