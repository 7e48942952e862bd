"""Charts are SVG whose texts stay texts."""

from datetime import UTC, datetime, timedelta

from proofsweep.queries.nights import NightResult
from proofsweep.reports.charts import bars, histogram, lines, night_bars, night_line


def test_labels_of_others_are_escaped_and_short() -> None:
    """A classification is whatever the service sends."""
    svg = bars("Labels", [{"label": "<script>alert(1)</script>\n" + "y" * 100, "files": 3}]).svg

    assert "<script" not in svg
    assert "&lt;script" in svg
    assert "y" * 61 not in svg


def test_a_histogram_has_all_tenths() -> None:
    """Also those without a file."""
    chart = histogram("Grade human", [{"grade": "human", "tenth": 0.9, "files": 3}])

    assert all(f">{tenth / 10:.1f}<" in chart.svg for tenth in range(10))
    assert chart.spoken == "Grade human, files by tenths: 3 from 0.9."


def nights(*hours: int) -> list[NightResult]:
    began = datetime(2026, 11, 20, 1, tzinfo=UTC)
    counts = {"rejected": 1, "failed": 0, "ineligible": 0, "remaining": 0, "calls": 10, "seconds": 60.0}
    return [
        NightResult(
            run_id=f"r{hour}",
            identity="/c",
            began=began + timedelta(hours=hour),
            accepted=hour,
            answered_percent=None if hour == 1 else 90.0 + hour,
            **counts,  # type: ignore[arg-type]  # the test's own words
        )
        for hour in hours
    ]


def test_nights_are_named_by_their_days() -> None:
    """At equal distances, the last one among them; whole files only."""
    chart = night_bars("Files", nights(0, 24, 48), {"accepted": "accepted", "rejected": "rejected"})

    assert [name for name in ("20 Nov", "21 Nov", "22 Nov") if f">{name}<" in chart.svg] == [
        "20 Nov",
        "21 Nov",
        "22 Nov",
    ]
    assert ">0.5<" not in chart.svg
    assert chart.spoken == "Files: 3 nights from 20 Nov to 22 Nov; in the last one 48 accepted, 1 rejected."


def test_a_night_of_a_part_has_no_share_of_the_catalog() -> None:
    """The line leaves it out."""
    assert (
        night_line("Covered", nights(0, 1, 24), "%").spoken == "Covered: 90.0 % on 20 Nov 01:00:00, 114.0 % on 21 Nov."
    )


def test_lines_have_a_legend_and_times_in_utc() -> None:
    """A point without a value is left out."""
    rows = [
        {"moment": datetime(2026, 11, 20, hour), "calls": 2.0 * hour, "failed": None}  # noqa: DTZ001 - UTC
        for hour in (2, 3)
    ]

    chart = lines("Calls", rows, {"calls": "uploads and verify", "failed": "no usable answer"}, "calls per second")

    svg = chart.svg
    assert svg.startswith("<svg")
    assert "uploads and verify" in svg
    assert "calls per second" in svg
    assert ">03:00<" in svg
    assert (
        chart.spoken == "Calls, over time; at most, in calls per second: uploads and verify 6.0, no usable answer 0.0."
    )
