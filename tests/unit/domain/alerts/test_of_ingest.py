"""What is told of a pass over a watched folder beside its end."""

from proofsweep.domain.alerts.of_ingest import files_given_up

PLACE = ("beta", "/in/<!here>", "results")


def test_a_good_pass_tells_nothing() -> None:
    """Nothing is given up."""
    assert files_given_up(*PLACE, []) == []


def test_each_file_that_is_given_up_is_a_cause() -> None:
    """One that is given up later is told, although the others were."""
    (alert,) = files_given_up(*PLACE, ["i2", "i1"])

    assert alert.causes == ("given_up\tbeta\t/in/<!here>\ti1", "given_up\tbeta\t/in/<!here>\ti2")
    assert alert.subject == "proofsweep: delivered files that are given up: 2 (beta)"
    assert "`proofsweep rejects`" in alert.body
