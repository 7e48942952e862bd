"""The nouns of a delivery."""

from proofsweep.catalog.deliveries.batches import Batch, Release


def test_release_and_batch_begin_without_facts() -> None:
    """Of a message that cannot be read, only the folder is known."""
    release = Release(location="/b/r")

    assert (release.release_id, release.sender, release.is_test, release.is_purged) == ("", "", False, False)
    assert Batch(location="/b", releases={"/b/r": release}).completion is None
