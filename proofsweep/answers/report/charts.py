"""The charts of a report as SVG, drawn by Vega-Lite without a browser; their colours follow the page's theme."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import altair as alt
import vl_convert

from proofsweep.model.tables.columns import Row
from proofsweep.text import printable

# One page is 960 pixels wide; the rest are axes.
_WIDTH, _HEIGHT = 800, 180
# Distinguishable without colours by their dashes; readable on white and on near-black.
_COLOURS = ["#3b82d6", "#d9513c", "#b8860b"]
_LONGEST_LABEL = 60
# As many names of seconds fit below a chart.
_SHORT_SECONDS = 20

_THEME = {
    "background": None,
    "font": "Arial, sans-serif",
    "padding": {"left": 16, "right": 16, "top": 4, "bottom": 4},
    "view": {"stroke": None},
    "axis": {
        **dict.fromkeys(("labelColor", "titleColor", "tickColor", "domainColor"), "currentColor"),
        "gridColor": "#8884",
        "labelLimit": 300,
    },
    "legend": {"labelColor": "currentColor", "title": None, "orient": "top"},
    "header": {"labelColor": "currentColor", "title": None},
}


def lines(rows: Sequence[Row], columns: Mapping[str, str], unit: str) -> str:
    """Draw columns, by their words, over the `moment` of each row, a time in UTC without its zone."""
    values = [
        {"at": f"{row['moment'].isoformat()}Z", "what": words, "value": row[name]}
        for row in rows
        for name, words in columns.items()
        if isinstance(row["moment"], datetime) and row[name] is not None
    ]
    what = alt.Color("what:N", scale=alt.Scale(domain=list(columns.values()), range=_COLOURS[: len(columns)]))
    chart = (
        alt.Chart(alt.InlineData(values=values), width=_WIDTH, height=_HEIGHT)
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X("at:T", title="UTC", scale=alt.Scale(type="utc"), axis=_time_axis(rows)),
            y=alt.Y("value:Q", title=unit),
            color=what,
            strokeDash=alt.StrokeDash("what:N", scale=alt.Scale(domain=list(columns.values()))),
        )
    )
    return _svg(chart)


def _time_axis(rows: Sequence[Row]) -> alt.Axis:
    """Mark whole seconds in a short run: Vega would name parts of seconds without their seconds."""
    seconds = [
        int(row["moment"].replace(tzinfo=UTC).timestamp()) for row in rows if isinstance(row["moment"], datetime)
    ]
    if not seconds or max(seconds) - min(seconds) > _SHORT_SECONDS:
        return alt.Axis()
    return alt.Axis(format="%H:%M:%S", values=[1_000 * each for each in range(min(seconds), max(seconds) + 1, 2)])


def bars(rows: Sequence[Row]) -> str:
    """Draw how many `files` each `label` has, the most frequent first."""
    values = [{"label": printable(str(row["label"]))[:_LONGEST_LABEL], "files": row["files"]} for row in rows]
    chart = (
        alt.Chart(alt.InlineData(values=values), width=_WIDTH * 5 // 8, height=alt.Step(22))
        .mark_bar(color=_COLOURS[0])
        .encode(
            x=alt.X("files:Q", title="files", axis=alt.Axis(tickMinStep=1)), y=alt.Y("label:N", title=None, sort=None)
        )
    )
    return _svg(chart)


def histograms(rows: Sequence[Row]) -> str:
    """Draw, for each `grade`, how many `files` lie in each `tenth`."""
    chart = (
        alt.Chart(alt.InlineData(values=list(rows)), width=_WIDTH // 4, height=_HEIGHT * 2 // 3)
        .mark_bar(color=_COLOURS[0])
        .encode(
            x=alt.X("tenth:O", title="from", axis=alt.Axis(labelAngle=0, format=".1f")),
            y=alt.Y("files:Q", title="files", axis=alt.Axis(tickMinStep=1)),
            column=alt.Column("grade:N"),
        )
    )
    return _svg(chart)


def _svg(chart: alt.Chart) -> str:
    """Draw a chart; Vega escapes its texts."""
    return vl_convert.vegalite_to_svg({**chart.to_dict(), "config": _THEME})
