"""Charts are SVG whose texts stay texts."""

import re

from proofsweep.reports.charts import bars


def texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>(.*?)</text>", svg)


def heights(svg: str, series: int) -> list[float]:
    return [float(each) for each in re.findall(rf'class="s{series}"[^>]*height="([0-9.]+)"', svg)]


def test_bars_are_as_high_as_their_values() -> None:
    """Those of a second series stand on the first; the axis ends above the highest, and counts whole files."""
    chart = bars("Files", ["20 Nov", "21 Nov"], {"accepted": [1, 2], "rejected": [1, 0]}, "said")

    accepted, rejected = heights(chart.svg, 0), heights(chart.svg, 1)
    assert (accepted[1] / accepted[0], rejected) == (2.0, [accepted[0], 0.0])
    assert texts(chart.svg) == ["0", "1", "2", "21 Nov", "20 Nov"]
    assert (chart.series, chart.spoken) == (["accepted", "rejected"], "said")


def test_many_nights_have_few_names_and_the_last_one_is_among_them() -> None:
    """So none lies over another on a phone."""
    names = [f"{day} Nov" for day in range(1, 31)]

    named = texts(bars("Files", names, {"files": [1] * 30}, "").svg)[2:]

    assert named == ["30 Nov", "24 Nov", "18 Nov", "12 Nov", "6 Nov"]
