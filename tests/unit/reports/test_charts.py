"""Charts are SVG whose texts stay texts."""

import re
from datetime import date

import pytest

from proofsweep.reports.charts import bars, lines


def texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>(.*?)</text>", svg)


def test_bars_are_as_high_as_their_values() -> None:
    """The axis ends above the highest, and counts whole files."""
    chart = bars("Files", ["0.1", "0.2"], [1, 2], "said")

    low, high = (float(each) for each in re.findall(r'<rect [^>]*height="([0-9.]+)"', chart.svg))
    assert high / low == 2.0
    assert texts(chart.svg) == ["0", "1", "2", "0.2", "0.1"]


def test_many_bars_have_few_names_and_the_last_one_is_among_them() -> None:
    """So none lies over another on a phone."""
    named = texts(bars("Files", [str(number) for number in range(1, 31)], [1] * 30, "").svg)[2:]

    assert named == ["30", "24", "18", "12", "6"]


def test_days_are_as_far_apart_as_they_are_and_the_first_and_last_are_named() -> None:
    """Names between them stand where there is room; each line says what it is, without its colour."""
    days = [date(2026, 10, 1), date(2026, 10, 2), date(2026, 10, 16), date(2026, 10, 31)]
    chart = lines("Files", days, {"{:,} files": [40, 50, 60, 1600], "{:,} accepted": [40, 40, 50, 1500]}, "said")

    first, second, third, last = (float(x) for x in re.findall(r'<circle cx="([0-9.]+)"', chart.svg)[:4])
    assert (third - first) / (last - first) == pytest.approx(0.5, abs=0.001)
    assert (second - first) / (last - first) == pytest.approx(1 / 30, abs=0.001)
    assert texts(chart.svg)[-5:] == ["1,600 files", "1,500 accepted", "31 Oct", "16 Oct", "1 Oct"]


@pytest.mark.parametrize(
    ("shares", "axis"), [([91.4, 99.9], ["90", "95", "100"]), ([100, 100], ["99", "100"]), ([0, 0], ["0", "1"])]
)
def test_an_axis_of_shares_ends_with_all_of_them(shares: list[float], axis: list[str]) -> None:
    ticks = texts(lines("Share", [date(2026, 10, 1), date(2026, 10, 2)], {"{} %": shares}, "").svg)[:-3]

    assert ticks == axis
