"""The options of commands that read a catalog or make a run, declared once, and the bounds that they give."""

from datetime import datetime

import typer

from proofsweep.config.locations import resolved_here
from proofsweep.config.sections import CatalogSettings
from proofsweep.domain.errors import UsageError
from proofsweep.domain.runs import Bounds
from proofsweep.domain.tags import checksums_of, columns_of, encoding_named, path_maps_of
from proofsweep.sources.selection import Selection
from proofsweep_cli.command import open_app
from proofsweep_cli.options import AsJson, Config, MaxCalls, ResultsUrl, with_options
from proofsweep_cli.run_request import RunRequest
from proofsweep_cli.screen import Screen

Reserve = typer.Option(
    None, "--reserve", metavar="N", min=0, help="Leave this many calls of the quota to other users of the key."
)
Until = typer.Option(
    None,
    "--until",
    metavar="TIME",
    help="Begin no file after: 06:00, '06:00 Europe/Berlin' or an ISO instant; by default in this machine's zone.",
)
MaxDuration = typer.Option(
    None, "--max-duration", metavar="SPAN", help="Begin no file after this span: 7h, 90m, 1h30m."
)
Where = typer.Option(
    None,
    "--where",
    metavar="SQL",
    help="Take only files that meet a condition on the manifest's columns, and on name, folder, size and modified: "
    "\"supplier = 'acme' AND size < 1000000\".",
)
NewerThan = typer.Option(
    None,
    "--newer-than",
    metavar="AGE",
    help="Take only files that were modified since: an age like 2d or 12h, a date, or an ISO instant.",
)
Checksums = typer.Option(
    [],
    "--checksums",
    metavar="FILE",
    help="A list of digests of the files, as md5sum writes it; or column:NAME, a manifest's column of digests. Files "
    "of other bytes are not sent. Repeatable.",
)
_Column = typer.Option(
    [],
    "--column",
    metavar="ROLE=NAME",
    help="The manifest's column of the audio, the sidecar or the id, if it has another name: audio=Dateipfad. "
    "Repeatable.",
)


def _run_request(
    *,
    reserve: int | None = Reserve,
    max_calls: int | None = MaxCalls,
    until: str | None = Until,
    max_duration: str | None = MaxDuration,
    no_dedupe: bool = typer.Option(
        False, "--no-dedupe", help="Verify the same bytes each time the catalog lists them, not only once."
    ),
    results: str | None = ResultsUrl,
    config: str | None = Config,
    as_json: bool = AsJson,
) -> RunRequest:
    app = open_app(config, results)
    bounds = app.bounds(reserve=reserve, max_calls=max_calls, until=until, max_duration=max_duration)
    dedupe = False if no_dedupe else None
    return RunRequest(app=app, config=config, results_url=results, as_json=as_json, bounds=bounds, dedupe=dedupe)


with_run_options = with_options("request", _run_request)


def _catalog(
    *,
    column: list[str] = _Column,
    id_column: str | None = typer.Option(
        None,
        "--id-column",
        metavar="NAME",
        help="The manifest's column that names each file, or none: then IDs are made of the files' names. Short for "
        "--column id=NAME.",
    ),
    path_map: list[str] = typer.Option(
        [],
        "--path-map",
        metavar="BEGINNING=FOLDER",
        help="The folder or bucket prefix that a beginning of the manifest's paths stands for: "
        "'D:\\Musik=/mnt/musik'. Repeatable.",
    ),
    encoding: str | None = typer.Option(
        None,
        "--encoding",
        metavar="NAME",
        help="How a manifest of text is encoded, if it is not recognised: windows-1252, mac_roman, utf-16.",
    ),
    sheet: str | None = typer.Option(
        None,
        "--sheet",
        metavar="NAME",
        help="The sheet of an Excel workbook (.xlsx); by default the first visible one.",
    ),
    header_row: int | None = typer.Option(
        None,
        "--header-row",
        metavar="N",
        min=1,
        help="The line, or the row of a sheet, with the names of the columns; by default the first one that has them.",
    ),
    supplier_from: int | None = typer.Option(
        None,
        "--supplier-from",
        metavar="N",
        min=1,
        help="The N-th folder below the root is the supplier, as a tag; a column of that name goes before it.",
    ),
    checksums: list[str] = Checksums,
) -> CatalogSettings:
    columns = columns_of(column)
    if id_column is not None and columns.setdefault("id", id_column) != id_column:
        raise UsageError("Give --id-column or --column id=NAME, not both.")
    path_maps_of(path_map)
    return CatalogSettings(
        columns=columns,
        path_map=tuple(path_map),
        encoding=None if encoding is None else encoding_named(encoding),
        sheet=sheet or None,
        header_row=header_row,
        supplier_from=supplier_from,
        checksums=checksums_of(checksums, resolved_here),
    )


def _selection(
    *,
    root: str | None = typer.Option(
        None,
        "--root",
        metavar="FOLDER",
        help="Folder or bucket prefix that holds all files of the catalog; by default its own folder. Rows that lead "
        "out of it are ineligible.",
    ),
    allow_outside: bool = typer.Option(
        False,
        "--allow-outside",
        help="Send files outside that folder too: for a manifest of your own, not a supplier's.",
    ),
    since_last: bool = typer.Option(
        False, "--since-last", help="Leave out files that are unchanged since their last answer, whatever its age."
    ),
    max_age: str | None = typer.Option(
        None,
        "--max-age",
        metavar="SPAN",
        help="Leave out unchanged files whose answer is younger than this span: 30d, 12h.",
    ),
    oldest_first: bool = typer.Option(
        False,
        "--oldest-first",
        help="With --max-calls: verify only as many files as these calls are enough for, those tried longest ago "
        "first.",
    ),
    where: str | None = Where,
    newer_than: str | None = NewerThan,
    only: list[str] = typer.Option(
        [],
        "--only",
        metavar="REASON",
        help="Take only files that stand so by their newest answer: a reason as `rejects` names it, or an outcome: "
        "failed, rejected, ineligible. Repeatable.",
    ),
    skip_without_credential: bool = typer.Option(
        False,
        "--skip-without-credential",
        help="Look into each WAV that has no sidecar, and plan as ineligible those that carry no manifest of any kind; "
        "they cost no call.",
    ),
    catalog: CatalogSettings,
) -> Selection:
    place = {"root": root and resolved_here(root), "outside": "allow" if allow_outside else "deny"}
    return Selection(
        since_last=since_last,
        max_age=max_age,
        oldest_first=oldest_first,
        where=where,
        newer_than=newer_than,
        only=tuple(dict.fromkeys(word.strip() for each in only for word in each.split(","))),
        skip_without_credential=skip_without_credential,
        catalog=catalog.model_copy(update=place),
    )


with_selection_options = with_options("selection", with_options("catalog", _catalog)(_selection))
"""Return a command with the options that say how a catalog is read, and which rows: it takes them as `selection`."""


def print_bounds(out: Screen, bounds: Bounds, now: datetime) -> None:
    """Print the bounds, with the closing time in UTC and in local time; UsageError if the window is closed already."""
    parts = [] if bounds.closes_at is None else [f"at {_instant_text(bounds.closes_at)}"]
    parts += [] if bounds.max_calls is None else [f"after {bounds.max_calls:,} calls"]
    parts += [f"with {bounds.reserve:,} calls of the quota left"] if bounds.reserve else []
    refuse_closed_window(bounds, now)
    if parts:
        out.line(f"Stops {' or '.join(parts)}")


def refuse_closed_window(bounds: Bounds, now: datetime) -> None:
    if bounds.closes_at is not None and bounds.closes_at <= now:
        raise UsageError(f"The window is over: it closed at {_instant_text(bounds.closes_at)}.")


def _instant_text(at: datetime) -> str:
    here = at.astimezone()
    return f"{at:%Y-%m-%d %H:%M:%S} UTC" + (f" ({here:%H:%M} {here:%Z})" if here.utcoffset() else "")
