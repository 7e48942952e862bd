"""What was found of deliveries is one line."""

from proofsweep.sources.catalog import DeliveryCounts


def test_all_that_was_found_is_said() -> None:
    """First what there is, then what is wrong with it."""
    counts = DeliveryCounts(
        batches=2, releases=31, senders=3, files=1407, missing=4, unnamed=2, unreadable=1, without_files=3
    )

    assert counts.in_words == (
        "2 batches, 31 releases of 3 senders, 1,407 files; 4 named files are not there; 2 files no message names; "
        "1 message cannot be read; 3 messages without files"
    )


def test_what_there_is_none_of_is_left_out() -> None:
    """And one is not many."""
    counts = DeliveryCounts(batches=1, releases=1, senders=1, files=1, missing=1)

    assert counts.in_words == "1 batch, 1 release of 1 sender, 1 file; 1 named file is not there"
