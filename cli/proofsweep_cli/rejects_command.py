"""`proofsweep rejects`: the files that need attention, and what to do about each kind."""

from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby

import typer
from rich.console import Console
from rich.padding import Padding

from proofsweep.config.load import load_settings
from proofsweep.queries.selected_rows import AttentionGroup, SelectedRows, attention_groups
from proofsweep.queries.status import NEED_ATTENTION
from proofsweep.wiring.operations import selected_rows
from proofsweep.wiring.watching import given_up_items
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.next_command import next_command
from proofsweep_cli.options import AsJson, Config, ResultsUrl, RunId
from proofsweep_cli.screen import COLOURS, console, counted, gone_words, print_json, styled


def rejects(
    run_id: str | None = RunId,
    *,
    by: str | None = typer.Option(
        None, "--by", metavar="TAG", help="List them for each value of a tag of the manifest, such as supplier."
    ),
    limit: int = typer.Option(20, "--limit", "-n", min=1, help="Name at most this many files of each kind."),
    results: str | None = ResultsUrl,
    config: str | None = Config,
    as_json: bool = AsJson,
) -> int:
    """List the files that need attention: rejected, failed or ineligible, why, and what to do.

    A file that was rejected stays in the list until the service accepts it, or until its catalog lists it no more; how
    many are gone so is said. With RUN only the files of that run are listed. The exit code is 0, whatever is listed.

    Examples: `proofsweep rejects` · `proofsweep rejects --by supplier`
    """
    settings = load_settings(config, results)
    selected = selected_rows(settings, run_id, NEED_ATTENTION)
    groups, gone = attention_groups(selected, limit, by, given_up_items(settings)), selected.gone()
    if as_json:
        print_json(_json_of(selected, groups) | {"gone": gone})
        return ExitCode.ACCEPTED
    out = console()
    rows = sum(group.rows for group in groups)
    needs = "needs" if rows == 1 else "need"
    none = "No row is left that needs attention" if selected.pruned_on else "No file needs attention"
    headline = f"{counted(rows, 'file')} {needs} attention" if rows else none
    out.print(f"{headline} ({_words_of(selected)})", style="bold", soft_wrap=True)
    if gone:
        out.print(gone_words(gone), soft_wrap=True)
    for value, of_value in groupby(groups, key=lambda group: group.value):
        _print_groups(out, list(of_value), value, by)
    if rows:
        out.print()
        words = [*([run_id] if run_id else []), "--only", ",".join(NEED_ATTENTION), *(["--by", by] if by else [])]
        listed = next_command("export", *words, config=config, results=results)
        out.print(f"As a list for a spreadsheet, or to verify again: {listed}", soft_wrap=True)
    return ExitCode.ACCEPTED


def _words_of(selected: SelectedRows) -> str:
    which = "newest answers of all runs" if selected.plan is None else f"run {selected.plan.run_id}"
    pruned = f", which {selected.pruned}" if selected.pruned else ""
    return f"{selected.environment}, {which}{pruned}"


def _print_groups(out: Console, groups: Sequence[AttentionGroup], value: str | None, tag: str | None) -> None:
    if tag is not None:
        title = f"no {tag}" if value is None else value
        out.print()
        out.print(styled(title, "bold"), f"— {counted(sum(group.rows for group in groups), 'file')}", soft_wrap=True)
    for group in groups:
        out.print()
        kind = styled(f"{group.rows:,} {group.outcome}", COLOURS.get(group.outcome, ""))
        out.print("  ", kind, f": {group.in_words} ({group.reason})", sep="", soft_wrap=True)
        out.print(Padding(group.what_to_do, (0, 0, 0, 2), expand=False), style="italic")
        for file, line in zip(group.files, group.lines, strict=True):
            where = f" ({line})" if line and line != file else ""
            out.print(f"    {file or '(no audio named)'}{where}", soft_wrap=True)
        if group.rows > len(group.files):
            out.print(f"    … and {group.rows - len(group.files):,} more")


def _json_of(selected: SelectedRows, groups: Sequence[AttentionGroup]) -> dict[str, object]:
    return {
        "environment": selected.environment,
        "run_id": None if selected.plan is None else selected.plan.run_id,
        "pruned_on": selected.pruned_on,
        "rows": sum(group.rows for group in groups),
        "groups": [asdict(group) | {"in_words": group.in_words, "what_to_do": group.what_to_do} for group in groups],
        "results": selected.results.store.url,
    }
