"""Write how far a leg is: on one line of a terminal of any width, or of a log."""

from datetime import datetime

from rich.text import Text

from proofsweep.domain.text import duration_text
from proofsweep.store.progress import LegProgress
from proofsweep_cli.screen import COLOURS, counted, size_text, styled

_WHOLE_FILES = 10.0  # from this rate on, a fraction of a file says nothing
_BETWEEN_COLUMNS = len(" · ")


def line_of(progress: LegProgress, at: datetime, columns: int, hint: str = "") -> Text:
    """Write the progress on one line of so many columns: what does not fit is left out, the least important first.

    `at` is what a clock on the wall says; `hint` says what a person can do while the leg stops.
    """
    by_importance: list[tuple[int, str, str]] = [  # its position on the line, the text, its style
        (0, f"stopping{hint}" if progress.is_stopping else "", "yellow"),
        (2, share_text(progress).removesuffix(" rows").replace(" of ", "/"), "bold"),
        (3, left_text(progress), ""),
        (1, f"{at:%H:%M:%S}", ""),
        (9, "" if progress.is_stopping else progress.waiting, "yellow"),
        (5, rate_text(progress), ""),
        *((6, f"{count:,} {word}", COLOURS[word]) for word, count in reversed(counts_of(progress))),
        (4, percent_text(progress), ""),
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
    share = share_text(progress) + (f" ({counts})" if counts else "")
    left = left_text(progress)
    calls = [calls_text(progress), quota_text(progress), progress.lane]
    parts = [share, rate_text(progress), left and f"about {left}", *calls, progress.waiting]
    return f"{at:%Y-%m-%d %H:%M:%S} " + ", ".join(part for part in parts if part)


def share_text(progress: LegProgress) -> str:
    """Write how many rows have an outcome, of all; only all, as long as nobody knows what earlier legs have done."""
    rows = counted(progress.rows, "row")
    return rows if progress.finished_before is None else f"{progress.finished:,} of {rows}"


def percent_text(progress: LegProgress) -> str:
    """Write the share of rows that have an outcome; nothing while that is not known."""
    if progress.finished_before is None:
        return ""
    return f"{100 * progress.finished // max(1, progress.rows)} %"


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


def calls_text(progress: LegProgress) -> str:
    """Write the calls of the leg, and how fast they go."""
    rate = "" if progress.call_rate is None else f", {progress.call_rate:,.1f}/s"
    return f"{counted(progress.calls, 'call')}{rate}"


def quota_text(progress: LegProgress) -> str:
    """Write what is left of the key's quota; nothing if the service did not say."""
    return "" if progress.quota_left is None else f"{progress.quota_left:,} left in the quota"
