"""Charts as SVG of one size, which fits on a phone; their colours are those of the page's style sheet.

None says anything by colour alone: bars are of one series, and each line has its name at its end.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
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
_SVG = Markup('<svg viewBox="0 0 {} {}" aria-hidden="true">{}</svg>')


@dataclass(frozen=True, slots=True)
class Chart:
    title: str
    spoken: str  # what it shows, in words
    svg: Markup


def bars(title: str, names: Sequence[str], values: Sequence[float], spoken: str) -> Chart:
    axis, step = _Axis(0, max(values)), (_WIDTH - _LEFT - _RIGHT) / len(names)
    places = [_LEFT + (number + 0.5) * step for number in range(len(names))]
    shapes = list(axis.shapes())
    for x, value in zip(places, values, strict=True):
        top = axis.y(value)
        shapes.append(_BAR.format(x - 0.35 * step, top, 0.7 * step, axis.y(0) - top))
    every = -(-len(names) // _MOST_NAMES)
    shapes += _names_below(list(zip(names, places, strict=True))[::-1][::every])
    return Chart(title, spoken, _SVG.format(_WIDTH, _HEIGHT, Markup().join(shapes)))


def lines(title: str, days: Sequence[date], series: Mapping[str, Sequence[float]], spoken: str) -> Chart:
    """Draw one line or two through values that stay from one day to the next, with the days as far apart as they are.

    The name of a line, with its last value in it, stands above its end, that of a second line below.
    """
    every = [value for values in series.values() for value in values]
    axis, length = _Axis(min(every), max(every)), (days[-1] - days[0]).days
    places = [_LEFT + (day - days[0]).days / length * (_WIDTH - _LEFT - _RIGHT) for day in days]
    shapes = list(axis.shapes())
    for number, (name, values) in enumerate(series.items()):
        points = list(zip(places, map(axis.y, values), strict=True))
        steps = "".join(f"H{x:.1f}V{y:.1f}" for x, y in points[1:])
        shapes.append(_LINE.format(number, f"M{points[0][0]:.1f} {points[0][1]:.1f}{steps}"))
        shapes += [_DOT.format(x, y) for x, y in points]
        last = axis.y(values[-1]) + (15 if number else -7)
        shapes.append(_TEXT.format(places[-1], last, "end", name.format(values[-1])))
    shapes += _names_below(_with_room([(f"{day.day} {day:%b}", x) for day, x in zip(days, places, strict=True)]))
    return Chart(title, spoken, _SVG.format(_WIDTH, _HEIGHT, Markup().join(shapes)))


class _Axis:
    """Values from bottom to top, between round numbers."""

    def __init__(self, lowest: float, highest: float) -> None:
        least = max(highest - lowest, 1) / _TICKS
        power = 10.0 ** floor(log10(least))
        self.step = max(1, next(each * power for each in (1, 2, 5, 10) if each * power >= least * 0.999))
        self.first, self.last = floor(lowest / self.step + 0.001), ceil(highest / self.step - 0.001)
        if self.first == self.last:  # downwards, since no share is above 100 percent; none is below 0
            self.first = max(self.first - 1, 0)
            self.last = self.first + 1

    def y(self, value: float) -> float:
        share = (value / self.step - self.first) / (self.last - self.first)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _BOTTOM - _TOP)

    def shapes(self) -> Iterator[Markup]:
        for value in (number * self.step for number in range(self.first, self.last + 1)):
            yield Markup('<path d="M{} {:.1f}H{}"/>').format(_LEFT, self.y(value), _WIDTH - _RIGHT)
            yield _TEXT.format(_LEFT - 5, self.y(value) + 4, "end", f"{value:,.10g}")


def _with_room(named: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """Choose the first and the last name, and from the end on those between that lie over no other."""
    shown = [named[-1]]
    for name, place in named[-2:0:-1]:
        if shown[-1][1] - place >= _NAME_WIDTH and place - named[0][1] >= _NAME_WIDTH:
            shown.append((name, place))
    return [*shown, named[0]]


def _names_below(named: Sequence[tuple[str, float]]) -> Iterator[Markup]:
    for name, place in named:
        half = 3.2 * len(name)
        yield _TEXT.format(min(place, _WIDTH - half), _HEIGHT - 5, "middle", name)
