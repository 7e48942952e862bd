"""Progress is one line at any width, and says the time."""

from datetime import datetime

import pytest

from cli.progress import Progress, line_of, plain_line

AT = datetime(2026, 11, 20, 14, 3, 5)  # noqa: DTZ001 - a wall clock
COUNTS = [("accepted", 22_000), ("rejected", 1_300), ("failed", 12), ("ineligible", 88)]


def progress(**cells: object) -> Progress:
    """Make the progress of a slow night."""
    facts: dict[str, object] = {"at": AT, "finished": 23_400, "items": 37_200, "done": 23_400, "seconds": 46_800.0}
    facts |= {"counts": COUNTS, "sent_bytes": 5 * 2**30, "lane": "lane 1.0 calls/s"}
    return Progress(**(facts | cells))  # type: ignore[arg-type]  # the test's own words


@pytest.mark.parametrize("columns", [10, 20, 30, 40, 60, 80, 110, 120, 200])
def test_the_line_fits_any_width(columns: int) -> None:
    """What does not fit is left out, the least important first; nothing is cut in the middle."""
    for shown in (progress(), progress(is_stopping=True), progress(done=0, finished=0, counts=[])):
        line = line_of(shown, columns).plain

        assert len(line) <= columns
        assert "\n" not in line


def test_a_narrow_terminal_keeps_what_a_person_waits_for() -> None:
    """How far, how long, and the time."""
    assert line_of(progress(), 45).plain == "14:03:05 · 23,400/37,200 · 7 h 40 min left"
    assert line_of(progress(), 40).plain == "23,400/37,200 · 7 h 40 min left · 62 %"
    assert line_of(progress(is_stopping=True), 40).plain == "stopping, Ctrl-C again ends at once"


def test_a_wide_terminal_shows_all() -> None:
    """In the same order at each width."""
    assert line_of(progress(), 200).plain == (
        "14:03:05 · 23,400/37,200 · 7 h 40 min left · 62 % · 0.5 files/s · 22,000 accepted · 1,300 rejected · 12 failed"
        " · 88 ineligible · 5.0 GiB · lane 1.0 calls/s"
    )


def test_a_line_of_a_log_has_date_and_words() -> None:
    """A log is read the next morning."""
    assert plain_line(progress()) == (
        "2026-11-20 14:03:05 23,400 of 37,200 rows (22,000 accepted, 1,300 rejected, 12 failed, 88 ineligible), "
        "0.5 files/s, about 7 h 40 min left, lane 1.0 calls/s"
    )
    assert plain_line(progress(done=0, finished=0, counts=[], lane="")) == (
        "2026-11-20 14:03:05 0 of 37,200 rows, 0.0 files/s"
    )


@pytest.mark.parametrize(
    ("done", "seconds", "rate"),
    [(1, 2.0, "0.5 files/s"), (96, 10.0, "9.6 files/s"), (1234, 10.0, "123 files/s"), (0, 0.0, "0.0 files/s")],
)
def test_a_slow_rate_keeps_its_fraction(done: int, seconds: float, rate: str) -> None:
    """Half a file a second is not one."""
    assert progress(done=done, seconds=seconds).rate == rate
