"""Show the progress of a run: one live line on a terminal of any width, plain lines elsewhere."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime

from rich.console import Console
from rich.live import Live
from rich.text import Text

from cli.screen import COLOURS, size_text, styled
from proofsweep.background import background_thread
from proofsweep.model.runs import LegProgress
from proofsweep.text import duration_text
from proofsweep.wiring.engines import leg_progress

# Bounds how old the live line is. Chosen: twice looks stuck, half only redraws more often.
_LIVE_SECONDS = 0.25

# Bounds the lines in a log. Chosen: 360 lines in an hour; half doubles them, twice hides a stop for longer.
_PLAIN_SECONDS = 10.0

# From this rate on, a fraction of a file says nothing. Chosen: at half 5.4 reads as 5, at twice 19.7 is not read.
_WHOLE_FILES = 10.0

_BETWEEN_COLUMNS = len(" · ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a leg is.

    Attributes:
        at: the wall clock of this machine.
        finished: rows of the whole plan that have an outcome.
        items: rows of the whole plan.
        done: rows that this leg finished in `seconds`.
        counts: rows of this leg by outcome, without empty ones.
        lane: what limits the rate, once that is known.
        is_stopping: whether the leg was asked to stop.
    """

    at: datetime
    finished: int
    items: int
    done: int
    seconds: float
    counts: Sequence[tuple[str, int]] = field(default=())
    sent_bytes: int = 0
    lane: str = ""
    is_stopping: bool = False

    @property
    def rate(self) -> str:
        """The rate of this leg so far."""
        rate = self.done / self.seconds if self.seconds else 0.0
        return f"{rate:,.0f} files/s" if rate >= _WHOLE_FILES else f"{rate:,.1f} files/s"

    @property
    def left(self) -> str:
        """The time that is left at this rate, in words; nothing before the first file."""
        if not self.done or self.finished >= self.items:
            return ""
        return f"{duration_text((self.items - self.finished) * self.seconds / self.done)} left"


def progress_shown(out: Console, items: int, finished_before: int) -> AbstractContextManager[Callable[[], None]]:
    """Show the progress of this process's leg beside the work; the value ends the display before the work ends.

    Args:
        out: where to show it.
        items: rows of the whole plan.
        finished_before: rows that earlier legs have finished.
    """
    show = _show_live if out.is_terminal else _show_plainly
    return background_thread("progress", lambda over: show(out, over, items, finished_before))


def line_of(progress: Progress, columns: int) -> Text:
    """Write the progress on one line of so many columns: what does not fit is left out, the least important first."""
    share = f"{progress.finished:,}/{progress.items:,}"
    by_importance: list[tuple[int, str, str]] = [  # its position on the line, the text, its style
        (0, "stopping, Ctrl-C again ends at once" if progress.is_stopping else "", "yellow"),
        (2, share, "bold"),
        (3, progress.left, ""),
        (1, f"{progress.at:%H:%M:%S}", ""),
        (5, progress.rate, ""),
        *((6, f"{count:,} {word}", COLOURS[word]) for word, count in reversed(progress.counts)),
        (4, f"{100 * progress.finished // max(1, progress.items)} %", ""),
        (8, progress.lane, ""),
        (7, size_text(progress.sent_bytes), ""),
    ]
    chosen: list[tuple[int, int, Text]] = []
    room = columns
    for rank, (position, text, style) in enumerate(by_importance):
        needed = len(text) + (_BETWEEN_COLUMNS if chosen else 0)
        if text and needed <= room:
            chosen.append((position, -rank, styled(text, style)))
            room -= needed
    line = Text(" · ").join(text for *_, text in sorted(chosen, key=lambda part: part[:2]))
    line.no_wrap, line.overflow = True, "crop"
    return line


def plain_line(progress: Progress) -> str:
    """Write the progress as a line of a log."""
    counts = ", ".join(f"{count:,} {word}" for word, count in progress.counts)
    share = f"{progress.finished:,} of {progress.items:,} rows" + (f" ({counts})" if counts else "")
    parts = [share, progress.rate, progress.left and f"about {progress.left}", progress.lane]
    return f"{progress.at:%Y-%m-%d %H:%M:%S} " + ", ".join(part for part in parts if part)


def _show_live(out: Console, over: threading.Event, items: int, finished_before: int) -> None:
    with Live(Text("starting"), console=out, transient=True, refresh_per_second=4) as live:
        out.show_cursor()  # a second Ctrl-C ends the process at once; a hidden cursor would stay hidden
        began = time.monotonic()
        while not over.wait(_LIVE_SECONDS):
            leg = leg_progress()
            if leg is not None:
                live.update(line_of(_progress_of(leg, items, finished_before, time.monotonic() - began), out.width))


def _show_plainly(out: Console, over: threading.Event, items: int, finished_before: int) -> None:
    began = time.monotonic()
    while not over.wait(_PLAIN_SECONDS):
        leg = leg_progress()
        if leg is not None:
            out.print(plain_line(_progress_of(leg, items, finished_before, time.monotonic() - began)))


def _progress_of(leg: LegProgress, items: int, finished_before: int, seconds: float) -> Progress:
    done = sum(leg.counts.values())
    return Progress(
        at=datetime.now().astimezone(),
        finished=finished_before + done,
        items=items,
        done=done,
        seconds=seconds,
        counts=[(word, count) for word in COLOURS if (count := leg.counts[word])],
        sent_bytes=leg.sent_bytes,
        lane=_lane_text(leg),
        is_stopping=leg.is_stopping,
    )


def _lane_text(leg: LegProgress) -> str:
    """Return what limits the rate, once that is known."""
    if leg.is_outage:
        return "a control came out wrong; only controls go"
    if leg.most_at_once is not None:
        return f"at most {leg.most_at_once:,} calls at once"
    return "" if leg.rate is None else f"lane {leg.rate:,.1f} calls/s"
