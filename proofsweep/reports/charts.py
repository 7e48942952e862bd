"""Charts as SVG, drawn by Vega-Lite without a browser; their colours follow the page's theme.

All are of one size, a panel that fits on a phone; the page puts them side by side.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from markupsafe import Markup

from proofsweep.domain.errors import missing_extra
from proofsweep.domain.items import Row
from proofsweep.domain.text import printable
from proofsweep.queries.nights import NightResult

try:
    import altair as alt
    import vl_convert
except ImportError as error:
    raise missing_extra("A page with charts", "report") from error

_WIDTH, _HEIGHT = 300, 130  # a phone's screen is 390 pixels wide; the rest are axes
# Each is told from white and from near-black (3 to 1), and one from the other by its lightness too.
_COLOURS = ["#3b82d6", "#d9513c", "#a87b06", "#7d8590"]
_GOOD = "#2a9461"
_LONGEST_LABEL = 40
_MOST_NAMES = 5  # of nights below a chart
_SHORT_SECONDS = 20  # as many names of seconds fit below a chart

_THEME = {
    "background": None,
    "font": "Arial, sans-serif",
    "padding": 4,
    "view": {"stroke": None},
    "axis": {
        **dict.fromkeys(("labelColor", "titleColor", "tickColor", "domainColor"), "currentColor"),
        "gridColor": "#8884",
        "labelLimit": 150,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "tickCount": 4,
    },
    "legend": {
        "labelColor": "currentColor",
        "labelFontSize": 11,
        "title": None,
        "orient": "top",
        "columns": 4,
        "symbolSize": 60,
    },
    "header": {"labelColor": "currentColor", "title": None, "labelFontSize": 11},
}


@dataclass(frozen=True, slots=True)
class Chart:
    title: str
    spoken: str
    svg: Markup


def night_bars(title: str, nights: Sequence[NightResult], columns: Mapping[str, str]) -> Chart:
    names = _names_of(nights)
    values = [
        {"night": name, "what": words, "order": order, "value": getattr(night, column)}
        for name, night in zip(names, nights, strict=True)
        for order, (column, words) in enumerate(columns.items())
    ]
    colours = [_GOOD, *_COLOURS[1:]] if len(columns) > 1 else _COLOURS[:1]
    what = alt.Color(
        "what:N",
        scale=alt.Scale(domain=list(columns.values()), range=colours[: len(columns)]),
        legend=alt.Legend() if len(columns) > 1 else None,
    )
    chart = (
        _panel(values)
        .mark_bar()
        .encode(x=_night_axis(names), y=alt.Y("value:Q", title=None, axis=_whole()), color=what, order="order:Q")
    )
    last = ", ".join(f"{round(getattr(nights[-1], column), 1):,} {words}" for column, words in columns.items())
    return Chart(
        title, f"{title}: {len(nights)} nights from {names[0]} to {names[-1]}; in the last one {last}.", _svg(chart)
    )


def night_line(title: str, nights: Sequence[NightResult], unit: str) -> Chart:
    names = _names_of(nights)
    values = [
        {"night": name, "value": night.answered_percent}
        for name, night in zip(names, nights, strict=True)
        if night.answered_percent is not None
    ]
    lowest = min(int(night.answered_percent) for night in nights if night.answered_percent is not None)
    chart = (
        _panel(values)
        .mark_line(strokeWidth=2, color=_COLOURS[0], point=alt.OverlayMarkDef(color=_COLOURS[0], size=30))
        .encode(x=_night_axis(names), y=alt.Y("value:Q", title=unit, scale=alt.Scale(domain=[min(lowest, 99), 100])))
    )
    first, last = (f"{value['value']:.1f} {unit} on {value['night']}" for value in (values[0], values[-1]))
    return Chart(title, f"{title}: {first}, {last}.", _svg(chart))


def _names_of(nights: Sequence[NightResult]) -> list[str]:
    days = [f"{night.began.day} {night.began:%b}" for night in nights]
    return [
        day if days.count(day) == 1 else f"{day} {night.began:%H:%M:%S}"
        for day, night in zip(days, nights, strict=True)
    ]


def _night_axis(names: Sequence[str]) -> alt.X:
    step = -(-len(names) // _MOST_NAMES)  # equal distances, the last night among them
    axis = alt.Axis(values=list(names[::-1][::step]), tickCount=_MOST_NAMES, labelAngle=0, labelFlush=True)
    return alt.X("night:O", title=None, sort=list(names), axis=axis)


def lines(title: str, rows: Sequence[Row], columns: Mapping[str, str], unit: str) -> Chart:
    """Draw columns, by their words, over the `moment` of each row, a time in UTC without its zone."""
    values = [
        {"at": f"{row['moment'].isoformat()}Z", "what": words, "value": row[name]}
        for row in rows
        for name, words in columns.items()
        if isinstance(row["moment"], datetime) and row[name] is not None
    ]
    what = alt.Color("what:N", scale=alt.Scale(domain=list(columns.values()), range=_COLOURS[: len(columns)]))
    chart = (
        _panel(values)
        .mark_line(interpolate="step-after", strokeWidth=1.5)
        .encode(
            x=alt.X("at:T", title="UTC", scale=alt.Scale(type="utc"), axis=_time_axis(rows)),
            y=alt.Y("value:Q", title=unit),
            color=what,
            strokeDash=alt.StrokeDash("what:N", scale=alt.Scale(domain=list(columns.values()))),
        )
    )
    most = ", ".join(
        f"{words} {max((float(str(row[name])) for row in rows if row[name] is not None), default=0):,.1f}"
        for name, words in columns.items()
    )
    return Chart(title, f"{title}, over time; at most, in {unit}: {most}.", _svg(chart))


def _time_axis(rows: Sequence[Row]) -> alt.Axis:
    """Mark whole seconds in a short run: Vega would name parts of seconds without their seconds."""
    seconds = [
        int(row["moment"].replace(tzinfo=UTC).timestamp()) for row in rows if isinstance(row["moment"], datetime)
    ]
    if not seconds or max(seconds) - min(seconds) > _SHORT_SECONDS:
        return alt.Axis(format="%H:%M", labelOverlap="greedy", labelSeparation=8)
    step = max((max(seconds) - min(seconds)) // 3, 1)
    return alt.Axis(format="%H:%M:%S", values=[1_000 * each for each in range(min(seconds), max(seconds) + 1, step)])


def bars(title: str, rows: Sequence[Row]) -> Chart:
    values = [{"label": printable(str(row["label"]))[:_LONGEST_LABEL], "files": row["files"]} for row in rows]
    chart = (
        _panel(values)
        .properties(width=_WIDTH * 2 // 3, height=alt.Step(18))
        .mark_bar(color=_COLOURS[0])
        .encode(x=alt.X("files:Q", title="files", axis=_whole()), y=alt.Y("label:N", title=None, sort=None))
    )
    spoken = ", ".join(f"{each['label']} {each['files']:,}" for each in values)
    return Chart(title, f"{title}: {spoken}.", _svg(chart))


def histogram(title: str, rows: Sequence[Row]) -> Chart:
    """Draw how many `files` lie in each `tenth` from 0 to 1; one that has none has its place."""
    chart = (
        _panel([{"tenth": row["tenth"], "files": row["files"]} for row in rows])
        .mark_bar(color=_COLOURS[0])
        .encode(
            x=alt.X(
                "tenth:O",
                title="grade, from",
                scale=alt.Scale(domain=[tenth / 10 for tenth in range(10)]),
                axis=alt.Axis(labelAngle=0, format=".1f"),
            ),
            y=alt.Y("files:Q", title="files", axis=_whole()),
        )
    )
    spoken = ", ".join(f"{row['files']:,} from {row['tenth']:.1f}" for row in rows)
    return Chart(title, f"{title}, files by tenths: {spoken}.", _svg(chart))


def _whole() -> alt.Axis:
    return alt.Axis(tickMinStep=1, format=",d")


def _panel(values: Sequence[Mapping[str, object]]) -> alt.Chart:
    return alt.Chart(alt.InlineData(values=list(values)), width=_WIDTH, height=_HEIGHT)


def _svg(chart: alt.Chart) -> Markup:
    return Markup(vl_convert.vegalite_to_svg({**chart.to_dict(), "config": _THEME}))  # noqa: S704 - Vega escapes its texts
