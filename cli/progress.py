"""Show the progress of a run: a live line on a terminal, plain lines elsewhere."""

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Column

from cli.screen import COLOURS, size_text
from proofsweep.bootstrap.legs import active_legs
from proofsweep.client.pacing.dispatcher import LaneStatus
from proofsweep.usecases.leg.background import beside
from proofsweep.usecases.leg.leg_context import LegContext

# Bounds how old the live line is. Chosen: twice looks stuck, half only redraws more often.
_LIVE_SECONDS = 0.25

# Bounds the lines in a log. Chosen: 360 lines in an hour; half doubles them, twice hides a stop for longer.
_PLAIN_SECONDS = 10.0

# Narrower terminals get no bar. Chosen: less folds the counts of a common run, more hides a bar that fits.
_BAR_MIN_COLUMNS = 110


def progress_shown(out: Console, items: int, finished_before: int) -> AbstractContextManager[Callable[[], None]]:
    """Show the progress of this process's leg beside the work; the value ends the display before the work ends.

    Args:
        out: where to show it.
        items: rows of the whole plan.
        finished_before: rows that earlier legs have finished.
    """
    show = _show_live if out.is_terminal else _show_plainly
    return beside("progress", lambda over: show(out, over, items, finished_before))


def _show_live(out: Console, over: threading.Event, items: int, finished_before: int) -> None:
    bar = [BarColumn(bar_width=24)] if out.width >= _BAR_MIN_COLUMNS else []
    columns = (
        *bar,
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[pace]}", table_column=Column()),  # a narrow terminal folds these two
        TextColumn("{task.fields[counts]}", table_column=Column()),
    )
    with Progress(*columns, console=out, transient=True) as progress:
        out.show_cursor()  # a second Ctrl-C ends the process at once; a hidden cursor would stay hidden
        task = progress.add_task("verify", total=items, completed=finished_before, pace="starting", counts="")
        began = time.monotonic()
        while not over.wait(_LIVE_SECONDS):
            _advance(progress, task, finished_before, time.monotonic() - began)


def _advance(progress: Progress, task: TaskID, finished_before: int, seconds: float) -> None:
    leg = _active_leg()
    if leg is None:
        return
    done = leg.counters.rows.total()
    stopping = "stopping, Ctrl-C again ends at once · " if leg.stop.reason is not None else ""
    lane = _lane_text(leg.lane)
    pace = f"{stopping}{done / seconds:,.0f} files/s · {size_text(leg.counters.audio_bytes)}{lane}"
    progress.update(task, completed=finished_before + done, pace=pace, counts=_coloured_counts(leg))


def _coloured_counts(leg: LegContext) -> str:
    return " ".join(f"[{COLOURS[word]}]{count:,} {word}[/]" for word, count in _counts(leg))


def _counts(leg: LegContext) -> list[tuple[str, int]]:
    """Give the rows of each outcome, always in the same order."""
    return [(word, count) for word in COLOURS if (count := leg.counters.rows[word])]


def _show_plainly(out: Console, over: threading.Event, items: int, finished_before: int) -> None:
    began = time.monotonic()
    while not over.wait(_PLAIN_SECONDS):
        leg = _active_leg()
        if leg is not None:
            out.print(_plain_line(leg, items, finished_before, time.monotonic() - began))


def _plain_line(leg: LegContext, items: int, finished_before: int, seconds: float) -> str:
    done = leg.counters.rows.total()
    rate = done / seconds
    left = items - finished_before - done
    counts = ", ".join(f"{count:,} {word}" for word, count in _counts(leg))
    remaining = f", about {left / rate:,.0f} s left" if rate else ""
    pace = f"{rate:,.1f} files/s{remaining}{_lane_text(leg.lane)}"
    return f"{finished_before + done:,} of {items:,} rows ({counts}), {pace}"


def _lane_text(lane: LaneStatus) -> str:
    """Say what limits the rate, once that is known."""
    if lane.is_outage:
        return " · the service fails; one call at a time probes it"
    rate = "" if lane.rate is None else f" · lane {lane.rate:,.1f} calls/s"
    return rate if lane.most is None else f" · at most {lane.most:,} calls at once"


def _active_leg() -> LegContext | None:
    return next(iter(active_legs()), None)
