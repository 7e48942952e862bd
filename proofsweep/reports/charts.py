"""Charts as SVG of one size, which fits on a phone; their colours are those of the page's style sheet.

None says anything by colour alone: bars are of one series, and each line has its name at its end.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain
from math import ceil, floor, log10

from markupsafe import Markup

_WIDTH, _HEIGHT = 360, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 8, 18, 20  # margins
_CHART_WIDTH = _WIDTH - _LEFT - _RIGHT
_CHART_HEIGHT = _HEIGHT - _TOP - _BOTTOM
_MOST_NAMES = 5  # below a chart
_TICKS = 3
_NAME_WIDTH = 46  # of a day below a chart, with the gap to the next
_TEXT = Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>')
_BAR = Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>')
_LINE = Markup('<path class="line l{}" d="{}"/>')
_DOT = Markup('<circle cx="{:.1f}" cy="{:.1f}" r="2.2"/>')
_TICK = Markup('<path d="M{} {:.1f}H{}"/>')
_SVG = Markup('<svg viewBox="0 0 {} {}" aria-hidden="true">{}</svg>')


@dataclass(frozen=True, slots=True)
class Chart:
    title: str
    spoken: str  # what it shows, in words
    svg: Markup


def bars(title: str, names: Sequence[str], values: Sequence[float], spoken: str) -> Chart:
    axis = _Axis(0, max(values))
    step = _CHART_WIDTH / len(names)
    width = 0.7 * step
    bottom = axis.y(0)
    shapes = list(axis.shapes())
    named: list[tuple[str, float]] = []
    center = _LEFT + step / 2
    for name, value in zip(names, values, strict=True):
        left = center - width / 2
        top = axis.y(value)
        shapes.append(_BAR.format(left, top, width, bottom - top))
        named.append((name, center))
        center += step
    # Names would lie over each other on a phone, so only every so many bars have one; the last bar has one always.
    every = ceil(len(names) / _MOST_NAMES)
    named.reverse()
    shapes += _names_below(named[::every])
    return Chart(title, spoken, _svg_of(shapes))


def _svg_of(shapes: Sequence[Markup]) -> Markup:
    content = Markup().join(shapes)
    return _SVG.format(_WIDTH, _HEIGHT, content)


def lines(title: str, days: Sequence[date], series: Mapping[str, Sequence[float]], spoken: str) -> Chart:
    """Draw one line or two through values that stay from one day to the next, with the days as far apart as they are.

    The name of a line, with its last value in it, stands above its end, that of a second line below.
    """
    every = list(chain.from_iterable(series.values()))
    axis = _Axis(min(every), max(every))
    places = _places_of(days)
    shapes = list(axis.shapes())
    for number, (name, values) in enumerate(series.items()):
        heights = map(axis.y, values)
        points = list(zip(places, heights, strict=True))
        path = _path_of(points)
        shapes.append(_LINE.format(number, path))
        for x, y in points:
            dot = _DOT.format(x, y)
            shapes.append(dot)
        above_or_below = 15 if number else -7
        end_x, end_y = points[-1]
        label = name.format(values[-1])
        shapes.append(_TEXT.format(end_x, end_y + above_or_below, "end", label))
    day_names = [f"{day.day} {day:%b}" for day in days]
    named = list(zip(day_names, places, strict=True))
    shapes += _names_below(_with_room(named))
    return Chart(title, spoken, _svg_of(shapes))


def _places_of(days: Sequence[date]) -> list[float]:
    """Return the place of each day from left to right, with the days as far apart as they are."""
    first, last = days[0], days[-1]
    width_of_day = _CHART_WIDTH / (last - first).days
    return [_LEFT + (day - first).days * width_of_day for day in days]


def _path_of(points: Sequence[tuple[float, float]]) -> str:
    # A value stays until the next night finds another one: so the line has steps, not slopes.
    x, y = points[0]
    path = f"M{x:.1f} {y:.1f}"
    for x, y in points[1:]:
        path += f"H{x:.1f}V{y:.1f}"
    return path


class _Axis:
    """Values from bottom to top, between round numbers."""

    def __init__(self, lowest: float, highest: float) -> None:
        span = max(highest - lowest, 1)
        least = span / _TICKS
        power = 10.0 ** floor(log10(least))
        # Quotients of floats miss a whole number by a hair: without some play a value on a tick would get another one.
        for factor in (1, 2, 5, 10):
            step = factor * power
            if step >= least * 0.999:
                break
        self.step = max(1, step)
        self.first = floor(lowest / self.step + 0.001)
        self.last = ceil(highest / self.step - 0.001)
        if self.first == self.last:  # downwards, since no share is above 100 percent; none is below 0
            self.first = max(self.first - 1, 0)
            self.last = self.first + 1

    def y(self, value: float) -> float:
        steps = value / self.step - self.first
        share = steps / (self.last - self.first)
        return _HEIGHT - _BOTTOM - share * _CHART_HEIGHT

    def shapes(self) -> Iterator[Markup]:
        for number in range(self.first, self.last + 1):
            value = number * self.step
            y = self.y(value)
            yield _TICK.format(_LEFT, y, _WIDTH - _RIGHT)
            label = f"{value:,.10g}"
            yield _TEXT.format(_LEFT - 5, y + 4, "end", label)


def _with_room(named: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """Choose the first and the last name, and from the end on those between that lie over no other."""
    # From the end, since the newest day says most; the first one stays, so that the span can be read.
    first, *between, last = named
    _, place_of_first = first
    leftmost = place_of_first + _NAME_WIDTH
    shown = [last]
    _, rightmost = last
    for name, place in reversed(between):
        has_room = rightmost - place >= _NAME_WIDTH
        if has_room and place >= leftmost:
            shown.append((name, place))
            rightmost = place
    return [*shown, first]


def _names_below(named: Sequence[tuple[str, float]]) -> Iterator[Markup]:
    for name, place in named:
        # A name that is centred below the last bar would stick out of the picture.
        half = 3.2 * len(name)
        middle = min(place, _WIDTH - half)
        yield _TEXT.format(middle, _HEIGHT - 5, "middle", name)
