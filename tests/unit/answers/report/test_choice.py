"""Nothing chosen is everything."""

from proofsweep.answers.report.choice import PageChoice


def test_nothing_chosen_is_everything() -> None:
    """All catalogs, without a tag."""
    assert (PageChoice().catalog, PageChoice().tags, PageChoice().since) == (None, (), None)
