"""Show a leg that a process works on, on this machine or another, as its heartbeats tell it."""

from collections.abc import Iterable

from rich.console import Console
from rich.live import Live
from rich.text import Text

from proofsweep.domain.text import duration_text
from proofsweep.store.progress import LegProgress, OpenLeg
from proofsweep_cli.progress_lines import (
    calls_text,
    counts_of,
    left_text,
    percent_text,
    plain_line,
    quota_text,
    rate_text,
    share_text,
)
from proofsweep_cli.screen import COLOURS, print_error, size_text, styled


def active_leg_lines(leg: OpenLeg) -> list[Text]:
    """Write what is known of a leg that is worked on."""
    told = leg.progress
    lines = [styled("it has just begun: its first heartbeat tells how far it is", "")] if told is None else _told(told)
    return [*lines, styled(f"leg {leg.leg}: {where_line(leg)}", "")]


def where_line(leg: OpenLeg) -> str:
    """Write who works on a leg, since when, and how old the last sign of life is."""
    age = f"last sign of life {duration_text(leg.age_seconds)} ago"
    if not leg.is_alive:
        return f"{leg.where} {'is gone' if leg.is_gone else 'is silent'}, {age}"
    return f"{leg.where}, since {leg.since:%Y-%m-%d %H:%M:%S} UTC, {age}"


def short_line(leg: OpenLeg) -> str:
    """Write where a leg is worked on and how fast, for a list of runs."""
    parts = [f"on {leg.claim.host}", f"since {leg.since:%H:%M} UTC"]
    if leg.progress is not None:
        parts += [rate_text(leg.progress), left_text(leg.progress), leg.progress.waiting]
    return ", ".join(part for part in parts if part)


def followed(out: Console, heartbeats: Iterable[OpenLeg]) -> bool:
    """Show each heartbeat until the leg has ended; False if a person ends the following before, with Ctrl-C."""
    try:
        (_follow_live if out.is_terminal else _follow_plainly)(out, heartbeats)
    except KeyboardInterrupt:
        print_error("Followed no longer; the run goes on.")
        return False
    return True


def _follow_live(out: Console, heartbeats: Iterable[OpenLeg]) -> None:
    with Live(console=out, transient=True, auto_refresh=False) as live:
        for leg in heartbeats:
            heading = Text.assemble(styled(f"Run {leg.run_id}", "bold"), "  (Ctrl-C ends only this display)")
            live.update(Text("\n  ").join([heading, *active_leg_lines(leg)]), refresh=True)


def _follow_plainly(out: Console, heartbeats: Iterable[OpenLeg]) -> None:
    told_at, is_silent = None, False
    for leg in heartbeats:
        if leg.beaten_at != told_at:
            at = leg.beaten_at.astimezone()
            line = f"{at:%Y-%m-%d %H:%M:%S} {where_line(leg)}"
            out.print(line if leg.progress is None else plain_line(leg.progress, at), soft_wrap=True)
        elif not leg.is_alive and not is_silent:
            out.print(where_line(leg), soft_wrap=True)
        told_at, is_silent = leg.beaten_at, not leg.is_alive


def _told(progress: LegProgress) -> list[Text]:
    left, earlier = left_text(progress), progress.finished_before
    lines: list[list[str | Text]] = [
        [
            styled(share_text(progress), "bold"),
            percent_text(progress),
            *(styled(f"{count:,} {word}", COLOURS[word]) for word, count in counts_of(progress)),
            f"{earlier:,} by earlier legs" if earlier else "",
        ],
        [rate_text(progress), left and f"about {left}", f"{size_text(progress.sent_bytes)} sent"],
        [calls_text(progress), quota_text(progress), progress.lane],
    ]
    texts = [Text(" · ").join(Text.assemble(part) for part in line if part) for line in lines]
    if progress.waiting:
        since = "" if progress.waits_since is None else f" (since {progress.waits_since:%H:%M:%S} UTC)"
        texts.append(styled(f"waits: {progress.waiting}{since}", "yellow"))
    if progress.stops_because is not None:
        texts.append(styled(f"why: {progress.stops_because}", "yellow"))
    return texts
