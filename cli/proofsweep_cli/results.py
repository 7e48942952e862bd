"""`proofsweep rejects`, `diff` and `explain`: which files need attention, what changed, and all about one file."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import typer
from rich.text import Text

from proofsweep.config.notices import say
from proofsweep.domain.errors import UsageError
from proofsweep.domain.items import Row
from proofsweep.domain.runs import Plan
from proofsweep.domain.text import counted, printable, remaining_words
from proofsweep.queries.changes import COLUMNS, RunChanges, run_changes, words_of_cause
from proofsweep.queries.run_calls import CallsKnown, calls_of_run
from proofsweep.queries.search import MOST_LISTED, moved_files, searching, standing_of
from proofsweep.queries.selected_rows import IS_OPEN, AttentionGroup, SelectedRows, attention_groups
from proofsweep.queries.status import NEED_ATTENTION, RunStatus, describe_run, meant_run
from proofsweep.reports.explain import environments_of, json_of, lines_of, packet_of, words_of_outcome, words_on_calls
from proofsweep_cli.command import CommandRequest, with_request
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.options import By, Catalog, Limit, ListFormat, RunId
from proofsweep_cli.screen import (
    BLUE,
    COLOURS,
    GREEN,
    PURPLE,
    RED,
    Screen,
    console,
    print_csv,
    print_json,
    styled,
)

_COLOURS = {"broken": RED, "fixed": GREEN, "changed": PURPLE, "new": BLUE, "gone": PURPLE}
_OF_GROUP = ("value", "outcome", "reason", "rows", "in_words", "what_to_do")


@with_request()
def diff(
    request: CommandRequest,
    run_id: str | None = typer.Argument(
        None, metavar="[RUN]", help="A run; without one, the newest run of the catalog."
    ),
    *,
    catalog: str | None = Catalog,
    form: ListFormat = typer.Option(ListFormat.TEXT, "--format", help="text, or csv with all files."),
    limit: int = Limit,
) -> int:
    """The exit code is 3 if a file that was accepted before is not accepted now, else 0. A file that merely remains to
    be verified is not gone; how many remain is said. Grades of two rubric versions are not compared.

    Examples: `proofsweep diff` · `proofsweep diff 20261120T091500Z_8c1f04 --format csv`
    """
    app = request.app
    run, note = meant_run(app.results, app.environment, run_id, catalog)
    if note is not None:
        say(note)
    status = describe_run(app.results, run.run_id)
    with run_changes(app.results, run) as changes:
        counts = changes.counts()
        if request.as_json:
            print_json(_changes_json(status, changes, limit))
        elif form is ListFormat.CSV:
            _print_changes_csv(request, status, changes)
        else:
            _print_changes(request, status, changes, limit)
    for change, _, _ in counts:
        if change == "broken":
            return ExitCode.REJECTED
    return ExitCode.ACCEPTED


def _print_changes_csv(request: CommandRequest, status: RunStatus, changes: RunChanges) -> None:
    # Stdout holds only the table, which a program reads.
    for words, command in _lines_of_remaining(status, request):
        line = f"{words} {command}"
        say(line.rstrip())
    rows = (list(row.values()) for row in changes.rows())
    print_csv(COLUMNS, rows)


@with_request()
def rejects(
    request: CommandRequest,
    run_id: str | None = RunId,
    *,
    by: str | None = By,
    limit: int = Limit,
) -> int:
    """A file that was rejected stays in the list until the service accepts it, or until its catalog lists it no more.
    With RUN only the files of that run are listed. The exit code is 0, whatever is listed.

    Examples: `proofsweep rejects` · `proofsweep rejects --by supplier`
    """
    app = request.app
    selected = SelectedRows.of(app.results, run_id, app.environment)
    with selected.opened(IS_OPEN) as files:
        groups = attention_groups(files, most_files=limit, by=by)
    moved = _locations_now(selected, groups)
    # A run that did not come to its end may yet reject more: that is said first.
    remaining: list[tuple[str, str]] = []
    if run_id is not None:
        run = describe_run(app.results, run_id)
        remaining.extend(_lines_of_remaining(run, request))
    if request.as_json:
        document = _group_json(selected, groups, moved)
        print_json(document)
        return ExitCode.ACCEPTED
    out = console()
    for words, command in remaining:
        out.line(words, command=command, style=f"bold {PURPLE}")
    _print_title(out, selected, groups, run_id)
    for value, groups_of_value in groupby(groups, key=lambda group: group.value):
        _print_groups(out, list(groups_of_value), value, by, moved)
    if _rows_in(groups):
        arguments = [] if run_id is None else [run_id]
        outcomes = ",".join(NEED_ATTENTION)
        export = request.command("export", *arguments, only=outcomes, by=by)
        out.print()
        out.line("As a list for a spreadsheet:", command=export)
    return ExitCode.ACCEPTED


def _rows_in(groups: Sequence[AttentionGroup]) -> int:
    return sum(group.rows for group in groups)


def _print_title(out: Screen, selected: SelectedRows, groups: Sequence[AttentionGroup], run_id: str | None) -> None:
    rows = _rows_in(groups)
    files = counted(rows, "file")
    verb = "needs" if rows == 1 else "need"
    title = f"{files} {verb} attention"
    if not rows:
        title = "No file needs attention"
    answers = "newest answers of all runs"
    if run_id is not None:
        answers = f"run {run_id}"
    out.line(f"{title} ({selected.environment}, {answers})", style="bold")


def _locations_now(selected: SelectedRows, groups: Sequence[AttentionGroup]) -> dict[str, str]:
    """Return where the named files are that passes have moved, by their items.

    A row names the location at which its file was delivered: there, nobody finds it any more.
    """
    files = [file for group in groups for file in group.files]
    item_ids = [file.item_id for file in files]
    moved = moved_files(selected.results, item_ids)
    locations = {}
    for file in files:
        key = (selected.environment, file.item_id, file.audio or "")
        if key in moved:
            locations[file.item_id] = moved[key]
    return locations


def _print_groups(
    out: Screen, groups: Sequence[AttentionGroup], value: str | None, tag: str | None, moved: Mapping[str, str]
) -> None:
    if tag is not None:
        text = f"no {tag}" if value is None else value
        title = styled(text, "bold")
        files = counted(_rows_in(groups), "file")
        out.print()
        out.line(title, f"— {files}")
    for group in groups:
        colour = COLOURS.get(group.outcome, "")
        kind = styled(f"{group.rows:,} {group.outcome}", colour)
        out.print()
        words = f": {group.in_words} ({group.reason})"
        out.line("  ", kind, words, sep="")
        out.line(f"  {group.what_to_do}", column=2, style="italic")
        _print_files(out, group, moved)


def _print_files(out: Screen, group: AttentionGroup, moved: Mapping[str, str]) -> None:
    for file in group.files:
        name = file.file or "(no audio named)"
        # Rows of a folder have no line of their own: theirs is the file.
        if file.line and file.line != file.file:
            name = f"{name} ({file.line})"
        out.line(f"    {name}")
        location = moved.get(file.item_id)
        if location is not None:
            out.line(f"      now {location}", column=6)
    others = group.rows - len(group.files)
    if others > 0:
        out.line(f"    … and {others:,} more")


def _group_json(
    selected: SelectedRows, groups: Sequence[AttentionGroup], moved: Mapping[str, str]
) -> dict[str, object]:
    run_id = None
    if selected.plan is not None:
        run_id = selected.plan.run_id
    documents = []
    for group in groups:
        # The three lists are of the same files, in the same order.
        document: dict[str, object] = {name: getattr(group, name) for name in _OF_GROUP}
        document["files"] = [file.file for file in group.files]
        document["lines"] = [file.line or "" for file in group.files]
        document["moved_to"] = [moved.get(file.item_id, "") for file in group.files]
        documents.append(document)
    return {
        "environment": selected.environment,
        "run_id": run_id,
        "rows": _rows_in(groups),
        "groups": documents,
        "results": selected.results.store.url,
    }


def _words_of_change(row: dict[str, str | None]) -> str:
    sides = []
    for side in ("before", "now"):
        outcome = row[f"{side}_outcome"]
        reason = row[f"{side}_reason"]
        # A new file has no side before, and a file that is gone has none now.
        if outcome is not None:
            words = filter(None, (outcome, reason))
            sides.append(" · ".join(words))
    change = " → ".join(sides)
    if row["cause"] == "moved":
        return f"{change}, was {row['before_audio']}"
    return change


def _lines_of_remaining(status: RunStatus, request: CommandRequest) -> Iterator[tuple[str, str]]:
    """Say what a run that did not come to its end cannot tell, and the command that goes on with it."""
    if not status.remaining:
        return
    run = status.plan
    rows = remaining_words(status.remaining, run.items)
    unknown = f"{rows} ({status.state}): nothing is known of them yet"
    # Nothing goes on with a run that is over, and a process is at work on an active one.
    if status.is_over or status.active:
        yield unknown, ""
    else:
        resume = request.command("resume", run.run_id)
        yield f"{unknown}:", resume


def _lines_of_run(run: Plan, compared_with: Sequence[str]) -> Iterator[str]:
    """Say which rows are compared, and with what: a run of a condition tells nothing of the other files."""
    rows = "all rows"
    if run.selection:
        rows = f"the rows of {run.selection}"
    if run.skipped:
        rows = f"{rows}, {run.skipped:,} left out"
    yield f"of {run.catalog}: {rows}"
    if not compared_with:
        yield "compared with no run: it is the first"
        return
    first = compared_with[0]
    last = compared_with[-1]
    count = len(compared_with)
    if count == 1:
        yield f"compared with the run {first}"
    else:
        yield f"compared with {count:,} runs, from {first} to {last}"


def _print_changes(request: CommandRequest, status: RunStatus, changes: RunChanges, limit: int) -> None:
    out = console()
    out.line(f"Run {changes.run_id} against how each file stood before", style="bold")
    for line in _lines_of_run(status.plan, changes.compared_with()):
        out.line(f"  {line}", style="dim")
    for words, command in _lines_of_remaining(status, request):
        out.line(f"  {words}", command=command, style=f"bold {PURPLE}")
    counts = {(change, cause): rows for change, cause, rows in changes.counts()}
    for (change, cause), group in groupby(changes.rows(limit), key=_kind_of_change):
        rows = list(group)
        total = counts[change, cause]
        kind = styled(f"{total:,} {change}", _COLOURS[change])
        out.print()
        cause_words = words_of_cause(cause)
        out.line("  ", kind, f" · {cause_words}", sep="")
        for row in rows:
            words = _words_of_change(row)
            out.line(f"    {row['file']}  {words}")
        others = total - len(rows)
        if others > 0:
            out.line(f"    … and {others:,} more")
    out.print()
    _print_lack_of_changes(out, status, has_changes=bool(counts))
    same = counted(changes.as_before(), "file")
    out.line(f"  {same} as before")


def _print_lack_of_changes(out: Screen, status: RunStatus, *, has_changes: bool) -> None:
    # The rest of an unfinished run may still change: "nothing changed" would be said too early.
    if status.remaining and not status.finished:
        out.line("  no row is finished yet")
    elif status.remaining and not has_changes:
        finished = counted(status.finished, "row")
        out.line(f"  no change in the {finished} that are finished")
    elif not has_changes:
        out.line("  nothing changed")


def _kind_of_change(row: dict[str, str | None]) -> tuple[str, str | None]:
    return str(row["change"]), row["cause"]


def _changes_json(status: RunStatus, changes: RunChanges, limit: int) -> dict[str, object]:
    counts: list[dict[str, object]] = []
    for change, cause, rows in changes.counts():
        count: dict[str, object] = {"change": change, "cause": cause, "files": rows}
        counts.append(count)
    counts.append({"change": "same", "cause": None, "files": changes.as_before()})
    run = status.plan
    files = list(changes.rows(limit))
    return {
        "run_id": run.run_id,
        "environment": run.environment,
        "catalog": run.catalog,
        "selection": run.selection,
        "compared_with": changes.compared_with(),
        "remaining": status.remaining,
        "counts": counts,
        "files": files,
    }


@with_request()
def explain(
    request: CommandRequest,
    what: str = typer.Argument(
        metavar="WHAT",
        help="A part of a file's location; its ISRC, its title or another tag (accents and hyphens may be left out); "
        "an item_id, a request ID or a proof ID; or the ID of a run or operation, for its calls that did not succeed.",
    ),
    *,
    packet: bool = typer.Option(
        False, "--packet", help="Print only what the partner's support needs, to paste into a ticket."
    ),
) -> int:
    """The last lines are a packet for the partner's support: times, endpoints and request IDs. It names no file and
    holds no secret.

    If several files fit, they are listed, each with the command that explains it; the exit code is then 2.

    Examples: `proofsweep explain song.wav` · `proofsweep explain QZNUL2600017`
    """
    store = request.app.results
    with searching(store) as search:
        # The ID of a run or operation has no file of its own: its calls are shown.
        calls_known = calls_of_run(store, what)
        if calls_known is not None:
            text = packet_of(search.kinds_of_failed_calls(what))
            _answer_calls(request, what, text, calls_known)
            return ExitCode.ACCEPTED
        items = search.items(what)
        if len(items) != 1:
            if items:
                request.answer({"items": items}, _lines_of_items(items, request))
            raise UsageError(_why_not_one(what, len(items), store.store.url))
        item_id = str(items[0]["item_id"])
        verdicts = search.verdicts(item_id)
        calls = search.calls(verdicts)
        text = packet_of(search.kinds_of_calls(verdicts))
    standing = standing_of(store, item_id, environments_of(verdicts))
    moved = moved_files(store, [item_id])
    document = json_of(verdicts, calls, standing, moved)
    document["support_packet"] = text
    lines: list[str | Text] = []
    if not packet:
        title = styled("For the partner's support (--packet prints only this):", "bold")
        lines.extend(lines_of(verdicts, calls, standing, moved))
        lines.extend(["", title, ""])
    lines.extend(text.splitlines())
    request.answer(document, lines)
    return ExitCode.ACCEPTED


def _answer_calls(request: CommandRequest, run_id: str, text: str, calls_known: CallsKnown) -> None:
    """Print the packet of the calls of a run or operation that did not succeed."""
    note = words_on_calls(run_id, calls_known, has_failed=bool(text))
    document = {"run_id": run_id, "support_packet": text, "calls_known": calls_known, "note": note}
    request.answer(document, text.splitlines() or [note])
    # The packet on stdout is for somebody else: the note is for the person who asks.
    if text and note and not request.as_json:
        say(note)


def _lines_of_items(items: Sequence[Row], request: CommandRequest) -> Iterator[str | tuple[str, str]]:
    for row in items[:MOST_LISTED]:
        item_id = str(row["item_id"])
        outcome = words_of_outcome(row)
        yield f"{outcome}  {row['file']}"
        yield " ", request.command("explain", item_id)


def _why_not_one(what: str, items: int, url: str) -> str:
    if items:
        # The search ends at one more than are listed: how many there are, nobody has counted.
        many = f"More than {MOST_LISTED}" if items > MOST_LISTED else str(items)
        return f"{many} files fit {printable(what)!r}. Explain one by its item_id."
    return (
        f"No file that was answered in {url} fits {printable(what)!r}; give a part of its location, its title or ISRC, "
        "its item_id, a request ID or a proof ID."
    )
