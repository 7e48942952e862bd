"""`proofsweep verify` and `proofsweep resume`: what they are asked. The work is in `runs_in_turn`."""

import typer

from proofsweep.sources.selection import Selection
from proofsweep_cli import options
from proofsweep_cli.command import CommandRequest, with_request
from proofsweep_cli.imports import keep_pandas_from_arrow, no_garbage_looked_for
from proofsweep_cli.prefect_api import prefect_api


@with_request()
def verify(
    request: CommandRequest,
    catalog: str = typer.Argument(
        metavar="CATALOG",
        help="A manifest (.csv .xlsx .jsonl .parquet, also .gz), a glob of them, a DDEX message (.xml), or a folder.",
    ),
    *,
    max_age: str | None = options.MaxAge,
    since_last: bool = options.SinceLast,
    oldest_first: bool = options.OldestFirst,
    where: str | None = options.Where,
    newer_than: str | None = options.NewerThan,
    only: list[str] = options.Only,
    max_calls: int | None = options.MaxCalls,
    until: str | None = options.Until,
    partitions: int | None = typer.Option(
        None,
        "--partitions",
        metavar="N",
        min=1,
        max=64,
        help="Divide a new run into so many parts, of which each has a process of its own; it needs the extra dask.",
    ),
) -> int:
    """Each row of the catalog ends in one row of `verdicts`. After Ctrl-C, files in flight are finished, finished rows
    are published, and the same command or `proofsweep resume` does the rest: an unfinished run of the catalog goes on
    first, then what was added or is due.

    Example: `proofsweep verify catalog.csv --results /data/proofs --until 06:00`
    """
    bounds = request.app.bounds(max_calls=max_calls, until=until)
    selection = Selection(
        since_last=since_last,
        max_age=max_age,
        oldest_first=oldest_first,
        where=where,
        newer_than=newer_than,
        only=options.words_in(only),
    )
    # Of all that a run needs, Prefect's server takes longest to start: it begins before the rest is imported.
    with prefect_api() as server:
        with no_garbage_looked_for():
            from proofsweep_cli.runs_in_turn import verify_in_turn  # noqa: PLC0415 - see above
        keep_pandas_from_arrow()
        return verify_in_turn(request, catalog, selection, bounds, partitions=partitions, server=server)


@with_request()
def resume(
    request: CommandRequest,
    run_id: str | None = typer.Argument(
        None, metavar="[RUN]", help="The run to resume; by default the newest unfinished one of the environment."
    ),
    *,
    max_calls: int | None = options.MaxCalls,
    until: str | None = options.Until,
) -> int:
    """Example: `proofsweep resume --until 2h`"""
    bounds = request.app.bounds(max_calls=max_calls, until=until)
    with no_garbage_looked_for():
        from proofsweep_cli.runs_in_turn import resume_in_turn  # noqa: PLC0415 - a second, also for the list of options
    keep_pandas_from_arrow()
    return resume_in_turn(request, run_id, bounds)
