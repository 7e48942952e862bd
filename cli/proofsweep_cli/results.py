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
from proofsweep.queries.run_calls import calls_of_run
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
    with run_changes(app.results, run) as found:
        counts = found.counts()
        if request.as_json:
            print_json(_changes_json(status, found, limit))
        elif form is ListFormat.CSV:
            for words, command in _lines_of_remaining(status, request):
                say(f"{words} {command}".rstrip())
            print_csv(COLUMNS, (list(row.values()) for row in found.rows()))
        else:
            _print_changes(request, status, found, limit)
    return ExitCode.REJECTED if any(change == "broken" for change, *_ in counts) else ExitCode.ACCEPTED


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
    moved = _places_now(selected, groups)
    remaining: list[tuple[str, str]] = []
    if run_id is not None:
        remaining += _lines_of_remaining(describe_run(app.results, run_id), request)
    if request.as_json:
        print_json(_group_json(selected, groups, moved))
        return ExitCode.ACCEPTED
    out = console()
    for words, command in remaining:
        out.line(words, command=command, style=f"bold {PURPLE}")
    rows = sum(group.rows for group in groups)
    which = "newest answers of all runs" if run_id is None else f"run {run_id}"
    needs = f"{counted(rows, 'file')} {'needs' if rows == 1 else 'need'} attention"
    out.line(f"{needs if rows else 'No file needs attention'} ({selected.environment}, {which})", style="bold")
    for value, of_value in groupby(groups, key=lambda group: group.value):
        _print_groups(out, list(of_value), value, by, moved)
    if rows:
        out.print()
        runs = [] if run_id is None else [run_id]
        export = request.command("export", *runs, only=",".join(NEED_ATTENTION), by=by)
        out.line("As a list for a spreadsheet:", command=export)
    return ExitCode.ACCEPTED


def _places_now(selected: SelectedRows, groups: Sequence[AttentionGroup]) -> dict[str, str]:
    """Return where the named files are that passes have moved, by their items."""
    files = [file for group in groups for file in group.files]
    places = moved_files(selected.results, [file.item_id for file in files])
    known = ((file.item_id, (selected.environment, file.item_id, file.audio or "")) for file in files)
    return {item_id: places[key] for item_id, key in known if key in places}


def _print_groups(
    out: Screen, groups: Sequence[AttentionGroup], value: str | None, tag: str | None, moved: Mapping[str, str]
) -> None:
    if tag is not None:
        title = f"no {tag}" if value is None else value
        out.print()
        out.line(styled(title, "bold"), f"— {counted(sum(group.rows for group in groups), 'file')}")
    for group in groups:
        out.print()
        kind = styled(f"{group.rows:,} {group.outcome}", COLOURS.get(group.outcome, ""))
        out.line("  ", kind, f": {group.in_words} ({group.reason})", sep="")
        out.line(f"  {group.what_to_do}", column=2, style="italic")
        for each in group.files:
            where = f" ({each.line})" if each.line and each.line != each.file else ""
            out.line(f"    {each.file or '(no audio named)'}{where}")
            if each.item_id in moved:
                out.line(f"      now {moved[each.item_id]}", column=6)
        if group.rows > len(group.files):
            out.line(f"    … and {group.rows - len(group.files):,} more")


def _group_json(
    selected: SelectedRows, groups: Sequence[AttentionGroup], moved: Mapping[str, str]
) -> dict[str, object]:
    return {
        "environment": selected.environment,
        "run_id": None if selected.plan is None else selected.plan.run_id,
        "rows": sum(group.rows for group in groups),
        "groups": [
            {name: getattr(group, name) for name in _OF_GROUP}
            | {"files": [each.file for each in group.files], "lines": [each.line or "" for each in group.files]}
            | {"moved_to": [moved.get(each.item_id, "") for each in group.files]}
            for group in groups
        ],
        "results": selected.results.store.url,
    }


def _words_of_change(row: dict[str, str | None]) -> str:
    sides = [(row[f"{side}_outcome"], row[f"{side}_reason"]) for side in ("before", "now")]
    words = " → ".join(" · ".join(filter(None, side)) for side in sides if side[0] is not None)
    return f"{words}, was {row['before_audio']}" if row["cause"] == "moved" else words


def _lines_of_remaining(status: RunStatus, request: CommandRequest) -> Iterator[tuple[str, str]]:
    """Say what a run that did not come to its end cannot tell, and the command that goes on with it."""
    if status.remaining:
        rows = f"{remaining_words(status.remaining, status.plan.items)} ({status.state})"
        unknown = f"{rows}: nothing is known of them yet"
        if status.is_over or status.active:
            yield unknown, ""
        else:
            yield f"{unknown}:", request.command("resume", status.plan.run_id)


def _lines_of_run(run: Plan, compared_with: Sequence[str]) -> Iterator[str]:
    """Say which rows are compared, and with what: a run of a condition tells nothing of the other files."""
    rows = f"the rows of {run.selection}" if run.selection else "all rows"
    left_out = f", {run.skipped:,} left out" if run.skipped else ""
    yield f"of {run.catalog}: {rows}{left_out}"
    if len(compared_with) == 1:
        yield f"compared with the run {compared_with[0]}"
    elif compared_with:
        yield f"compared with {len(compared_with):,} runs, from {compared_with[0]} to {compared_with[-1]}"
    else:
        yield "compared with no run: it is the first"


def _print_changes(request: CommandRequest, status: RunStatus, found: RunChanges, limit: int) -> None:
    out = console()
    out.line(f"Run {found.run_id} against how each file stood before", style="bold")
    for line in _lines_of_run(status.plan, found.compared_with()):
        out.line(f"  {line}", style="dim")
    for words, command in _lines_of_remaining(status, request):
        out.line(f"  {words}", command=command, style=f"bold {PURPLE}")
    counts = {(change, cause): rows for change, cause, rows in found.counts()}
    for (change, cause), rows in groupby(found.rows(limit), key=lambda row: (str(row["change"]), row["cause"])):
        out.print()
        total, shown = counts[change, cause], 0
        out.line("  ", styled(f"{total:,} {change}", _COLOURS[change]), f" · {words_of_cause(cause)}", sep="")
        for row in rows:
            shown += 1
            out.line(f"    {row['file']}  {_words_of_change(row)}")
        if total > shown:
            out.line(f"    … and {total - shown:,} more")
    out.print()
    if status.remaining and not status.finished:
        out.line("  no row is finished yet")
    elif status.remaining and not counts:
        out.line(f"  no change in the {counted(status.finished, 'row')} that are finished")
    elif not counts:
        out.line("  nothing changed")
    out.line(f"  {counted(found.as_before(), 'file')} as before")


def _changes_json(status: RunStatus, found: RunChanges, limit: int) -> dict[str, object]:
    counts = [{"change": change, "cause": cause, "files": rows} for change, cause, rows in found.counts()]
    counts.append({"change": "same", "cause": None, "files": found.as_before()})
    run = status.plan
    return {
        "run_id": run.run_id,
        "environment": run.environment,
        "catalog": run.catalog,
        "selection": run.selection,
        "compared_with": found.compared_with(),
        "remaining": status.remaining,
        "counts": counts,
        "files": list(found.rows(limit)),
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
        if (known := calls_of_run(store, what)) is not None:
            text = packet_of(search.kinds_of_failed_calls(what))
            note = words_on_calls(what, known, has_failed=bool(text))
            document = {"run_id": what, "support_packet": text, "calls_known": known, "note": note}
            request.answer(document, text.splitlines() or [note])
            if text and note and not request.as_json:
                say(note)  # the packet is for somebody else
            return ExitCode.ACCEPTED
        items = search.items(what)
        if len(items) != 1:
            if items:
                request.answer({"items": items}, _lines_of_items(items, request))
            raise UsageError(_why_not_one(what, len(items), store.store.url))
        verdicts = search.verdicts(str(items[0]["item_id"]))
        calls, text = search.calls(verdicts), packet_of(search.kinds_of_calls(verdicts))
    item_id = str(items[0]["item_id"])
    standing, moved = standing_of(store, item_id, environments_of(verdicts)), moved_files(store, [item_id])
    title: list[str | Text] = ["", styled("For the partner's support (--packet prints only this):", "bold"), ""]
    before = [] if packet else [*lines_of(verdicts, calls, standing, moved), *title]
    request.answer(json_of(verdicts, calls, standing, moved) | {"support_packet": text}, [*before, *text.splitlines()])
    return ExitCode.ACCEPTED


def _lines_of_items(items: Sequence[Row], request: CommandRequest) -> Iterator[str | tuple[str, str]]:
    for row in items[:MOST_LISTED]:
        yield f"{words_of_outcome(row)}  {row['file']}"
        yield " ", request.command("explain", str(row["item_id"]))


def _why_not_one(what: str, items: int, url: str) -> str:
    if items:
        many = f"More than {MOST_LISTED}" if items > MOST_LISTED else str(items)
        return f"{many} files fit {printable(what)!r}. Explain one by its item_id."
    return (
        f"No file that was answered in {url} fits {printable(what)!r}; give a part of its location, its title or ISRC, "
        "its item_id, a request ID or a proof ID."
    )
