"""Charts are SVG whose texts stay texts."""

from datetime import datetime

from proofsweep.answers.report.charts import bars, histograms, lines


def test_lines_have_a_legend_and_times_in_utc() -> None:
    """A point without a value is left out."""
    rows = [
        {"moment": datetime(2026, 11, 20, hour), "calls": 2.0 * hour, "failed": None}  # noqa: DTZ001 - UTC
        for hour in (2, 3)
    ]

    svg = lines(rows, {"calls": "uploads and verify", "failed": "no usable answer"}, "calls per second")

    assert svg.startswith("<svg")
    assert "uploads and verify" in svg
    assert "calls per second" in svg
    assert "03 AM" in svg or "03:00" in svg


def test_a_run_of_seconds_has_whole_seconds_below() -> None:
    """In UTC, and none of them twice."""
    moments = [datetime(2026, 11, 20, 23, 59, 58 + second) for second in (0, 1)]  # noqa: DTZ001 - UTC
    moments += [datetime(2026, 11, 21, 0, 0, second) for second in range(3)]  # noqa: DTZ001
    rows = [{"moment": moment, "calls": 2.0} for moment in moments]

    svg = lines(rows, {"calls": "uploads and verify"}, "calls per second")

    assert [svg.count(f">{label}<") for label in ("23:59:58", "00:00:00", "00:00:02")] == [1, 1, 1]
    assert ">.500<" not in svg


def test_labels_of_others_are_escaped_and_short() -> None:
    """A classification is whatever the service sends."""
    svg = bars([{"label": "<script>alert(1)</script>\n" + "y" * 100, "files": 3}])

    assert "<script" not in svg
    assert "&lt;script" in svg
    assert "y" * 61 not in svg


def test_each_grade_has_its_histogram() -> None:
    """By tenths."""
    svg = histograms([{"grade": "human", "tenth": 0.9, "files": 3}, {"grade": "ai", "tenth": 0.0, "files": 3}])

    assert ">human<" in svg
    assert ">ai<" in svg
