"""Show the progress of a run: one live line on a terminal of any width, plain lines elsewhere."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime

from rich.console import Console
from rich.live import Live
from rich.text import Text

from cli.screen import COLOURS, size_text, styled
from proofsweep.background import background_thread
from proofsweep.model.progress import LegProgress
from proofsweep.text import duration_text
from proofsweep.wiring.engines import leg_progress

# Bounds how old the live line is. Chosen: twice looks stuck, half only redraws more often.
_LIVE_SECONDS = 0.25

# Bounds the lines in a log. Chosen: 360 lines in an hour; half doubles them, twice hides a stop for longer.
_PLAIN_SECONDS = 10.0

# From this rate on, a fraction of a file says nothing. Chosen: at half 5.4 reads as 5, at twice 19.7 is not read.
_WHOLE_FILES = 10.0

_BETWEEN_COLUMNS = len(" · ")


def progress_shown(out: Console) -> AbstractContextManager[Callable[[], None]]:
    """Show the progress of this process's leg beside the work; the value ends the display before the work ends."""
    show = _show_live if out.is_terminal else _show_plainly
    return background_thread("progress", lambda over: show(out, over))


def line_of(progress: LegProgress, at: datetime, columns: int, hint: str = "") -> Text:
    """Write the progress on one line of so many columns: what does not fit is left out, the least important first.

    Args:
        progress: of a leg.
        at: what a clock on the wall says.
        columns: of the terminal.
        hint: what a person can do while it stops.
    """
    share = f"{progress.finished:,}/{progress.rows:,}"
    by_importance: list[tuple[int, str, str]] = [  # its position on the line, the text, its style
        (0, f"stopping{hint}" if progress.is_stopping else "", "yellow"),
        (2, share, "bold"),
        (3, left_text(progress), ""),
        (1, f"{at:%H:%M:%S}", ""),
        (9, "" if progress.is_stopping else progress.waiting, "yellow"),
        (5, rate_text(progress), ""),
        *((6, f"{count:,} {word}", COLOURS[word]) for word, count in reversed(counts_of(progress))),
        (4, f"{100 * progress.finished // max(1, progress.rows)} %", ""),
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


def plain_line(progress: LegProgress, at: datetime) -> str:
    """Write the progress as a line of a log."""
    counts = ", ".join(f"{count:,} {word}" for word, count in counts_of(progress))
    share = f"{progress.finished:,} of {progress.rows:,} rows" + (f" ({counts})" if counts else "")
    left = left_text(progress)
    parts = [share, rate_text(progress), left and f"about {left}", progress.lane, progress.waiting]
    return f"{at:%Y-%m-%d %H:%M:%S} " + ", ".join(part for part in parts if part)


def counts_of(progress: LegProgress) -> list[tuple[str, int]]:
    """Return the rows of the leg by outcome, without empty ones."""
    return [(word, count) for word in COLOURS if (count := progress.counts.get(word, 0))]


def rate_text(progress: LegProgress) -> str:
    """Write how fast it goes; nothing before that is known."""
    if progress.rate is None:
        return ""
    return f"{progress.rate:,.0f} files/s" if progress.rate >= _WHOLE_FILES else f"{progress.rate:,.1f} files/s"


def left_text(progress: LegProgress) -> str:
    """Write the time that is left; nothing if nobody knows it, or no row is left."""
    if progress.seconds_left is None or progress.finished >= progress.rows:
        return ""
    return f"{duration_text(progress.seconds_left)} left"


def _show_live(out: Console, over: threading.Event) -> None:
    with Live(Text("starting"), console=out, transient=True, refresh_per_second=4) as live:
        out.show_cursor()  # a second Ctrl-C ends the process at once; a hidden cursor would stay hidden
        while not over.wait(_LIVE_SECONDS):
            progress = leg_progress()
            if progress is not None:
                live.update(line_of(progress, datetime.now().astimezone(), out.width, ", Ctrl-C again ends at once"))


def _show_plainly(out: Console, over: threading.Event) -> None:
    while not over.wait(_PLAIN_SECONDS):
        progress = leg_progress()
        if progress is not None:
            out.print(plain_line(progress, datetime.now().astimezone()), soft_wrap=True)
