"""Charts as SVG of one size, which fits on a phone; their colours are those of the page's style sheet.

None says anything by colour alone: bars are of one series, and each line has its name at its end.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain
from math import ceil, floor, log10

from markupsafe import Markup

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 360, 150, 44, 8, 18, 20
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
    step = (_WIDTH - _LEFT - _RIGHT) / len(names)
    centers = [_LEFT + (number + 0.5) * step for number in range(len(names))]
    shapes = list(axis.shapes())
    bottom = axis.y(0)
    for x, value in zip(centers, values, strict=True):
        top = axis.y(value)
        shapes.append(_BAR.format(x - 0.35 * step, top, 0.7 * step, bottom - top))
    # Names would lie over each other on a phone, so only every so many bars have one; the last bar has one always.
    every = ceil(len(names) / _MOST_NAMES)
    named = list(zip(names, centers, strict=True))
    named.reverse()
    shapes += _names_below(named[::every])
    return Chart(title, spoken, _svg_of(shapes))


def _svg_of(shapes: Sequence[Markup]) -> Markup:
    return _SVG.format(_WIDTH, _HEIGHT, Markup().join(shapes))


def lines(title: str, days: Sequence[date], series: Mapping[str, Sequence[float]], spoken: str) -> Chart:
    """Draw one line or two through values that stay from one day to the next, with the days as far apart as they are.

    The name of a line, with its last value in it, stands above its end, that of a second line below.
    """
    every = list(chain.from_iterable(series.values()))
    axis = _Axis(min(every), max(every))
    places = _places_of(days)
    shapes = list(axis.shapes())
    for number, (name, values) in enumerate(series.items()):
        points = list(zip(places, map(axis.y, values), strict=True))
        shapes.append(_LINE.format(number, _path_of(points)))
        shapes += [_DOT.format(x, y) for x, y in points]
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
    first = days[0]
    length = (days[-1] - first).days
    width = _WIDTH - _LEFT - _RIGHT
    return [_LEFT + (day - first).days / length * width for day in days]


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
        least = max(highest - lowest, 1) / _TICKS
        power = 10.0 ** floor(log10(least))
        # Quotients of floats miss a whole number by a hair: without some play a value on a tick would get another one.
        round_steps = [factor * power for factor in (1, 2, 5, 10)]
        step = next(step for step in round_steps if step >= least * 0.999)
        self.step = max(1, step)
        self.first = floor(lowest / self.step + 0.001)
        self.last = ceil(highest / self.step - 0.001)
        if self.first == self.last:  # downwards, since no share is above 100 percent; none is below 0
            self.first = max(self.first - 1, 0)
            self.last = self.first + 1

    def y(self, value: float) -> float:
        share = (value / self.step - self.first) / (self.last - self.first)
        height = _HEIGHT - _BOTTOM - _TOP
        return _HEIGHT - _BOTTOM - share * height

    def shapes(self) -> Iterator[Markup]:
        for number in range(self.first, self.last + 1):
            value = number * self.step
            y = self.y(value)
            yield _TICK.format(_LEFT, y, _WIDTH - _RIGHT)
            yield _TEXT.format(_LEFT - 5, y + 4, "end", f"{value:,.10g}")


def _with_room(named: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """Choose the first and the last name, and from the end on those between that lie over no other."""
    first, last = named[0], named[-1]
    leftmost = first[1] + _NAME_WIDTH
    shown = [last]
    for name, place in named[-2:0:-1]:
        has_room = shown[-1][1] - place >= _NAME_WIDTH
        if has_room and place >= leftmost:
            shown.append((name, place))
    return [*shown, first]


def _names_below(named: Sequence[tuple[str, float]]) -> Iterator[Markup]:
    for name, place in named:
        # A name that is centred below the last bar would stick out of the picture.
        half = 3.2 * len(name)
        middle = min(place, _WIDTH - half)
        yield _TEXT.format(middle, _HEIGHT - 5, "middle", name)
