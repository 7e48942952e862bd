"""A page alone has no links."""

from proofsweep.answers.report.choice import ALONE, PageChoice, PageLinks


def test_nothing_chosen_is_everything() -> None:
    """All catalogs, without a tag; and no page beside it."""
    assert (PageChoice().catalog, PageChoice().tags, PageChoice().since) == (None, (), None)
    assert PageLinks(menu={}, nights={}, lists={}) == ALONE
