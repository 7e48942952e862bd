"""What is told of a pass over a watched folder."""

from dataclasses import replace

from proofsweep.domain.alerts.of_ingest import PassFacts, alerts_of_pass, over_after_pass

GOOD = PassFacts(
    environment="beta", watched="/in/<!here>", results_url="results", not_moved={}, given_up=[], is_whole=True
)


def test_a_good_pass_tells_nothing_and_ends_what_was_told() -> None:
    """Only a whole pass shows that everything is moved."""
    assert alerts_of_pass(GOOD) == []
    assert over_after_pass(GOOD) == ["not_moved\tbeta\t/in/<!here>"]
    assert over_after_pass(replace(GOOD, is_whole=False)) == []


def test_files_that_are_not_moved_are_told_with_their_reasons() -> None:
    """The cause is the folder: not each file is told."""
    facts = replace(GOOD, not_moved={"No space left on device.": 15, "Denied.": 1})

    (alert,) = alerts_of_pass(facts)

    assert alert.subject == "proofsweep: verified files that are not moved: 16 (beta)"
    assert "- 15: `No space left on device.`" in alert.body
    assert "<!here>" not in alert.body
    assert over_after_pass(facts) == []


def test_each_file_that_is_given_up_is_a_cause() -> None:
    """One that is given up later is told, although the others were."""
    (alert,) = alerts_of_pass(replace(GOOD, given_up=["i1", "i2"]))

    assert len(alert.causes) == 2
    assert alert.subject == "proofsweep: delivered files that are given up: 2 (beta)"
    assert "`proofsweep rejects`" in alert.body
