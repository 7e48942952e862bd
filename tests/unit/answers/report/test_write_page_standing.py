"""The head of a page is the view `coverage`, and what changed is the view `changes`."""

from proofsweep.answers.describe_run import describe_run
from proofsweep.answers.report.write_page import Standing, changes_of, standing_of
from proofsweep.store.plans_and_parts import Results

from .reported_store import BEFORE, PLAN, fill


def test_only_the_newest_run_says_how_its_catalog_stands(results: Results) -> None:
    """An earlier one says how it ended."""
    fill(results)

    assert standing_of(results, describe_run(results, PLAN.run_id)) == Standing(6, 3, 2, is_of_catalog=True)
    assert standing_of(results, describe_run(results, BEFORE.run_id)) == Standing(6, 5, 0, is_of_catalog=False)


def test_changes_are_counted_with_their_cause_in_words(results: Results) -> None:
    """Three have a grade for the first time, one broke under another name, and one has no answer now."""
    fill(results)

    counts, as_before = changes_of(results, describe_run(results, PLAN.run_id))

    assert (sum(files for _, _, files in counts), as_before) == (5, 0)
