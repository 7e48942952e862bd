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

# Without a heartbeat, until the reason is guessed at.
_LATE_SECONDS = 2 * HEARTBEAT_SECONDS

Show = Callable[[Sequence[Text], datetime], None]
"""Shows some lines, and the moment of which they tell."""


@contextmanager
def display(out: Screen) -> Iterator[Show]:
    """Show progress: on a terminal always the newest lines, in a log a line with its time for each."""
    if not out.is_terminal:

        def print_line(lines: Sequence[Text], at: datetime) -> None:
            local_time = at.astimezone()
            out.line(f"{local_time:%Y-%m-%d %H:%M:%S}", Text(" · ").join(lines))

        yield print_line
        return
    redirects_stderr = sys.stderr.isatty()
    with Live(console=out, transient=True, auto_refresh=False, redirect_stderr=redirects_stderr) as live:
        # A second Ctrl-C ends the process at once: a hidden cursor would stay hidden.
        out.show_cursor()

        def update(lines: Sequence[Text], _at: datetime) -> None:
            live.update(Text("\n").join(lines), refresh=True)

        yield update


def followed(out: Screen, heartbeats: Iterable[RunStatus]) -> bool:
    """Show each heartbeat until the legs have ended; False if a person ends the following before, with Ctrl-C."""
    last_sign: object = None
    try:
        with display(out) as show:
            for run in heartbeats:
                newest = max(run.open_legs, key=lambda leg: leg.beaten_at)
                sign = (newest.beaten_at, newest.is_alive)
                # A log has one line for each heartbeat; a terminal also shows how old the last one is.
                if out.is_terminal or sign != last_sign:
                    lines = active_lines(_progress_of(run), run.open_legs)
                    show(lines, newest.beaten_at)
                last_sign = sign
    except KeyboardInterrupt:
        say("Followed no longer; the run goes on.")
        return False
    return True


def _progress_of(run: RunStatus) -> LegProgress | None:
    """Return the progress of the active leg, else that of the first open one."""
    if run.progress:
        return run.progress
    if run.open_legs:
        return run.open_legs[0].progress
    return None


def active_lines(progress: LegProgress | None, legs: Iterable[OpenLeg]) -> list[Text]:
    legs = list(legs)
    is_late = any(leg.age_seconds > _LATE_SECONDS for leg in legs)
    if progress is not None:
        lines = progress_lines(progress)
    elif is_late:
        lines = [styled("no heartbeat has come yet", "")]
    else:
        lines = [styled("it has just begun: its first heartbeat tells how far it is", "")]
    for leg in legs:
        line = styled(f"leg {leg.leg}: {where_line(leg)}", "")
        lines.append(line)
    return lines


def where_line(leg: OpenLeg) -> str:
    age = f"last sign of life {duration_text(leg.age_seconds)} ago"
    if leg.is_gone:
        return f"{leg.holder.where} is gone, {age}"
    # Whoever sees no heartbeat asks why: a full disk or a lost mount of the store silences a process that works.
    why = ""
    if leg.age_seconds > _LATE_SECONDS:
        why = ": it cannot write to the results store, or is gone"
    if not leg.is_alive:
        return f"{leg.holder.where} is silent, {age}{why}"
    since = f"{leg.holder.taken_at:%Y-%m-%d %H:%M:%S} UTC"
    return f"{leg.holder.where}, since {since}, {age}{why}"


def progress_lines(progress: LegProgress) -> list[Text]:
    """Write how far a run is, in a few lines.

    As long as nobody knows what earlier legs have done, the first line has only how many rows there are.
    """
    between = Text(" · ")
    lines = [
        between.join(_words_on_rows(progress)),
        between.join(_words_on_speed(progress)),
        between.join(_words_on_calls(progress)),
    ]
    # A leg that waits looks like one that hangs: the last line says for what.
    if progress.waiting:
        lines.append(styled(f"waits: {progress.waiting}", PURPLE))
    return lines


def _words_on_rows(progress: LegProgress) -> Iterator[Text]:
    rows = counted(progress.rows, "row")
    earlier = progress.finished_before
    if earlier is None:
        yield styled(rows, "bold")
    else:
        yield styled(f"{progress.finished:,} of {rows}", "bold")
        percent = percent_of(progress.finished, progress.rows, decimals=0)
        yield styled(f"{percent} %", "")
    for word, colour in COLOURS.items():
        if count := progress.counts.get(word, 0):
            yield styled(f"{count:,} {word}", colour)
    if earlier:
        yield styled(f"{earlier:,} by earlier legs", "")


def _words_on_speed(progress: LegProgress) -> Iterator[Text]:
    if progress.rate is not None:
        yield styled(f"{progress.rate:,.1f} files/s", "")
    if progress.seconds_left is not None and progress.finished < progress.rows:
        yield styled(f"about {duration_text(progress.seconds_left)} left", "")


def _words_on_calls(progress: LegProgress) -> Iterator[Text]:
    yield styled(counted(progress.calls, "call"), "")
    if progress.quota_left is not None:
        yield styled(f"{progress.quota_left:,} left in the quota", "")
    if progress.lane_rate is not None:
        yield styled(f"lane {progress.lane_rate:,.1f} calls/s", "")


def print_forecast(out: Screen, cost: Forecast, trouble: str = "") -> None:
    """Print what a run will take; `trouble` says why the quota is unknown."""
    out.line(f"  calls: {_calls(cost)}")
    quota_style = RED if cost.rows_short else None
    out.line(f"  quota: {_quota(cost, trouble)}", style=quota_style)
    out.line(f"  end: {_end(cost)}")
    if pace := _pace(cost):
        out.line(f"  pace: {pace}")
    if cost.binds in {Bind.CALLS, Bind.WINDOW}:
        rows = counted(cost.rows_left, "row")
        out.line(f"  left over: about {rows}, for `proofsweep resume` later", style=PURPLE)


def _calls(cost: Forecast) -> str:
    """Say how many calls files need, as a range where copies or unchanged files may need none."""
    of_quota = f"{cost.calls_of_quota} that read the quota"
    if not cost.calls:
        return f"0 keyed for files, and {of_quota}"
    calls = f"{cost.calls:,}"
    why = "two for each"
    if free_files := (cost.calls - cost.calls_least) // CALLS_PER_ITEM:
        calls = f"{cost.calls_least:,} to {calls}"
        files = counted(free_files, "file")
        why = f"{why}; {files} may need none: copies, or unchanged bytes"
    expected = f"about {cost.calls_expected:,} with retries"
    return f"{calls} keyed for files ({why}), and {of_quota}; {expected}"


def forecast_json(cost: Forecast) -> dict[str, object]:
    document = asdict(cost)
    for name in ("quota_reset", "ends_at"):
        if document[name] is not None:
            document[name] = document[name].isoformat()
    return document


def _quota(cost: Forecast, trouble: str) -> str:
    if cost.headroom is None or cost.rows_short is None:
        why = f": {trouble}" if trouble else ""
        return f"not known{why}"
    left = f"{cost.headroom:,} calls left"
    if cost.reserve:
        left = f"{left}, {cost.reserve:,} of them reserved"
    shortage = "it fits"
    if cost.rows_short:
        shortage = f"short by {counted(cost.rows_short, 'row')}"
    left = f"{left}, {shortage}"
    if cost.quota_reset is None:
        return f"{left}; the reset is unknown"
    reset = f"{cost.quota_reset:%Y-%m-%d %H:%M} UTC"
    if cost.rows_short:
        return f"{left}, the rest after {reset}"
    return f"{left}; resets {reset}"


def _end(cost: Forecast) -> str:
    if not cost.calls:
        return "at once: nothing is sent"
    measured = counted(cost.measured_rows or 0, "file")
    if cost.seconds_range is not None:
        span = _span(*cost.seconds_range)
        if cost.measured_rows is None:
            return f"{span}; how fast the service is, is not known yet"
        return f"{span}; the {measured} that were measured met no limit of the service"
    duration = duration_text(cost.seconds or 0)
    when = f"about {cost.ends_at:%Y-%m-%d %H:%M} UTC, in {duration}"
    # What limits the pace has a line of its own, and is not said twice.
    if cost.binds not in {None, cost.pace_binds}:
        when = f"{when}, bound by {BINDS[cost.binds]}"
    return f"{when}; measured with {measured}"


def _span(shortest: float, longest: float) -> str:
    if round(shortest) < 1:
        return f"within {duration_text(max(1.0, longest))}"
    first = duration_text(shortest)
    last = duration_text(longest)
    if first == last:
        return f"in {first}"
    return f"in {first} to {last}"


def _pace(cost: Forecast) -> str | None:
    if cost.pace_binds is None or cost.seconds_range is not None:
        return None
    limit = BINDS[cost.pace_binds]
    sentences = [f"limited by {limit}"]
    if cost.rate is not None:
        sentences.append(f"the service lets {cost.rate:.3g} calls a second through")
    if cost.seconds_if_doubled is not None:
        duration = duration_text(cost.seconds_if_doubled)
        sentences.append(f"twice {limit} would take {duration}")
    return "; ".join(sentences)


def report(request: CommandRequest, run: RunStatus) -> ExitCode:
    """Print a run's summary; give its exit code."""
    if request.as_json:
        document = json_of(run, request.app.store.url)
        print_json(document)
    else:
        _print_summary(request, run)
    return code_of_run(run)


def _print_summary(request: CommandRequest, run: RunStatus) -> None:
    out, run_id = request.out, run.plan.run_id
    title = styled(f"Run {run_id}", "bold")
    out.print()
    out.line(title, f"— {ending_of(run)}")
    out.print()
    # Counts of an active leg are in its journal; its heartbeat tells how far it is.
    if run.active:
        _print_active(request, run)
        return
    _print_counts(out, run)
    out.print()
    if run.groups:
        _print_kinds(out, run)
        out.print()
    _print_work(out, run)
    print_ignored(out, run.plan.ignored)
    for note in notes_of(run):
        out.line(f"  {note}", style=PURPLE)
    out.line(f"  tables: {request.app.store.url}/{{verdicts,exchanges,runs}}")
    if run.head:
        out.line(f"  head of the log: {run.head}")
    _print_next_step(request, run)


def _print_active(request: CommandRequest, run: RunStatus) -> None:
    out, run_id = request.out, run.plan.run_id
    for line in active_lines(run.progress, run.active):
        out.line("  ", line, sep="")
    follow = request.command("status", run_id, follow=True)
    stop = request.command("stop", run_id)
    out.line("  follow:", command=follow)
    out.line("  stop:", command=stop)


def _print_counts(out: Screen, run: RunStatus) -> None:
    counts: list[Text] = []
    for word, colour in COLOURS.items():
        rows = run.rows(word)
        if rows:
            text = styled(f"{rows:,} {word}", colour)
            counts.append(text)
    all_rows = counted(run.plan.items, "row")
    finished = styled(f"{run.finished:,} of {all_rows}", "bold")
    counts.append(finished)
    out.line("  ", Text("   ").join(counts), sep="")


def _print_work(out: Screen, run: RunStatus) -> None:
    throttled = f"{run.total('throttled'):,} throttled"
    sent = size_text(run.total("bytes_sent"))
    legs = counted(len(run.legs), "leg")
    duration = f"{run.seconds:,.1f} s in {legs}"
    out.line(f"  {calls_of(run)}; {throttled}, {sent} sent, {duration}")


def _print_next_step(request: CommandRequest, run: RunStatus) -> None:
    run_id = run.plan.run_id
    if not run.is_over:
        rows = counted(run.remaining, "row")
        resume = request.command("resume", run_id)
        request.out.line(f"  {rows} to do:", command=resume, style="bold")
    elif any(map(run.attention, NEED_ATTENTION)):
        rejects = request.command("rejects", run_id)
        request.out.line("  all that need attention, with what to do:", command=rejects, style="bold")


def _print_kinds(out: Screen, run: RunStatus) -> None:
    """Print the rows by outcome and reason: what to do, and one file of those that need attention."""
    digits = max(len(f"{group.rows:,}") for group in run.groups)
    letters = max(len(group.label) for group in run.groups)
    # On a narrow terminal, what to do stands below the kind: beside it, it would be a column of single words.
    remedy_column = digits + letters + 6
    has_room = not out.is_terminal or out.width - remedy_column >= NARROWEST
    blanks = " " * digits
    for group in run.groups:
        colour = COLOURS.get(group.outcome, "")
        rows = f"{group.rows:>{digits},}"
        kind = styled(f"{rows}  {group.label:<{letters}}", colour)
        if has_room:
            out.line("  ", kind, f"  {group.what_to_do}", sep="", column=remedy_column)
        else:
            out.line("  ", kind, sep="")
            out.line(f"  {blanks}  {group.what_to_do}", column=digits + 4)
        if group.example_to_look_at:
            example = group.example_to_look_at
            if group.rows > 1:
                example = f"such as {example}"
            out.line(f"  {blanks}  {example}", style="dim")
