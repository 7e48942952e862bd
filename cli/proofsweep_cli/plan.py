"""`proofsweep plan`: what a run would take, before anything is sent or written; and which rows are not sent."""

import json
import posixpath
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from itertools import chain

import typer

from proofsweep.app import App
from proofsweep.config.threads import utc_now
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ConfigError, ProofsweepError, ResultsError, RunMustStop
from proofsweep.domain.reasons import about
from proofsweep.domain.text import counted, printable
from proofsweep.reports.run import unsent_pairs_note
from proofsweep.sources.catalog import Catalog, ListFacts
from proofsweep.sources.not_in_list import MOST_FOUND
from proofsweep.sources.selection import Selection
from proofsweep.verify.forecast import Forecast
from proofsweep.verify.plan import NOT_IN_LIST, Planner, Survey, UnsentRow, ignored_entries
from proofsweep.verify.service import ServiceStatus
from proofsweep_cli import options
from proofsweep_cli.command import CommandRequest, with_request
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.run_screen import forecast_json, print_forecast
from proofsweep_cli.screen import (
    BLUE,
    PURPLE,
    Screen,
    console,
    print_csv,
    print_ignored,
    print_json,
    print_json_array,
    size_text,
    styled,
)

_OF_SURVEY = ("items", "eligible", "pairs", "audio_bytes", "reasons", "examples")
_COLUMNS = ("line", "file", "reason", "what_to_do", "detail", "tags")
_MOST_COLUMNS = 20
_MOST_LISTS = 20


@with_request()
def plan(
    request: CommandRequest,
    catalog: str = typer.Argument(
        metavar="CATALOG", help="A manifest, a glob of manifests, a DDEX message, a folder, or a bucket URL of one."
    ),
    *,
    is_list: bool = typer.Option(
        False,
        "--list",
        help="Name every row that will not be sent, with its line, why, and what to do, and audio that no list names; "
        "nothing else.",
    ),
    form: options.ListFormat = typer.Option(
        options.ListFormat.TEXT, "--format", help="Of --list: text, or csv for a spreadsheet. csv implies --list."
    ),
    max_age: str | None = options.MaxAge,
    since_last: bool = options.SinceLast,
    where: str | None = options.Where,
    newer_than: str | None = options.NewerThan,
    only: list[str] = options.Only,
    max_calls: int | None = options.MaxCalls,
    until: str | None = options.Until,
) -> int:
    """Sends no file. Asks the service once for the quota; ends with 7 if it refuses the key.

    Examples: `proofsweep plan delivery` · `proofsweep plan catalog.csv --until 06:00` ·
    `proofsweep plan catalog.csv --list`
    """
    app = request.app
    bounds = app.bounds(max_calls=max_calls, until=until)
    selection = Selection(
        since_last=since_last, max_age=max_age, where=where, newer_than=newer_than, only=options.words_in(only)
    )
    # What the options contradict is said before the catalog is read, which may take minutes.
    options.refuse_closed_window(bounds, utc_now())
    selection.refuse_contradictions(bounds.max_calls)
    if is_list or form is options.ListFormat.CSV:
        chosen = app.chosen_rows(catalog, selection)
        _print_unsent(app.planner, chosen, form, as_json=request.as_json)
        return ExitCode.ACCEPTED
    listing = app.chosen_rows(catalog, selection, bounds.max_calls)
    survey = app.planner.survey(listing)
    status, trouble = _service_status(app)
    cost = app.forecast(survey.eligible, survey.audio_bytes, status, bounds, survey.may_be_free)
    if request.as_json:
        document = _json_of(listing, survey)
        document |= _json_of_others(app.planner, listing)
        document |= forecast_json(cost)
        print_json(document)
    else:
        why_no_quota = "" if trouble is None else trouble.message
        _print_plan(request, listing, survey, cost, why_no_quota)
    if isinstance(trouble, RunMustStop) and trouble.ended_by == EndedBy.KEY_REFUSED:
        return ExitCode.KEY_REFUSED
    return ExitCode.ACCEPTED


def _service_status(app: App) -> tuple[ServiceStatus, ProofsweepError | None]:
    """Ask for the quota; a plan is printed without it too, and then says why."""
    try:
        return app.service.status(), None
    except (ConfigError, ResultsError, RunMustStop) as error:
        return ServiceStatus(), error


def _print_plan(request: CommandRequest, listing: Catalog, survey: Survey, cost: Forecast, why_no_quota: str) -> None:
    app = request.app
    out = console()
    _print_reading(out, listing, survey)
    _print_not_in_list(out, app.planner, listing)
    print_lists_beside(request, listing.whole)
    print_forecast(out, cost, why_no_quota)
    base_url = app.settings.service.base_url
    results = app.settings.results.url
    out.line(f"  for {app.environment}, {base_url}, results {results}", style="dim")


def _print_reading(out: Screen, listing: Catalog, survey: Survey) -> None:
    """Say how a list is read, and where its files may lie: what is wrong here makes every row wrong."""
    rows = counted(survey.items, "row")
    out.line(f"{listing.location}: {rows}", style="bold")
    if listing.whole.deliveries is not None:
        out.line(f"  deliveries: {listing.whole.deliveries}")
    columns = _columns_of(listing.whole)
    if columns:
        _print_columns(out, listing, columns)
    _print_survey(out, survey)
    if listing.skipped:
        out.line(f"  {listing.skipped:,} left out by the conditions")
    print_ignored(out, ignored_entries(listing))


def _print_columns(out: Screen, listing: Catalog, columns: dict[str, list[str]]) -> None:
    whole = listing.whole
    roles = " · ".join(f"{role}: {_some(names)}" for role, names in columns.items())
    out.line(f"  columns: {roles}")
    # Most lists are UTF-8. If another encoding is wrong, a name has wrong letters, and its file is not found.
    other_encodings = [encoding for encoding in whole.encodings if encoding != "UTF-8"]
    if other_encodings:
        encodings = ", ".join(other_encodings)
        out.line(f"  read as {encodings}; if letters are wrong, set catalog.encoding")
    for facts in whole.lists[:_MOST_LISTS]:
        _print_facts(out, facts)
    location = "anywhere"
    if listing.root is not None:
        location = f"in {printable(listing.root)}"
    out.line(f"  files may lie {location}")


def _print_facts(out: Screen, facts: ListFacts) -> None:
    """Say what a person who looks at the list may not expect of how it is read."""
    file = printable(facts.file)
    if facts.header:
        out.line(f"  {file}: {facts.header} is taken for the header")
    hidden = []
    if facts.hidden_rows:
        hidden.append(counted(facts.hidden_rows, "row"))
    if facts.hidden_columns:
        columns = _some(list(map(printable, facts.hidden_columns)))
        hidden.append(f"the columns {columns}")
    if hidden:
        what = ", ".join(hidden)
        out.line(f"  {file}: hidden in the sheet, and read like the others: {what}", style=PURPLE)
    if facts.other_sheets:
        sheets = _some(list(map(printable, facts.other_sheets)))
        out.line(f"  {file}: not read are the sheets {sheets}; catalog.sheet names another one", style=PURPLE)


def _print_not_in_list(out: Screen, planner: Planner, listing: Catalog) -> None:
    files = sum(1 for _ in planner.not_in_list(listing))
    if not files:
        return
    # The search ends at so many: there may be more.
    at_least = "at least " if files == MOST_FOUND else ""
    count = counted(files, "audio file")
    out.line(f"  in no list: {at_least}{count} beside these; see --list", style=PURPLE)


def print_lists_beside(request: CommandRequest, whole: Catalog) -> None:
    """Say that other lists of the same folder count too, and what to type if this one takes their place."""
    other_lists = request.app.planner.lists_beside(whole)
    if not other_lists:
        return
    first = other_lists[0]
    others = len(other_lists) - 1
    count = "counts"
    if others:
        count = f"and {counted(others, 'more list')} of the same folder count"
    out = request.out
    style = f"bold {PURPLE}"
    out.line(f"  {first} {count} beside this one.", style=style)
    # Under the name that its files have without one, they keep their IDs, and so their answers.
    folder = posixpath.basename(whole.root or "")
    usual_name = folder or whole.name
    toml_string = json.dumps(usual_name, ensure_ascii=False)
    setting = f"name = {toml_string} under [catalog]"
    advice = ""
    if request.app.settings.catalog.name is None:
        advice = f" set {setting}, with which its files keep their answers, for all of them; and"
    elif whole.name != usual_name:
        out.line(f"  Its files have other IDs under this name and are paid again, but not with {setting}.", style=style)
    retire = request.command("stop", retire=first)
    out.line(f"  If this is the next one:{advice}", command=retire, style=style)


def _some(names: list[str]) -> str:
    if not names:
        return "no column"
    first_names = ", ".join(names[:_MOST_COLUMNS])
    others = len(names) - _MOST_COLUMNS
    if others > 0:
        return f"{first_names} and {others} more"
    return first_names


def _columns_of(whole: Catalog) -> dict[str, list[str]]:
    """Return the names of the columns of each role of a list; roles that no column has are named too."""
    if not whole.columns:
        return {}
    names_by_role: dict[str, list[str]] = {"audio": [], "sidecar": [], "id": []}
    for name, role in whole.columns:
        names = names_by_role.setdefault(role, [])
        names.append(printable(name) or "(no name)")
    return names_by_role


def _json_of(listing: Catalog, survey: Survey) -> dict[str, object]:
    whole = listing.whole
    document: dict[str, object] = {name: getattr(survey, name) for name in _OF_SURVEY}
    document["ignored"] = ignored_entries(listing)
    document["skipped"] = listing.skipped
    document["encoding"] = ", ".join(whole.encodings) or None
    document["columns"] = _columns_of(whole)
    document["lists"] = [asdict(facts) for facts in whole.lists]
    document["root"] = listing.root
    document["deliveries"] = None
    if whole.deliveries is not None:
        document["deliveries"] = asdict(whole.deliveries)
    return document


def _json_of_others(planner: Planner, listing: Catalog) -> dict[str, object]:
    """Return what is said of other lists of the same files, and of files that are in none."""
    files = sum(1 for _ in planner.not_in_list(listing))
    return {"lists_beside": planner.lists_beside(listing.whole), NOT_IN_LIST: files}


def _print_survey(out: Screen, survey: Survey) -> None:
    pairs = counted(survey.pairs, "pair")
    size = size_text(survey.audio_bytes)
    out.line(f"  {survey.eligible:,} to send ({pairs}), {size} of audio")
    for reason, count in survey.reasons.most_common():
        remedy = about(reason).remedy
        out.line(f"  {count:,} ineligible · {reason}: {remedy}", style=BLUE)
        out.line(f"    {survey.examples[reason]}", style="dim")
    if survey.reasons:
        out.line("  --list names each of these rows, with its line and what to do", style="dim")
    for note in unsent_pairs_note(survey.reasons):
        out.line(f"  {note}", style=f"bold {PURPLE}")


def _print_unsent(planner: Planner, chosen: Catalog, form: options.ListFormat, *, as_json: bool) -> None:
    rows = chain(planner.unsent(chosen), planner.not_in_list(chosen))
    if as_json:
        print_json_array(map(_json_of_unsent, rows))
    elif form is options.ListFormat.CSV:
        print_csv(_COLUMNS, map(_cells_of_unsent, rows))
    else:
        _print_list(console(), rows)


def _json_of_unsent(row: UnsentRow) -> dict[str, object]:
    values = (*_texts_of_unsent(row), dict(row.tags))
    return dict(zip(_COLUMNS, values, strict=True))


def _cells_of_unsent(row: UnsentRow) -> list[str]:
    # A cell holds one text: as JSON, tags can be read again.
    tags = json.dumps(dict(row.tags), ensure_ascii=False)
    return [*_texts_of_unsent(row), tags]


def _texts_of_unsent(row: UnsentRow) -> list[str]:
    return [row.where, row.file, row.reason, row.what_to_do, row.detail]


def _print_list(out: Screen, rows: Iterable[UnsentRow]) -> None:
    """Print each row on a few lines that fit any screen; what to do comes last, once for each reason."""
    counts = Counter[str]()
    remedies = dict[str, str]()
    for row in rows:
        counts[row.reason] += 1
        remedies[row.reason] = row.what_to_do
        _print_unsent_row(out, row)
    if counts:
        out.print()
    # Files that no list names are no rows: they are counted apart.
    files_in_no_list = counts.pop(NOT_IN_LIST, 0)
    unsent = counts.total()
    if unsent:
        out.line(f"{counted(unsent, 'row')} will not be sent. What to do:", style="bold")
    else:
        out.line("Every row will be sent", style="bold")
    for reason, count in counts.most_common():
        remedy = remedies[reason]
        out.line(f"  {count:,} {reason}: {remedy}")
    if files_in_no_list:
        files = counted(files_in_no_list, "audio file")
        out.line(f"{files} in no list. What to do:", style="bold")
        remedy = remedies[NOT_IN_LIST]
        out.line(f"  {files_in_no_list:,} {NOT_IN_LIST}: {remedy}")


def _print_unsent_row(out: Screen, row: UnsentRow) -> None:
    file = styled(row.file or "(no audio named)", "bold")
    line = f" {row.where}" if row.where else ""
    out.line(file, line, sep="")
    out.line(f"  {row.reason}: {row.detail}", style=BLUE)
    if row.tags:
        tags = " · ".join(f"{name} {value}" for name, value in row.tags.items() if value)
        out.line(f"  {tags}", style="dim")
