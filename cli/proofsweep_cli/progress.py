"""Show the progress of a run: one live line on a terminal of any width, plain lines elsewhere."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime

from rich.console import Console
from rich.live import Live
from rich.text import Text

from proofsweep.config.threads import background_thread
from proofsweep.wiring.engines import leg_progress
from proofsweep_cli.progress_lines import line_of, plain_line

_LIVE_SECONDS = 0.25
_PLAIN_SECONDS = 10.0


def progress_shown(out: Console) -> AbstractContextManager[Callable[[], None]]:
    """Show the progress of this process's leg beside the work; the value ends the display before the work ends."""
    show = _show_live if out.is_terminal else _show_plainly
    return background_thread("progress", lambda over: show(out, over))


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
