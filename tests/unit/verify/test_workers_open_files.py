"""Fewer workers work where few files can be open, and one line says so."""

import resource

import pytest

from proofsweep.verify.threads import most_open_files, workers_that_fit
from proofsweep.wiring.engines import say_if_fewer


@pytest.mark.parametrize(
    ("wanted", "open_files", "workers"),
    [(60, 150, 21), (128, 160, 24), (128, 576, 128), (128, 575, 127), (128, 2**63 - 1, 128), (60, 64, 1), (60, 0, 1)],
)
def test_as_many_workers_work_as_have_room_for_their_files(wanted: int, open_files: int, workers: int) -> None:
    """Some files are for the rest of the process; one worker always works."""
    assert workers_that_fit(wanted, open_files) == workers


def test_the_limit_is_raised_as_far_as_it_can_be() -> None:
    """To the hard limit, which this process may use without a privilege."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(before[0], 512), before[1]))
    try:
        assert most_open_files() == before[1]
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (before[1], before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize(("workers", "lines"), [(21, 1), (60, 0)])
def test_one_line_says_how_many_workers_work(workers: int, lines: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a line, all that are set do."""
    say_if_fewer(60, workers)

    said = capsys.readouterr().err
    assert said.count("\n") == lines
    assert not lines or said.startswith("proofsweep: pace.workers is 21, not 60: ")
