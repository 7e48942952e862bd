"""Progress is one line at any width, and says the time."""

from datetime import datetime

import pytest

from proofsweep.store.progress import LegProgress, WaitsFor
from proofsweep_cli.run_screen import line_of, plain_line, rate_text

AT = datetime(2026, 11, 20, 14, 3, 5)  # noqa: DTZ001 - a wall clock
COUNTS = {"accepted": 22_000, "rejected": 1_300, "failed": 12, "ineligible": 88}
NONE_YET: dict[str, object] = {"counts": {}, "seconds_left": None, "rate": 0.0}


def progress(**cells: object) -> LegProgress:
    """Make the progress of a slow night."""
    facts: dict[str, object] = {"rows": 37_200, "finished_before": 0, "counts": COUNTS, "rate": 0.5}
    facts |= {"seconds_left": 27_600.0, "sent_bytes": 5 * 2**30, "lane_rate": 1.0, "calls": 46_800}
    return LegProgress(**(facts | cells))  # type: ignore[arg-type]  # the test's own words


STOPPING = progress(stops_because="The run was asked to stop.", waits_for=WaitsFor.STOP)
HINT = ", Ctrl-C again ends at once"


@pytest.mark.parametrize("columns", [10, 20, 30, 40, 60, 80, 110, 120, 200])
def test_the_line_fits_any_width(columns: int) -> None:
    """What does not fit is left out, the least important first; nothing is cut in the middle."""
    for shown in (progress(), STOPPING, progress(**NONE_YET), progress(waits_for=WaitsFor.OUTAGE)):
        line = line_of(shown, AT, columns, HINT).plain

        assert len(line) <= columns
        assert "\n" not in line


def test_a_narrow_terminal_keeps_what_a_person_waits_for() -> None:
    """How far, how long, and the time."""
    assert line_of(progress(), AT, 45).plain == "14:03:05 · 23,400/37,200 · 7 h 40 min left"
    assert line_of(progress(), AT, 40).plain == "23,400/37,200 · 7 h 40 min left · 62 %"
    assert line_of(STOPPING, AT, 40, HINT).plain == "stopping, Ctrl-C again ends at once"


def test_a_wide_terminal_shows_all() -> None:
    """In the same order at each width."""
    assert line_of(progress(), AT, 200).plain == (
        "14:03:05 · 23,400/37,200 · 7 h 40 min left · 62 % · 0.5 files/s · 22,000 accepted · 1,300 rejected · 12 failed"
        " · 88 ineligible · 5.0 GiB · lane 1.0 calls/s"
    )


def test_a_line_of_a_log_has_date_and_words() -> None:
    """A log is read the next morning."""
    assert plain_line(progress(), AT) == (
        "2026-11-20 14:03:05 23,400 of 37,200 rows (22,000 accepted, 1,300 rejected, 12 failed, 88 ineligible), "
        "0.5 files/s, about 7 h 40 min left, 46,800 calls, lane 1.0 calls/s"
    )
    assert plain_line(progress(**NONE_YET, lane_rate=None, waits_for=WaitsFor.STORE), AT) == (
        "2026-11-20 14:03:05 0 of 37,200 rows, 0.0 files/s, 46,800 calls, the results store cannot be written"
    )


def test_rows_of_earlier_legs_count() -> None:
    """A run that is resumed goes on where it was."""
    resumed = progress(finished_before=1_200, counts={"accepted": 34}, rows=5_000, seconds_left=None)

    assert line_of(resumed, AT, 30).plain == "14:03:05 · 1,234/5,000 · 24 %"


@pytest.mark.parametrize(("rate", "text"), [(0.5, "0.5 files/s"), (9.6, "9.6 files/s"), (123.4, "123 files/s")])
def test_a_slow_rate_keeps_its_fraction(rate: float, text: str) -> None:
    """Half a file a second is not one."""
    assert rate_text(progress(rate=rate)) == text


def test_a_rate_that_is_not_known_is_not_shown() -> None:
    """A second must pass first."""
    assert rate_text(progress(rate=None)) == ""
