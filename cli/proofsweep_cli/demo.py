"""`proofsweep demo`: a whole run against a local partner service, in a folder that the next demo replaces."""

import glob
import json
import os
import shutil
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import duckdb
import typer

from proofsweep import results
from proofsweep.domain.errors import ConfigError, missing_extra
from proofsweep.domain.runs import Bounds
from proofsweep.domain.text import counted
from proofsweep.queries.status import describe_run
from proofsweep.store.sql import quoted
from proofsweep_cli.command import CommandRequest
from proofsweep_cli.embedded_server import EmbeddedServer
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.prefect_api import prefect_api
from proofsweep_cli.run_flow import run_leg
from proofsweep_cli.run_screen import report
from proofsweep_cli.screen import BLUE, GREEN, RED, Screen, console
from proofsweep_sandbox import Sample, launch, write_catalog

_MARK = "# Made by `proofsweep demo`: the next one in this folder replaces it, and the folders beside it.\n"
_CONFIG = """\
[service]
base_url = {url}
environment = "sandbox"
api_key_file = {key}
sidecar_field = "sidecar"

[results]
url = {results}

[pace]
first_rate = 500 # nobody else uses this sandbox
"""
_OUTCOMES = {None: "ineligible", "valid": "accepted"}
_SQL = """\
SELECT mode, verdict, count(*) AS files,
       round(avg(grade_human), 2) AS grade_human, round(median(verify_ms)) AS verify_ms
FROM {parts}
WHERE verdict IS NOT NULL
GROUP BY ALL ORDER BY mode, files DESC"""
_PANDAS = """\
results.open_results({store!r}).pandas("verdicts").pivot_table(
    index="audio_format", columns="outcome", aggfunc="size", fill_value=0
)"""


class DemoFolder:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.catalog = root / "catalog"
        self.results = root / "results"
        self.sandbox = root / "sandbox"
        self.config = root / "proofsweep.toml"

    def make_room(self) -> None:
        """Make the folder; delete what an earlier demo wrote, and nothing else.

        ConfigError if the folder holds something else, or cannot be written.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            if any(self.root.iterdir()) and not self._is_of_a_demo():
                raise ConfigError(
                    f"{self.root} is not empty and was not made by a demo; name another folder with --folder."
                )
            for old in (self.catalog, self.results, self.sandbox):
                if old.exists():
                    shutil.rmtree(old)
            self.config.write_text(_MARK, encoding="utf-8")
        except OSError as error:
            reason = error.strerror or error
            raise ConfigError(f"The folder {self.root} cannot be used for a demo ({reason}).") from error

    def _is_of_a_demo(self) -> bool:
        return self.config.is_file() and self.config.read_text(errors="replace").startswith(_MARK)

    def write_settings(self, base_url: str, key_file: Path) -> None:
        # A JSON string is a TOML string too: it holds any path.
        url = json.dumps(base_url)
        key = json.dumps(str(key_file.absolute()))
        results = json.dumps(str(self.results.absolute()))
        settings = _CONFIG.format(url=url, key=key, results=results)
        self.config.write_text(_MARK + settings, encoding="utf-8")


def demo(
    folder: Path = typer.Option(
        Path("demo"), "--folder", metavar="DIR", help="Where the catalog and the results are kept."
    ),
    files: int = typer.Option(60, "--files", min=1, help="Audio files in the sample catalog."),
) -> int:
    """Needs no key and no network. Some files are rejected on purpose: the exit code is 0 when every row is as
    expected, else 1. A second demo in the same folder replaces the first.

    Example: `proofsweep demo --files 200 --folder /tmp/demo`
    """
    # First: what follows takes seconds to start.
    if find_spec("c2pa") is None:
        raise missing_extra("The demo's partner service", "sandbox")
    out = console()
    demo_folder = DemoFolder(folder)
    _forget_settings()
    # If Prefect cannot be used, the results of the last demo stay.
    with prefect_api() as server:
        demo_folder.make_room()
        samples, base_url = _verify(demo_folder, files, out, server)
    is_as_expected = _compare(out, demo_folder, samples)
    _show_queries(out, str(demo_folder.results))
    _print_next_steps(out, demo_folder, base_url)
    if is_as_expected:
        return ExitCode.ACCEPTED
    return ExitCode.BUG


def _forget_settings() -> None:
    """Let only the demo's own config count: a real base URL must have no effect."""
    for name in list(os.environ):
        if name.upper().startswith("PROOFSWEEP_"):
            del os.environ[name]


def _print_next_steps(out: Screen, demo_folder: DemoFolder, base_url: str) -> None:
    of_demo = CommandRequest(config=str(demo_folder.config))
    of_nothing = CommandRequest()
    # The config names the address of the demo's sandbox: one that is started again must have the same port.
    port = str(urlsplit(base_url).port)
    status = of_demo.command("status")
    sandbox = of_nothing.command("sandbox", home=str(demo_folder.sandbox), port=port)
    verify = of_demo.command("verify", str(demo_folder.catalog))
    out.print("Next steps", style="bold")
    for command in (status, sandbox, verify):
        out.line(" ", command=command, style=BLUE)


def _verify(
    demo_folder: DemoFolder, files: int, out: Screen, server: EmbeddedServer | None
) -> tuple[list[Sample], str]:
    out.print("Starting a local partner service and a Prefect API …")
    with launch(demo_folder.sandbox) as sandbox:
        demo_folder.write_settings(sandbox.base_url, sandbox.key_file)
        catalog = demo_folder.catalog
        samples = write_catalog(catalog.absolute(), sandbox.operator, files=files)
        pairs = sum(sample.sidecar is not None for sample in samples)
        out.print(f"{catalog}: {files:,} audio files, {pairs:,} with a sidecar; some must be rejected")
        request = CommandRequest(config=str(demo_folder.config))
        plan = request.app.plan(str(catalog))
        rows = counted(plan.items, "row")
        out.line(f"Run {plan.run_id}: {rows}, {plan.eligible:,} to send")
        planned = describe_run(request.app.results, plan.run_id)
        done = run_leg(request, planned, Bounds(), server)
        report(request, done)
        return samples, sandbox.base_url


def _compare(out: Screen, demo_folder: DemoFolder, samples: Iterable[Sample]) -> bool:
    store = results.open_results(str(demo_folder.results))
    verdicts = store.verdicts(columns=["audio", "verdict", "outcome"])
    actual = [(row["audio"], row["verdict"], row["outcome"]) for row in verdicts.to_pylist()]
    expected = []
    for sample in samples:
        outcome = _OUTCOMES.get(sample.verdict, "rejected")
        expected.append((str(sample.audio), sample.verdict, outcome))
    right = len(set(actual) & set(expected))
    # A row that is written twice is wrong too, though all others are right.
    is_right = len(actual) == right == len(expected)
    colour = GREEN if is_right else RED
    out.print()
    out.print(f"{right:,} of {len(expected):,} rows as expected", style=f"bold {colour}")
    out.print()
    return is_right


def example_sql(store: str) -> str:
    """Return a query of the tables of a store: DuckDB reads brackets in a path as a pattern, and ends it at a quote."""
    parts = f"{glob.escape(store)}/verdicts/*/*.parquet"
    return _SQL.format(parts=quoted(parts))


def _show_queries(out: Screen, store: str) -> None:
    sql = example_sql(store)
    answer = duckdb.sql(sql)
    _show(out, "DuckDB", sql, str(answer))
    expression = _PANDAS.format(store=store)
    frame = eval(expression, {"results": results})  # noqa: S307 - our own text, as it is printed
    _show(out, "pandas", expression, frame.to_string())


def _show(out: Screen, title: str, query: str, result: str) -> None:
    out.print(title, style="bold")
    for line in query.splitlines():
        out.print(f"  {line}", style=BLUE, soft_wrap=True)
    for line in result.rstrip().splitlines():
        out.print(f"  {line}", soft_wrap=True)
    out.print()
