"""Run the verify flow in this process, against the configured Prefect server or an embedded one."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from shlex import quote

import httpx
import typer
from rich.console import Console

from cli.embedded_server import EmbeddedServer
from cli.exit_codes import code_of_run
from cli.forecast_lines import forecast_json
from cli.lost_server import not_kept_waiting
from cli.progress import progress_shown
from cli.screen import console, flush, print_json, print_summary
from proofsweep.bootstrap.runs import results_for
from proofsweep.domain.budget.bounds import Bounds
from proofsweep.domain.budget.forecast import Forecast
from proofsweep.errors import ResultsError, RunMustStop
from proofsweep.reporting.describe_run import describe_run
from proofsweep.reporting.run_status import RunStatus
from proofsweep.reporting.summary import json_of
from proofsweep.settings import Settings, load_settings
from proofsweep.storage.results.results import Results


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the command line was asked for; `dedupe` is as in the settings when None."""

    config: str | None
    results_url: str | None
    as_json: bool
    bounds: Bounds = field(default_factory=Bounds)
    dedupe: bool | None = None
    forecast: Forecast | None = None

    @property
    def out(self) -> Console:
        """Where text goes; with `--json` stdout is the object's alone."""
        return console(to_stderr=self.as_json)

    @property
    def settings(self) -> Settings:
        """The settings, with what the command line says above them."""
        return load_settings(self.config, self.results_url)

    @property
    def results(self) -> Results:
        """The results store that is meant."""
        return results_for(self.settings)

    def resume(self, run_id: str) -> str:
        """Spell the command that goes on with a run of this store."""
        options = {"--results": self.results_url, "--config": self.config}
        given = [f"{option} {quote(value)}" for option, value in options.items() if value is not None]
        return " ".join(["proofsweep resume", run_id, *given])

    def run_status(self, run_id: str) -> RunStatus:
        """Read how a run stands."""
        return describe_run(self.results, run_id)


def verify_run(run_id: str, asked: Asked, server: EmbeddedServer | None) -> int:
    """Run a leg of a planned run through Prefect, say what came of it, and give the exit code."""
    if server is not None:
        with asked.out.status("starting a Prefect server …") if asked.out.is_terminal else nullcontext():
            server.wait_until_up()
    before = asked.run_status(run_id)
    if before.remaining:
        _run(run_id, asked, before, server)
    return report(run_id, asked)


def report(run_id: str, asked: Asked) -> int:
    """Print a run's summary; give its exit code."""
    run = asked.run_status(run_id)
    results_url = asked.results.store.url
    if asked.as_json:
        told = {} if asked.forecast is None else {"forecast": forecast_json(asked.forecast)}
        print_json(json_of(run, results_url) | told)
    else:
        print_summary(asked.out, run, results_url, asked.resume(run_id))
    return code_of_run(run)


def _run(run_id: str, asked: Asked, before: RunStatus, server: EmbeddedServer | None) -> None:
    """Run the flow; once its leg is settled, what Prefect still wants is not waited for if its server is gone."""
    from prefect.exceptions import CancelledRun  # noqa: PLC0415 - seconds to import

    from flows.verify_catalog import verify_catalog  # noqa: PLC0415

    def leave() -> None:
        end_showing()
        _say_lost()
        code = report(run_id, asked)
        if server is not None:
            server.close()
        flush()
        os._exit(code)

    with (
        _quietly(),
        progress_shown(asked.out, before.plan.items, before.finished) as end_showing,
        not_kept_waiting(leave),
        _explained(run_id, asked, before),
        suppress(CancelledRun),
    ):
        verify_catalog(
            run_id=run_id,
            config=asked.config,
            results=asked.results_url,
            reserve=asked.bounds.reserve,
            max_calls=asked.bounds.max_calls,
            until=None if asked.bounds.closes_at is None else asked.bounds.closes_at.isoformat(),
            dedupe=asked.dedupe,
        )


@contextmanager
def _explained(run_id: str, asked: Asked, before: RunStatus) -> Iterator[None]:
    """Say what failed around the flow: the results store, or Prefect, without which a settled leg is settled too."""
    try:
        yield
    except ResultsError as error:
        raise RunMustStop(
            f"{error.message} What was finished is kept; when it is well again: {asked.resume(run_id)}",
            ended_by="breaker",
        ) from error
    except (httpx.HTTPError, RuntimeError) as error:  # ours speaks to the partner in values: this is Prefect's client
        if isinstance(error, RuntimeError) and not str(error).startswith("Failed to reach API"):
            raise
        now = asked.run_status(run_id)
        if len(now.legs) > len(before.legs) and now.ended_by is not None:
            _say_lost()
            return
        raise RunMustStop(
            f"The Prefect server failed ({error}); then: {asked.resume(run_id)}", ended_by="killed"
        ) from error


def _say_lost() -> None:
    typer.echo(
        "proofsweep: The Prefect server is lost, and with it its own record of this run; no result is.", err=True
    )


@contextmanager
def _quietly() -> Iterator[None]:
    """Let log lines go to the server alone, once Prefect is imported: the terminal shows things our way."""
    from prefect.logging.handlers import APILogHandler, PrefectConsoleHandler  # noqa: PLC0415 - seconds to import

    logging.raiseExceptions = False  # Prefect's and ours: a line that finds no server is not told of
    for name in ("prefect._internal", "prefect._internal.concurrency"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # it prints each event that finds no server
    for handler in logging.getLogger().handlers:
        if isinstance(handler, PrefectConsoleHandler):
            handler.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        APILogHandler().flush()
