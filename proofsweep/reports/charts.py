"""Charts as SVG of one size, which fits on a phone; their colours are those of the page's style sheet."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from markupsafe import Markup

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 360, 150, 44, 8, 8, 20
_MOST_NAMES = 5  # below a chart
_TICKS = 3
_TEXT = Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>')
_BAR = Markup('<rect class="s{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>')


@dataclass(frozen=True, slots=True)
class Chart:
    title: str
    spoken: str  # what it shows, in words
    series: Sequence[str]  # the names of its colours, in their order; empty if there is one alone
    svg: Markup


def bars(title: str, names: Sequence[str], series: Mapping[str, Sequence[float]], spoken: str) -> Chart:
    """Draw bars, those of several series one on the other."""
    columns = list(zip(*series.values(), strict=True))
    axis, step = _Axis(0, max(map(sum, columns)), least_step=1), _step(names)
    shapes = []
    for x, values in zip(_places(names), columns, strict=True):
        below = 0.0
        for number, value in enumerate(values):
            top, bottom = axis.y(below + value), axis.y(below)
            shapes.append(_BAR.format(number, x - 0.35 * step, top, 0.7 * step, bottom - top))
            below += value
    return _chart(title, spoken, series, [*axis.shapes(), *shapes, *_names_below(names)])


def lines(
    title: str, names: Sequence[str], series: Mapping[str, Sequence[float | None]], spoken: str, lowest: float = 0
) -> Chart:
    """Draw a line for each series; it passes over what is not known."""
    axis = _Axis(lowest, max((value or 0 for values in series.values() for value in values), default=1))
    shapes = []
    for number, values in enumerate(series.values()):
        known = ((x, value) for x, value in zip(_places(names), values, strict=True) if value is not None)
        points = " ".join(f"{x:.1f},{axis.y(value):.1f}" for x, value in known)
        shapes.append(Markup('<polyline class="l{}" points="{}"/>').format(number, points))
    return _chart(title, spoken, series, [*axis.shapes(), *shapes, *_names_below(names)])


class _Axis:
    """Values from bottom to top, between round ones."""

    def __init__(self, lowest: float, highest: float, least_step: float = 0) -> None:
        least = max(highest - lowest, 1e-9) / _TICKS
        power = 10.0 ** floor(log10(least))
        self.step = max(least_step, next(each * power for each in (1, 2, 5, 10) if each * power >= least * 0.999))
        self.lowest = floor(lowest / self.step) * self.step
        self.steps = max(ceil((highest - self.lowest) / self.step - 0.001), 1)

    def y(self, value: float) -> float:
        share = (value - self.lowest) / (self.steps * self.step)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _BOTTOM - _TOP)

    def shapes(self) -> Iterator[Markup]:
        for value in (self.lowest + number * self.step for number in range(self.steps + 1)):
            yield Markup('<path d="M{} {:.1f}H{}"/>').format(_LEFT, self.y(value), _WIDTH - _RIGHT)
            yield _TEXT.format(_LEFT - 5, self.y(value) + 4, "end", f"{value:,.10g}")


def _step(names: Sequence[str]) -> float:
    return (_WIDTH - _LEFT - _RIGHT) / len(names)


def _places(names: Sequence[str]) -> list[float]:
    return [_LEFT + (number + 0.5) * _step(names) for number in range(len(names))]


def _names_below(names: Sequence[str]) -> Iterator[Markup]:
    """Name some places at equal distances, the last one among them."""
    every = -(-len(names) // _MOST_NAMES)
    for name, place in list(zip(names, _places(names), strict=True))[::-1][::every]:
        half = 3.2 * len(name)
        yield _TEXT.format(min(place, _WIDTH - half), _HEIGHT - 5, "middle", name)


def _chart(title: str, spoken: str, series: Mapping[str, object], shapes: Sequence[Markup]) -> Chart:
    svg = Markup('<svg viewBox="0 0 {} {}" aria-hidden="true">{}</svg>')
    names = list(series) if len(series) > 1 else []
    return Chart(title, spoken, names, svg.format(_WIDTH, _HEIGHT, Markup().join(shapes)))
