"""`proofsweep demo`: the whole thing against a local partner service, in one command."""

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

import typer
from rich.console import Console

from cli.demo_folder import DemoFolder
from cli.embedded_server import EmbeddedServer, prefect_api
from cli.exit_codes import ExitCode
from cli.run_flow import Asked, verify_run
from cli.screen import console, counted
from proofsweep import results
from proofsweep.bootstrap.runs import plan_catalog
from sandbox import Sample, launch, write_catalog

_OUTCOMES = {None: "ineligible", "valid": "accepted"}


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(demo)


def demo(
    folder: Path = typer.Option(Path("demo"), "--folder", metavar="DIR", help="Where everything is left to look at."),
    files: int = typer.Option(60, "--files", min=1, help="Audio files in the sample catalog."),
) -> int:
    """Start a local partner service, verify a sample catalog against it, and query the results.

    Needs no key and no network. Files are rejected on purpose: the exit code is 0 when every row came out as the
    sandbox meant it, else 1. A second demo in the same folder replaces the first.
    """
    out = console()
    place = DemoFolder(folder)
    _forget_settings()
    with prefect_api() as server:
        place.make_room()
        samples = _verified(place, files, out, server)
    is_as_expected = _compare(out, place, samples)
    from cli.demo_queries import show_queries  # noqa: PLC0415 - no other command needs DuckDB and pandas

    show_queries(out, place.results)
    _tell_more(out, place)
    return ExitCode.ACCEPTED if is_as_expected else ExitCode.BUG


def _verified(place: DemoFolder, files: int, out: Console, server: EmbeddedServer | None) -> list[Sample]:
    """Take a sample catalog through the same steps as `proofsweep verify`; give what it should have come to."""
    out.print("Starting a local partner service and a Prefect API …")
    with launch(place.sandbox) as sandbox:
        place.write_config(sandbox.base_url, sandbox.key_file)
        place.write_readme(_program(), urlsplit(sandbox.base_url).port or 0)
        samples = write_catalog(place.catalog.absolute(), sandbox.operator, files=files)
        pairs = sum(sample.sidecar is not None for sample in samples)
        out.print(f"{place.catalog}: {files:,} audio files, {pairs:,} with a sidecar; some are not meant to pass")
        asked = Asked(config=str(place.config), results_url=None, as_json=False)
        plan = plan_catalog(asked.settings, str(place.catalog))
        out.print(f"Run {plan.run_id}: {counted(plan.items, 'row')}, {plan.eligible:,} to send", soft_wrap=True)
        verify_run(plan.run_id, asked, server)
    return samples


def _compare(out: Console, place: DemoFolder, samples: Iterable[Sample]) -> bool:
    """Say how many rows are what the sandbox made them to be."""
    table = results.open_results(str(place.results)).verdicts(columns=["audio", "verdict", "outcome"])
    found = sorted((row["audio"], row["verdict"], row["outcome"]) for row in table.to_pylist())
    meant = [(str(each.audio), each.verdict, _OUTCOMES.get(each.verdict, "rejected")) for each in samples]
    right = len(set(found) & set(meant))
    is_right = len(found) == right == len(meant)
    out.print(f"\n{right:,} of {len(meant):,} rows as expected\n", style="bold green" if is_right else "bold red")
    return is_right


def _tell_more(out: Console, place: DemoFolder) -> None:
    out.print("Look further", style="bold")
    out.print(f"  {_program()} status --config {place.config}", style="cyan", soft_wrap=True)
    out.print(f"  {place.readme} says what else is in {place.root}", soft_wrap=True)


def _program() -> str:
    """Name this program as it can be typed here."""
    typed = sys.argv[0]
    return typed if Path(typed).name == "proofsweep" and not shutil.which("proofsweep") else "proofsweep"


def _forget_settings() -> None:
    """See that the demo's own config counts alone: a real base URL in the environment must not reach in."""
    for name in [name for name in os.environ if name.upper().startswith("PROOFSWEEP_")]:
        del os.environ[name]
