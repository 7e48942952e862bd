"""How runs look on a terminal or in a log: the progress of a leg, a leg elsewhere, a forecast, a summary."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime

from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from proofsweep.domain.text import duration_text
from proofsweep.queries.status import NEED_ATTENTION, NamedFile, RunStatus
from proofsweep.reports.run import advice_for, calls_of, ending_of, label_of, notes_of
from proofsweep.store.lease import OpenTerm
from proofsweep.store.progress import LegProgress
from proofsweep.verify.forecast import Bind, Forecast
from proofsweep_cli.screen import COLOURS, Screen, counted, print_error, print_ignored, size_text, styled

_WHOLE_FILES = 10.0  # from this rate on, a fraction of a file says nothing
BINDS = {
    Bind.LANE: "the service's lane",
    Bind.UPLINK: "the uplink",
    Bind.CPU: "this machine's CPU",
    Bind.ANSWERS: "the service's answers",
    Bind.THREADS: "the number of workers",
    Bind.QUOTA: "the quota",
    Bind.CALLS: "the limit of calls",
    Bind.WINDOW: "the time window",
}
_TABLE_COLUMNS = 80  # a narrower terminal folds the advice of a summary into a column of a few letters


def plain_line(progress: LegProgress, at: datetime) -> str:
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
    if progress.finished_before is None:
        return ""
    return f"{100 * progress.finished // max(1, progress.rows)} %"


def counts_of(progress: LegProgress) -> list[tuple[str, int]]:
    return [(word, count) for word in COLOURS if (count := progress.counts.get(word, 0))]


def rate_text(progress: LegProgress) -> str:
    if progress.rate is None:
        return ""
    return f"{progress.rate:,.0f} files/s" if progress.rate >= _WHOLE_FILES else f"{progress.rate:,.1f} files/s"


def left_text(progress: LegProgress) -> str:
    if progress.seconds_left is None or progress.finished >= progress.rows:
        return ""
    return f"{duration_text(progress.seconds_left)} left"


def calls_text(progress: LegProgress) -> str:
    rate = "" if progress.call_rate is None else f", {progress.call_rate:,.1f}/s"
    return f"{counted(progress.calls, 'call')}{rate}"


def quota_text(progress: LegProgress) -> str:
    return "" if progress.quota_left is None else f"{progress.quota_left:,} left in the quota"


def active_lines(told: LegProgress | None, legs: Iterable[OpenTerm]) -> list[Text]:
    begun = styled("it has just begun: its first heartbeat tells how far it is", "")
    lines = [begun] if told is None else progress_lines(told)
    return [*lines, *(styled(f"leg {leg.leg}: {where_line(leg)}", "") for leg in legs)]


def where_line(leg: OpenTerm) -> str:
    age = f"last sign of life {duration_text(leg.age_seconds)} ago"
    if not leg.is_alive:
        return f"{leg.where} {'is gone' if leg.is_gone else 'is silent'}, {age}"
    return f"{leg.where}, since {leg.since:%Y-%m-%d %H:%M:%S} UTC, {age}"


def short_line(told: LegProgress | None, legs: Sequence[OpenTerm]) -> str:
    hosts = " and ".join(sorted({leg.holder.host for leg in legs}))
    parts = [f"on {hosts}", f"since {min(leg.since for leg in legs):%H:%M} UTC"]
    if told is not None:
        parts += [rate_text(told), left_text(told), told.waiting]
    return ", ".join(part for part in parts if part)


def followed(out: Screen, heartbeats: Iterable[RunStatus]) -> bool:
    """Show each heartbeat until the legs have ended; False if a person ends the following before, with Ctrl-C."""
    try:
        (_follow_live if out.is_terminal else _follow_plainly)(out, heartbeats)
    except KeyboardInterrupt:
        print_error("Followed no longer; the run goes on.")
        return False
    return True


def _follow_live(out: Screen, heartbeats: Iterable[RunStatus]) -> None:
    with Live(console=out, transient=True, auto_refresh=False) as live:
        for run in heartbeats:
            heading = Text.assemble(styled(f"Run {run.plan.run_id}", "bold"), "  (Ctrl-C ends only this display)")
            live.update(Text("\n  ").join([heading, *active_lines(_last_progress(run), run.open_legs)]), refresh=True)


def _follow_plainly(out: Screen, heartbeats: Iterable[RunStatus]) -> None:
    told_at, is_silent = None, False
    for run in heartbeats:
        last = max(run.open_legs, key=lambda leg: leg.beaten_at)
        if last.beaten_at != told_at:
            at = last.beaten_at.astimezone()
            line, told = f"{at:%Y-%m-%d %H:%M:%S} {where_line(last)}", _last_progress(run)
            out.line(line if told is None else plain_line(told, at))
        elif not last.is_alive and not is_silent:
            out.line(where_line(last))
        told_at, is_silent = last.beaten_at, not last.is_alive


def _last_progress(run: RunStatus) -> LegProgress | None:
    """Return how far a run is, also by a leg that has fallen silent."""
    return run.progress or next((leg.progress for leg in run.open_legs), None)


def progress_lines(progress: LegProgress, hint: str = "") -> list[Text]:
    """Write how far a run is, in a few lines; `hint` says what a person can do while the leg stops."""
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
        texts.append(styled(f"why: {progress.stops_because}{hint}", "yellow"))
    return texts


def print_forecast(out: Screen, cost: Forecast, trouble: str = "") -> None:
    """Print what a run will take; `trouble` says why the quota is unknown."""
    expected = f"about {cost.calls_expected:,} with retries and requests for the quota"
    out.line(f"  calls: {cost.calls:,} keyed (two for each file), {expected}")
    out.line(f"  quota: {_quota(cost, trouble)}", style="red" if cost.rows_short else None)
    out.line(f"  end: {_end(cost)}")
    if pace := _pace(cost):
        out.line(f"  pace: {pace}")
    if cost.binds in {Bind.CALLS, Bind.WINDOW}:
        rows = counted(cost.rows_left, "row")
        out.line(f"  left over: about {rows}, for `proofsweep resume` later", style="yellow")


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
    if cost.range_seconds is not None:
        shortest, longest = map(duration_text, cost.range_seconds)
        return f"in {shortest} to {longest}: no run has measured how many calls a second this key gets"
    if cost.ends_at is None or cost.seconds is None or cost.binds is None:
        return "unknown"
    when = f"about {cost.ends_at:%Y-%m-%d %H:%M} UTC, in {duration_text(cost.seconds)}, bound by {BINDS[cost.binds]}"
    return f"{when}; measured with {counted(cost.measured_rows or 0, 'file')}"


def _pace(cost: Forecast) -> str | None:
    if cost.pace_binds is None or cost.seconds is None:
        return None
    if cost.rate is None and cost.pace_binds is not Bind.LANE:
        known = "no call was ever refused, so the service's lane is not known"
    else:
        known = "" if cost.rate is None else f"the service lets {cost.rate:.3g} calls a second through"
    helps = ""
    if cost.seconds_if_doubled is not None:
        helps = f"twice {BINDS[cost.pace_binds]} would take {duration_text(cost.seconds_if_doubled)}"
    return "; ".join(filter(None, (f"limited by {BINDS[cost.pace_binds]}", known, helps)))


def print_summary(
    out: Screen, run: RunStatus, results_url: str, *, resume: str, files: Sequence[NamedFile], rejects: str
) -> None:
    out.print()
    out.print(styled(f"Run {run.plan.run_id}", "bold"), f"— {ending_of(run)}")
    out.print()
    words = [styled(f"{run.rows(word):,} {word}", COLOURS[word]) for word in COLOURS if run.rows(word)]
    words.append(styled(f"{run.finished:,} of {counted(run.plan.items, 'row')}", "bold"))
    out.print("  ", Text("   ").join(words), sep="")
    out.print()
    if run.groups:
        _print_kinds(out, run)
        out.print()
    needed = sum(run.rows(outcome) for outcome in NEED_ATTENTION)
    _print_attention(out, needed, files)
    out.line(
        f"  {calls_of(run)}; {run.total('throttled'):,} throttled, {size_text(run.total('bytes_sent'))} sent, "
        f"{run.seconds:,.1f} s in {counted(len(run.legs), 'leg')}"
    )
    print_ignored(out, run.plan.ignored)
    for note in notes_of(run):
        out.print(f"  {note}", style="yellow")
    out.line(f"  tables: {results_url}/{{verdicts,exchanges,runs}}")
    if run.head:
        out.line(f"  head of the ledger: {run.head}")
    if not run.is_over:
        out.line(f"  {counted(run.remaining, 'row')} to do: {resume}", style="bold")
    elif needed:
        out.line(f"  all that need attention, with what to do: {rejects}", style="bold")


def _print_attention(out: Screen, needed: int, files: Sequence[NamedFile]) -> None:
    if not needed:
        return
    some = f"; {len(files)} of them" if 0 < len(files) < needed else ""
    out.print(f"  {counted(needed, 'file')} to look at{some}" + (":" if files else ""), style="bold")
    for file in files:
        kind = styled(f"{file.outcome} · {file.reason}", COLOURS.get(file.outcome, ""))
        out.line("    ", kind, "  ", file.audio, sep="")
    out.print()


def _print_kinds(out: Screen, run: RunStatus) -> None:
    kinds = Table(box=None, padding=(0, 0, 0, 2), pad_edge=True, header_style="bold")
    kinds.add_column("rows", justify="right")
    kinds.add_column("outcome")
    kinds.add_column("what to do")
    for group in run.groups:
        style, advice = COLOURS.get(group.outcome, ""), advice_for(group)
        if out.width >= _TABLE_COLUMNS:
            kinds.add_row(f"{group.rows:,}", styled(label_of(group), style), advice)
        else:
            out.line("  ", styled(f"{group.rows:,} {label_of(group)}", style), sep="")
            out.print(Padding(advice, (0, 0, 0, 4), expand=False))
    if kinds.row_count:
        out.print(kinds)
