"""`proofsweep evidence`: what was recorded of a release, in one file that anybody can check."""

import hashlib
from contextlib import nullcontext
from pathlib import Path

import typer
from rich.console import Console

from proofsweep.errors import UsageError
from proofsweep.model.evidence import Contents
from proofsweep.settings import load_settings
from proofsweep.text import printable
from proofsweep.wiring.operations import pack_evidence
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.options import AsJson, Config, ResultsUrl
from proofsweep_cli.screen import console, counted, print_json, styled


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(evidence)


def evidence(
    *,
    tag: list[str] | None = typer.Option(
        None, "--tag", metavar="NAME=VALUE", help="Only rows with this value of a tag of the manifest; may be repeated."
    ),
    run_id: str | None = typer.Option(
        None, "--run", metavar="RUN", help="The rows of a run; default the newest answer of each file."
    ),
    output: Path = typer.Option(
        Path("evidence.zip"), "--output", metavar="FILE", help="Where to write; an existing file is not overwritten."
    ),
    results: str | None = ResultsUrl,
    config: str | None = Config,
    as_json: bool = AsJson,
) -> int:
    """Pack what was recorded of a release into a zip, which anybody can check offline with a short script inside it.

    It holds the rows, their proofs, the receipts up to the newest, a signed audit if there is one, and a page for
    reading: no other row. It shows what was recorded; the service signed nothing.

    Example: proofsweep evidence --tag release=X --output release-X.zip
    """
    tags = _tags_in(tag or [])
    if run_id is None and not tags:
        raise UsageError("Say which rows: --tag NAME=VALUE, or --run RUN.")
    path = output if output.suffix == ".zip" else output.with_name(f"{output.name}.zip")
    out = console(to_stderr=as_json)
    with out.status("reading rows and receipts …") if out.is_terminal else nullcontext():
        done = pack_evidence(load_settings(config, results), run_id, tags, path)
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    if as_json:
        print_json(_json_of(done, path, sha256))
        return ExitCode.ACCEPTED
    _print(out, done, path, sha256)
    return ExitCode.ACCEPTED


def _print(out: Console, done: Contents, path: Path, sha256: str) -> None:
    counts = f"{counted(done.rows, 'row')} ({done.counts}), {counted(done.receipts, 'receipt')}"
    out.print(styled(f"{printable(str(path))}: {counts}", ""), soft_wrap=True)
    for why, rows in done.unproved.items():
        out.print(
            styled("left out: ", "yellow") + styled(f"{counted(rows, 'row')} whose part {why}", ""), soft_wrap=True
        )
    signed = "none holds these rows: proofsweep audit --sign KEY makes one" if done.signed is None else done.signed
    out.print(f"signed audit: {signed}", soft_wrap=True)
    for word, digest in (("head  ", done.head), ("sha256", sha256)):
        out.print(f"{word} {digest}", soft_wrap=True, highlight=False)
    out.print("This is what was recorded. To check it anywhere: unzip it, then python3 check.py HEAD", soft_wrap=True)


def _tags_in(given: list[str]) -> dict[str, str]:
    tags: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name or not value:
            raise UsageError(f"--tag {printable(each)!r}: write it as NAME=VALUE, such as release=X.")
        if name in tags:
            raise UsageError(f"--tag {printable(name)} is given twice: a row has one value of it.")
        tags[name] = value
    return tags


def _json_of(done: Contents, path: Path, sha256: str) -> dict[str, object]:
    return {
        "file": str(path),
        "sha256": sha256,
        "rows": done.rows,
        "outcomes": dict(sorted(done.outcomes.items())),
        "left_out": done.unproved,
        "receipts": done.receipts,
        "signed": done.signed,
        "head": done.head,
    }
