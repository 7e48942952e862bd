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
    series: Sequence[str]  # the names of its colours, in their order
    svg: Markup


def bars(title: str, names: Sequence[str], series: Mapping[str, Sequence[float]], spoken: str) -> Chart:
    """Draw bars, those of several series one on the other."""
    columns = list(zip(*series.values(), strict=True))
    axis, step = _Axis(max(map(sum, columns))), (_WIDTH - _LEFT - _RIGHT) / len(names)
    places = [_LEFT + (number + 0.5) * step for number in range(len(names))]
    shapes = list(axis.shapes())
    for x, values in zip(places, columns, strict=True):
        below = 0.0
        for number, value in enumerate(values):
            top, bottom = axis.y(below + value), axis.y(below)
            shapes.append(_BAR.format(number, x - 0.35 * step, top, 0.7 * step, bottom - top))
            below += value
    svg = Markup('<svg viewBox="0 0 {} {}" aria-hidden="true">{}</svg>')
    shapes += _names_below(names, places)
    return Chart(title, spoken, list(series), svg.format(_WIDTH, _HEIGHT, Markup().join(shapes)))


class _Axis:
    """Files from bottom to top, between round numbers."""

    def __init__(self, highest: float) -> None:
        least = max(highest, 1) / _TICKS
        power = 10.0 ** floor(log10(least))
        self.step = max(1, next(each * power for each in (1, 2, 5, 10) if each * power >= least * 0.999))
        self.steps = max(ceil(highest / self.step - 0.001), 1)

    def y(self, value: float) -> float:
        return _HEIGHT - _BOTTOM - value / (self.steps * self.step) * (_HEIGHT - _BOTTOM - _TOP)

    def shapes(self) -> Iterator[Markup]:
        for value in (number * self.step for number in range(self.steps + 1)):
            yield Markup('<path d="M{} {:.1f}H{}"/>').format(_LEFT, self.y(value), _WIDTH - _RIGHT)
            yield _TEXT.format(_LEFT - 5, self.y(value) + 4, "end", f"{value:,.10g}")


def _names_below(names: Sequence[str], places: Sequence[float]) -> Iterator[Markup]:
    """Name some places at equal distances, the last one among them."""
    every = -(-len(names) // _MOST_NAMES)
    for name, place in list(zip(names, places, strict=True))[::-1][::every]:
        half = 3.2 * len(name)
        yield _TEXT.format(min(place, _WIDTH - half), _HEIGHT - 5, "middle", name)
