"""What is told of a pass over a watched folder."""

from proofsweep.domain.alerts.of_ingest import alerts_of_pass

PLACE = ("beta", "/in/<!here>", "results")


def test_a_good_pass_tells_nothing() -> None:
    """Everything is moved, and nothing is given up."""
    assert list(alerts_of_pass(*PLACE, {}, [])) == []


def test_files_that_are_not_moved_are_told_with_their_reasons() -> None:
    """The cause is the folder: not each file is told."""
    (alert,) = alerts_of_pass(*PLACE, {"No space left on device.": 15, "Denied.": 1}, [])

    assert alert.subject == "proofsweep: verified files that are not moved: 16 (beta)"
    assert alert.causes == ("not_moved\tbeta\t/in/<!here>",)
    assert "- 15: `No space left on device.`" in alert.body
    assert "<!here>" not in alert.body


def test_each_file_that_is_given_up_is_a_cause() -> None:
    """One that is given up later is told, although the others were."""
    (alert,) = alerts_of_pass(*PLACE, {}, ["i2", "i1"])

    assert alert.causes == ("given_up\tbeta\t/in/<!here>\ti1", "given_up\tbeta\t/in/<!here>\ti2")
    assert alert.subject == "proofsweep: delivered files that are given up: 2 (beta)"
    assert "`proofsweep rejects`" in alert.body
