"""Run the verify flow in this process, against the configured Prefect server or an embedded one."""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import httpx
from rich.console import Console

from cli.embedded_server import EmbeddedServer
from cli.exit_codes import code_of_run
from cli.forecast_lines import forecast_json
from cli.next_command import next_command
from cli.progress import progress_shown
from cli.screen import console, flush, print_error, print_json, print_summary
from cli.watch_prefect import prefect_watched
from proofsweep.bootstrap.runs import results_for
from proofsweep.domain.budget.bounds import Bounds
from proofsweep.domain.budget.forecast import Forecast
from proofsweep.domain.coverage import Coverage
from proofsweep.errors import CatalogError, ResultsError, RunMustStop
from proofsweep.reporting.attention import named_files
from proofsweep.reporting.describe_run import describe_run
from proofsweep.reporting.run_status import RunStatus
from proofsweep.reporting.summary import json_of
from proofsweep.settings import Settings, load_settings
from proofsweep.storage.results.plans_and_parts import Results

if TYPE_CHECKING:
    from prefect.client.schemas.objects import State


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """The options of `verify` and `resume`; `dedupe` is as in the settings when None."""

    config: str | None
    results_url: str | None
    as_json: bool
    bounds: Bounds = field(default_factory=Bounds)
    dedupe: bool | None = None
    forecast: Forecast | None = None
    coverage: Callable[[], Coverage | None] = lambda: None

    @property
    def out(self) -> Console:
        """Where text goes: to stderr with `--json`, since stdout holds only the object."""
        return console(to_stderr=self.as_json)

    @property
    def settings(self) -> Settings:
        """The settings; options of the command line take precedence."""
        return load_settings(self.config, self.results_url)

    @property
    def results(self) -> Results:
        """The results store of this run."""
        return results_for(self.settings)

    def command(self, name: str, run_id: str) -> str:
        """Write the command that does something with a run of this store."""
        return next_command(name, run_id, config=self.config, results=self.results_url)

    def resume(self, run_id: str) -> str:
        """Write the command that resumes a run of this store."""
        return self.command("resume", run_id)

    def run_status(self, run_id: str) -> RunStatus:
        """Read how a run stands."""
        return describe_run(self.results, run_id)


def verify_run(run_id: str, request: RunRequest, server: EmbeddedServer | None) -> int:
    """Run a leg of a planned run through Prefect, print the summary, and give the exit code."""
    run_leg(run_id, request, server)
    return report(request.run_status(run_id), request)


def run_leg(run_id: str, request: RunRequest, server: EmbeddedServer | None) -> None:
    """Run a leg of a planned run through Prefect, unless no row remains."""
    if server is not None:
        with request.out.status("starting a Prefect server …") if request.out.is_terminal else nullcontext():
            server.wait_until_up()
    before = request.run_status(run_id)
    if before.remaining:
        _run(run_id, request, before, server)


def report(run: RunStatus, request: RunRequest) -> int:
    """Print a run's summary; give its exit code."""
    results_url = request.results.store.url
    if request.as_json:
        forecast = {} if request.forecast is None else {"forecast": forecast_json(request.forecast)}
        print_json(json_of(run, results_url) | _attention_json(run, request) | forecast | _coverage_json(request))
    else:
        print_summary(
            request.out,
            run,
            results_url,
            resume=request.resume(run.plan.run_id),
            files=named_files(request.results, run),
            rejects=request.command("rejects", run.plan.run_id),
        )
        print_coverage(request)
    return code_of_run(run)


def _attention_json(run: RunStatus, request: RunRequest) -> dict[str, object]:
    """Give the member `attention`: the files that the summary names."""
    return {"attention": [asdict(file) for file in named_files(request.results, run)]}


def print_coverage(request: RunRequest) -> None:
    """Say how much of the catalog has a young answer, if an age was given."""
    try:
        coverage = request.coverage()
    except (CatalogError, ResultsError) as error:  # the exit code stays that of the run
        request.out.print(f"The coverage of the catalog is not known: {error.message}", soft_wrap=True)
        return
    if coverage is not None:
        request.out.print(coverage.sentence, soft_wrap=True)


def _coverage_json(request: RunRequest) -> dict[str, object]:
    """Give the member `coverage`: null if it is not known, absent if no age was given."""
    try:
        coverage = request.coverage()
    except (CatalogError, ResultsError):
        return {"coverage": None}
    return {} if coverage is None else {"coverage": asdict(coverage)}


def _run(run_id: str, request: RunRequest, before: RunStatus, server: EmbeddedServer | None) -> None:
    """Run the flow. If Prefect's server is lost after the leg is settled, exit without waiting for Prefect."""
    from flows.verify_catalog import verify_catalog  # noqa: PLC0415 - seconds to import

    def exit_without_prefect() -> None:
        end_progress()
        _report_lost_server()
        code = report(request.run_status(run_id), request)
        if server is not None:
            server.close()
        flush()
        os._exit(code)

    with (
        _terminal_kept_quiet(),
        progress_shown(request.out, before.plan.items, before.finished) as end_progress,
        prefect_watched(exit_without_prefect),
        _errors_explained(run_id, request, before),
    ):
        state = verify_catalog(
            run_id=run_id,
            config=request.config,
            results=request.results_url,
            reserve=request.bounds.reserve,
            max_calls=request.bounds.max_calls,
            until=None if request.bounds.closes_at is None else request.bounds.closes_at.isoformat(),
            dedupe=request.dedupe,
            return_state=True,
        )
        _raise_error_of(state)


def _raise_error_of(state: "State[Any]") -> None:
    """Raise the error that ended a flow run; a run that only stopped early has its ending in its receipt."""
    from prefect.exceptions import CancelledRun, FailedRun  # noqa: PLC0415 - seconds to import

    with suppress(CancelledRun, FailedRun):
        state.result()


@contextmanager
def _errors_explained(run_id: str, request: RunRequest, before: RunStatus) -> Iterator[None]:
    """Turn an error around the flow into one line: the store failed, or Prefect did. A settled leg stays settled."""
    try:
        yield
    except ResultsError as error:
        raise RunMustStop(
            f"{error.message} Finished rows are kept. When the store works again: {request.resume(run_id)}",
            ended_by="breaker",
        ) from error
    except (httpx.HTTPError, RuntimeError) as error:  # our own client gives values: this is Prefect's
        if isinstance(error, RuntimeError) and not str(error).startswith("Failed to reach API"):
            raise
        now = request.run_status(run_id)
        if len(now.legs) > len(before.legs) and now.ended_by is not None:
            _report_lost_server()
            return
        raise RunMustStop(
            f"The Prefect server failed ({error}). When it works again: {request.resume(run_id)}", ended_by="killed"
        ) from error


def _report_lost_server() -> None:
    print_error("The Prefect server is lost, with its own record of this run. No result is lost.")


@contextmanager
def _terminal_kept_quiet() -> Iterator[None]:
    """Send log lines only to the server, not to the terminal; import Prefect first."""
    from prefect.logging.handlers import APILogHandler, PrefectConsoleHandler  # noqa: PLC0415 - seconds to import

    logging.raiseExceptions = False  # no traceback for a log line that finds no server
    for name in ("prefect._internal", "prefect._internal.concurrency"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # it prints each event that finds no server
    for handler in logging.getLogger().handlers:
        if isinstance(handler, PrefectConsoleHandler):
            handler.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        APILogHandler().flush()
