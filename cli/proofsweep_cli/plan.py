"""`proofsweep plan`: what a run would take, before anything is sent or written; and which rows are not sent."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from itertools import islice

import typer
from rich.table import Table

from proofsweep.app import App, utc_now
from proofsweep.config.load import sources_of, words_of
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ConfigError, NothingDue, ResultsError, RunMustStop, UsageError
from proofsweep.domain.reasons import Reason, remedy_for
from proofsweep.domain.runs import Bounds
from proofsweep.domain.text import printable
from proofsweep.reports.run import unsent_pairs_note
from proofsweep.sources.selection import Selection
from proofsweep.verify.forecast import Need
from proofsweep.verify.plan import cautions_of
from proofsweep.verify.service import ServiceStatus, limits_of
from proofsweep.verify.survey import Surveyed, UnsentRow
from proofsweep_cli.command import open_app
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.options import AsJson, Config, MaxCalls, ResultsUrl
from proofsweep_cli.run_options import MaxDuration, Reserve, Until, refuse_closed_window, with_selection_options
from proofsweep_cli.run_screen import forecast_json, print_forecast
from proofsweep_cli.screen import (
    Screen,
    console,
    counted,
    print_csv,
    print_ignored,
    print_json,
    print_json_array,
    print_nothing_due,
    size_text,
)

_List = typer.Option(
    False, "--list", help="Name every row that will not be sent, with its line, why, and what to do; nothing else."
)
_Format = typer.Option("table", "--format", metavar="FORMAT", help="Of --list: table, csv or json.")
_COLUMNS = ("line", "file", "reason", "what_to_do", "detail")
_FORMATS = ("table", "csv", "json")
_ROWS_AT_ONCE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class _PlanOptions:
    as_json: bool
    list_format: str | None  # None for a summary
    sources: Mapping[str, str]  # where the settings come from that decide whom a run calls


@with_selection_options
def plan(
    catalog: str = typer.Argument(
        metavar="CATALOG", help="A manifest, a glob of manifests, a DDEX message, a folder, or a bucket URL of one."
    ),
    *,
    is_list: bool = _List,
    form: str = _Format,
    reserve: int | None = Reserve,
    max_calls: int | None = MaxCalls,
    until: str | None = Until,
    max_duration: str | None = MaxDuration,
    results: str | None = ResultsUrl,
    config: str | None = Config,
    as_json: bool = AsJson,
    selection: Selection,
) -> int:
    """Show what a run would take: counts, reasons, bytes, calls, quota and time.

    Sends no file. Asks the service once for the quota; ends with 7 if it refuses the key.
    Examples: `proofsweep plan delivery` · `proofsweep plan catalog.csv --until 06:00` ·
    `proofsweep plan catalog.csv --list`
    """
    if form not in _FORMATS:
        raise UsageError(f"There is no format {printable(form)!r}; there are {', '.join(_FORMATS)}.")
    app = open_app(config, results)
    bounds = app.bounds(reserve=reserve, max_calls=max_calls, until=until, max_duration=max_duration)
    refuse_closed_window(bounds, utc_now())
    options = _PlanOptions(
        as_json=as_json,
        list_format=None if not is_list else "json" if as_json else form,
        sources=sources_of(config, results),
    )
    return _survey_and_tell(app, catalog, selection, bounds, options)


def _survey_and_tell(app: App, catalog: str, selection: Selection, bounds: Bounds, options: _PlanOptions) -> int:
    selection.refuse_contradictions(bounds.max_calls)
    try:
        if options.list_format is not None:
            unsent = app.planner.unsent(app.chosen_rows(catalog, selection), selection)
            print_unsent(unsent, options.list_format)
            return 0
        listing = app.chosen_rows(catalog, selection, bounds.max_calls)
        survey = app.planner.survey(listing, selection)
    except NothingDue as nothing:
        print_nothing_due(console(), nothing, as_json=options.as_json)
        return 0
    return _tell(app, Surveyed(listing, survey), bounds, options)


def _tell(app: App, found: Surveyed, bounds: Bounds, options: _PlanOptions) -> int:
    listing, survey = found.listing, found.survey
    need = Need(eligible=survey.eligible, audio_bytes=survey.audio_bytes)
    status, trouble = _service_or_trouble(app)
    is_refused = isinstance(trouble, RunMustStop) and trouble.ended_by == EndedBy.KEY_REFUSED
    code = ExitCode.KEY_REFUSED if is_refused else ExitCode.ACCEPTED
    cost = app.forecast(need, status, bounds)
    if options.as_json:
        counts = {member.name: getattr(survey, member.name) for member in fields(survey) if member.repr}
        read = {"ignored": found.ignored, "skipped": listing.skipped, "encoding": ", ".join(listing.encodings) or None}
        read["notes"] = listing.ignored.notes
        read["deliveries"] = None if listing.deliveries is None else asdict(listing.deliveries)
        print_json(counts | read | forecast_json(cost) | {"settings_from": dict(options.sources)})
        return code
    out = console()
    _print_survey(out, found, limits_of(app.settings.service).one_file)
    if listing.skipped:
        out.line(f"  {listing.skipped:,} left out by the conditions")
    print_ignored(out, found.ignored)
    for note in listing.ignored.notes:
        out.line(f"  {note}", style="yellow")
    print_forecast(out, cost, utc_now(), trouble.message if trouble else "", app.settings.service.key_expires_at)
    print_cautions(out, app, listing.location)
    _print_lists_before(out, app, found)
    service = f"{app.environment}, {app.settings.service.base_url}, results {app.settings.results.url}"
    out.line(f"  for {service} ({words_of(options.sources)})", style="dim")
    return code


def _service_or_trouble(app: App) -> tuple[ServiceStatus, ConfigError | ResultsError | RunMustStop | None]:
    """Return what the service says of the quota, or nothing and why: a plan needs no quota."""
    try:
        return app.service.status(), None
    except (ConfigError, ResultsError, RunMustStop) as error:
        return ServiceStatus(), error


def _print_lists_before(out: Screen, app: App, found: Surveyed) -> None:
    with suppress(ResultsError):
        for plan, known in app.planner.lists_before(found.listing, found.survey):
            out.line(
                f"  {counted(known, 'row')} of this list {'is' if known == 1 else 'are'} known from {plan.catalog}. "
                f'If it is the next edition of that list, give both one name: name = "{found.listing.name}" under '
                "[catalog]; then the newest edition takes the place of the older ones, and what it lacks is gone",
                style="yellow",
            )


def print_cautions(out: Screen, app: App, location: str) -> None:
    """Print what is unwise about a catalog and a results store; a store that cannot be read says nothing here."""
    with suppress(ResultsError):
        for caution in cautions_of(app.results, app.environment, location):
            out.line(f"  {caution}", style="yellow")


def _print_catalog(out: Screen, found: Surveyed) -> None:
    listing = found.listing
    out.line(f"{listing.location}: {counted(found.survey.items, 'row')}", style="bold")
    if listing.deliveries is not None:
        out.line(f"  {listing.deliveries.in_words}")
    if other := [encoding for encoding in listing.encodings if encoding != "UTF-8"]:
        out.line(f"  read as {', '.join(other)}; if letters are wrong, give --encoding NAME")


def _print_survey(out: Screen, found: Surveyed, slot_bytes: int) -> None:
    survey = found.survey
    _print_catalog(out, found)
    out.print(
        f"  {survey.eligible:,} to send ({counted(survey.pairs, 'pair')}), {size_text(survey.audio_bytes)} of audio"
    )
    if survey.declared:
        out.print(f"  {survey.declared:,} with a declared digest or size, which is compared first")
    if survey.touched:
        out.line(
            f"  {survey.touched:,} with another time and the size that was answered: {size_text(survey.touched_bytes)} "
            "are read first, and the same bytes cost no call"
        )
    formats = ", ".join(f"{count:,} {name}" for name, count in survey.formats.most_common(8))
    out.print(f"  formats: {formats}")
    over = f"{survey.over_slot:,} larger than a slot ({size_text(slot_bytes)})"
    out.print(f"  largest: {size_text(survey.largest_bytes)}; {over}")
    for reason, count in survey.reasons.most_common():
        out.line(f"  {count:,} ineligible · {reason}: {remedy_for(reason)}", style="magenta")
        out.line(f"    {survey.examples[reason]}", style="dim")
        if reason == Reason.AMBIGUOUS_SIDECAR:
            for audio in survey.ambiguous:
                out.line(f"    {audio}")
    if survey.reasons:
        out.line("  --list names each of these rows, with its line and what to do", style="dim")
    if survey.doubtful:
        kinds = ", ".join(f"{count:,} {reason}" for reason, count in survey.doubtful.most_common())
        out.line(f"  {survey.doubtful.total():,} of those to send, by their names: {kinds}", style="magenta")
    for note in unsent_pairs_note(survey.reasons):
        out.line(f"  {note}", style="bold yellow")


def print_unsent(rows: Iterable[UnsentRow], form: str) -> None:
    match form:
        case "csv":
            print_csv(_COLUMNS, map(_cells, rows))
        case "json":
            print_json_array(dict(zip(_COLUMNS, _cells(row), strict=True)) for row in rows)
        case _:
            _print_tables(console(), iter(rows))


def _cells(row: UnsentRow) -> list[str]:
    return [row.where, row.file, row.reason, row.what_to_do, row.detail]


def _print_tables(out: Screen, rows: Iterator[UnsentRow]) -> None:
    count = 0
    while some := list(islice(rows, _ROWS_AT_ONCE)):
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
        for name in ("line", "file", "why", "what to do"):
            table.add_column(name, overflow="fold")
        for row in some:
            table.add_row(row.where, row.file, f"{row.reason}: {row.detail}", row.what_to_do)
        out.print(table)
        count += len(some)
    out.print(f"{counted(count, 'row')} will not be sent" if count else "Every row will be sent", style="bold")
