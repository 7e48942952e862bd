"""How runs look on a terminal or in a log: the progress of a leg, a leg elsewhere, a forecast, a summary."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime

from rich.live import Live
from rich.text import Text

from proofsweep.config.notices import say
from proofsweep.domain.exchanges import CALLS_PER_ITEM
from proofsweep.domain.text import counted, duration_text, percent_of
from proofsweep.queries.status import NEED_ATTENTION, RunStatus
from proofsweep.reports.run import calls_of, ending_of, json_of, notes_of
from proofsweep.store.heartbeat import HEARTBEAT_SECONDS, LegProgress, OpenLeg
from proofsweep.verify.forecast import Bind, Forecast
from proofsweep_cli.command import CommandRequest
from proofsweep_cli.exit_codes import ExitCode, code_of_run
from proofsweep_cli.screen import COLOURS, NARROWEST, PURPLE, RED, Screen, print_ignored, print_json, size_text, styled

BINDS = {
    Bind.LANE: "the service's lane",
    Bind.UPLINK: "the uplink",
    Bind.THREADS: "the number of workers",
    Bind.QUOTA: "the quota",
    Bind.CALLS: "the limit of calls",
    Bind.WINDOW: "the time window",
}


_LATE_SECONDS = 2 * HEARTBEAT_SECONDS  # without a heartbeat, until the reason is guessed at

Show = Callable[[Sequence[Text], datetime], None]
"""Shows some lines, and the moment of which they tell."""


@contextmanager
def display(out: Screen) -> Iterator[Show]:
    """Show progress: on a terminal always the newest lines, in a log a line with its time for each."""
    if not out.is_terminal:
        yield lambda lines, at: out.line(f"{at.astimezone():%Y-%m-%d %H:%M:%S}", Text(" · ").join(lines))
        return
    with Live(console=out, transient=True, auto_refresh=False, redirect_stderr=sys.stderr.isatty()) as live:
        out.show_cursor()  # a second Ctrl-C ends the process at once; a hidden cursor would stay hidden
        yield lambda lines, _at: live.update(Text("\n").join(lines), refresh=True)


def followed(out: Screen, heartbeats: Iterable[RunStatus]) -> bool:
    """Show each heartbeat until the legs have ended; False if a person ends the following before, with Ctrl-C."""
    shown: object = None
    try:
        with display(out) as show:
            for run in heartbeats:
                last = max(run.open_legs, key=lambda leg: leg.beaten_at)
                sign = (last.beaten_at, last.is_alive)
                if out.is_terminal or sign != shown:
                    told = run.progress or next((leg.progress for leg in run.open_legs), None)
                    show(active_lines(told, run.open_legs), last.beaten_at)
                shown = sign
    except KeyboardInterrupt:
        say("Followed no longer; the run goes on.")
        return False
    return True


def active_lines(told: LegProgress | None, legs: Iterable[OpenLeg]) -> list[Text]:
    legs = list(legs)
    is_late = any(leg.age_seconds > _LATE_SECONDS for leg in legs)
    words = "no heartbeat has come yet" if is_late else "it has just begun: its first heartbeat tells how far it is"
    begun = styled(words, "")
    lines = [begun] if told is None else progress_lines(told)
    return [*lines, *(styled(f"leg {leg.leg}: {where_line(leg)}", "") for leg in legs)]


def where_line(leg: OpenLeg) -> str:
    age = f"last sign of life {duration_text(leg.age_seconds)} ago"
    if leg.is_gone:
        return f"{leg.holder.where} is gone, {age}"
    # Whoever sees no heartbeat asks why: a full disk or a lost mount of the store silences a process that works.
    why = ": it cannot write to the results store, or is gone" if leg.age_seconds > _LATE_SECONDS else ""
    if not leg.is_alive:
        return f"{leg.holder.where} is silent, {age}{why}"
    return f"{leg.holder.where}, since {leg.holder.taken_at:%Y-%m-%d %H:%M:%S} UTC, {age}{why}"


def progress_lines(progress: LegProgress) -> list[Text]:
    """Write how far a run is, in a few lines.

    As long as nobody knows what earlier legs have done, the first line has only how many rows there are.
    """
    rows, earlier = counted(progress.rows, "row"), progress.finished_before
    counts = [(word, count) for word in COLOURS if (count := progress.counts.get(word, 0))]
    percent = percent_of(progress.finished, progress.rows, decimals=0)
    share = [rows] if earlier is None else [f"{progress.finished:,} of {rows}", f"{percent} %"]
    left = progress.seconds_left if progress.finished < progress.rows else None
    lines: list[list[str | Text]] = [
        [
            styled(share[0], "bold"),
            *share[1:],
            *(styled(f"{count:,} {word}", COLOURS[word]) for word, count in counts),
            f"{earlier:,} by earlier legs" if earlier else "",
        ],
        [
            "" if progress.rate is None else f"{progress.rate:,.1f} files/s",
            "" if left is None else f"about {duration_text(left)} left",
        ],
        [
            counted(progress.calls, "call"),
            "" if progress.quota_left is None else f"{progress.quota_left:,} left in the quota",
            "" if progress.lane_rate is None else f"lane {progress.lane_rate:,.1f} calls/s",
        ],
    ]
    texts = [Text(" · ").join(Text.assemble(part) for part in line if part) for line in lines]
    if progress.waiting:
        texts.append(styled(f"waits: {progress.waiting}", PURPLE))
    return texts


def print_forecast(out: Screen, cost: Forecast, trouble: str = "") -> None:
    """Print what a run will take; `trouble` says why the quota is unknown."""
    calls, why = f"{cost.calls:,}", "two for each"
    if free := (cost.calls - cost.calls_least) // CALLS_PER_ITEM:
        calls = f"{cost.calls_least:,} to {calls}"
        why += f"; {counted(free, 'file')} may need none: copies, or unchanged bytes"
    files = f"{calls} keyed for files ({why})" if cost.calls else "0 keyed for files"
    expected = f"; about {cost.calls_expected:,} with retries" if cost.calls else ""
    out.line(f"  calls: {files}, and {cost.calls_of_quota} that read the quota{expected}")
    out.line(f"  quota: {_quota(cost, trouble)}", style=RED if cost.rows_short else None)
    out.line(f"  end: {_end(cost)}")
    if pace := _pace(cost):
        out.line(f"  pace: {pace}")
    if cost.binds in {Bind.CALLS, Bind.WINDOW}:
        rows = counted(cost.rows_left, "row")
        out.line(f"  left over: about {rows}, for `proofsweep resume` later", style=PURPLE)


def forecast_json(cost: Forecast) -> dict[str, object]:
    instants = {name: at.isoformat() for name in ("quota_reset", "ends_at") if (at := getattr(cost, name)) is not None}
    return asdict(cost) | instants


def _quota(cost: Forecast, trouble: str) -> str:
    if cost.headroom is None or cost.rows_short is None:
        return f"not known{': ' + trouble if trouble else ''}"
    left = f"{cost.headroom:,} calls left" + (f", {cost.reserve:,} of them reserved" if cost.reserve else "")
    reset = "the reset is unknown" if cost.quota_reset is None else f"resets {cost.quota_reset:%Y-%m-%d %H:%M} UTC"
    if not cost.rows_short:
        return f"{left}, it fits; {reset}"
    rest = "" if cost.quota_reset is None else f", the rest after {cost.quota_reset:%Y-%m-%d %H:%M} UTC"
    return f"{left}, short by {counted(cost.rows_short, 'row')}{rest or '; ' + reset}"


def _end(cost: Forecast) -> str:
    if not cost.calls:
        return "at once: nothing is sent"
    measured = counted(cost.measured_rows or 0, "file")
    if cost.seconds_range is not None:
        why = "how fast the service is, is not known yet"
        if cost.measured_rows is not None:
            why = f"the {measured} that were measured met no limit of the service"
        return f"{_span(*cost.seconds_range)}; {why}"
    bound = "" if cost.binds in {None, cost.pace_binds} else f", bound by {BINDS[cost.binds]}"
    when = f"about {cost.ends_at:%Y-%m-%d %H:%M} UTC, in {duration_text(cost.seconds or 0)}{bound}"
    return f"{when}; measured with {measured}"


def _span(shortest: float, longest: float) -> str:
    if round(shortest) < 1:
        return f"within {duration_text(max(1.0, longest))}"
    return f"in {' to '.join(dict.fromkeys(map(duration_text, (shortest, longest))))}"


def _pace(cost: Forecast) -> str | None:
    if cost.pace_binds is None or cost.seconds_range is not None:
        return None
    known = "" if cost.rate is None else f"the service lets {cost.rate:.3g} calls a second through"
    helps = ""
    if cost.seconds_if_doubled is not None:
        helps = f"twice {BINDS[cost.pace_binds]} would take {duration_text(cost.seconds_if_doubled)}"
    return "; ".join(filter(None, (f"limited by {BINDS[cost.pace_binds]}", known, helps)))


def report(request: CommandRequest, run: RunStatus) -> ExitCode:
    """Print a run's summary; give its exit code."""
    if request.as_json:
        print_json(json_of(run, request.app.store.url))
    else:
        _print_summary(request, run)
    return code_of_run(run)


def _print_summary(request: CommandRequest, run: RunStatus) -> None:
    out, run_id = request.out, run.plan.run_id
    out.print()
    out.line(styled(f"Run {run_id}", "bold"), f"— {ending_of(run)}")
    out.print()
    if run.active:
        for line in active_lines(run.progress, run.active):
            out.line("  ", line, sep="")
        out.line("  follow:", command=request.command("status", run_id, follow=True))
        out.line("  stop:", command=request.command("stop", run_id))
        return
    words = [styled(f"{run.rows(word):,} {word}", COLOURS[word]) for word in COLOURS if run.rows(word)]
    words.append(styled(f"{run.finished:,} of {counted(run.plan.items, 'row')}", "bold"))
    out.line("  ", Text("   ").join(words), sep="")
    out.print()
    if run.groups:
        _print_kinds(out, run)
        out.print()
    out.line(
        f"  {calls_of(run)}; {run.total('throttled'):,} throttled, {size_text(run.total('bytes_sent'))} sent, "
        f"{run.seconds:,.1f} s in {counted(len(run.legs), 'leg')}"
    )
    print_ignored(out, run.plan.ignored)
    for note in notes_of(run):
        out.line(f"  {note}", style=PURPLE)
    out.line(f"  tables: {request.app.store.url}/{{verdicts,exchanges,runs}}")
    if run.head:
        out.line(f"  head of the log: {run.head}")
    if not run.is_over:
        rows = f"  {counted(run.remaining, 'row')} to do:"
        out.line(rows, command=request.command("resume", run_id), style="bold")
    elif any(map(run.attention, NEED_ATTENTION)):
        attention = "  all that need attention, with what to do:"
        out.line(attention, command=request.command("rejects", run_id), style="bold")


def _print_kinds(out: Screen, run: RunStatus) -> None:
    """Print the rows by outcome and reason: what to do, and one file of those that need attention."""
    digits = max(len(f"{group.rows:,}") for group in run.groups)
    letters = max(len(group.label) for group in run.groups)
    beside = digits + letters + 6  # the column of what to do, where it stands beside the kind
    has_room = not out.is_terminal or out.width - beside >= NARROWEST
    for group in run.groups:
        kind = styled(f"{group.rows:>{digits},}  {group.label:<{letters}}", COLOURS.get(group.outcome, ""))
        if has_room:
            out.line("  ", kind, f"  {group.what_to_do}", sep="", column=beside)
        else:
            out.line("  ", kind, sep="")
            out.line(f"  {'':{digits}}  {group.what_to_do}", column=digits + 4)
        if group.example_to_look_at:
            such_as = "" if group.rows == 1 else "such as "
            out.line(f"  {'':{digits}}  {such_as}{group.example_to_look_at}", style="dim")
