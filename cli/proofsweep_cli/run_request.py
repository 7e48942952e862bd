"""What a command was asked about a run, and its report; apart from Prefect, so that `status` starts quickly."""

from dataclasses import dataclass, field

from proofsweep.app import App
from proofsweep.domain.runs import Bounds
from proofsweep.queries.status import RunStatus, describe_run
from proofsweep.reports.run import json_of
from proofsweep_cli.exit_codes import code_of_run
from proofsweep_cli.run_screen import print_summary
from proofsweep_cli.screen import Screen, console, next_command, print_json


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    app: App
    config: str | None
    results_url: str | None
    as_json: bool
    bounds: Bounds = field(default_factory=Bounds)

    @property
    def out(self) -> Screen:
        """Where text goes: to stderr with `--json`, since stdout holds only the object."""
        return console(to_stderr=self.as_json)

    def command(self, *words: str) -> str:
        return next_command(*words, config=self.config, results=self.results_url)

    def resume(self, run_id: str) -> str:
        return self.command("resume", run_id)

    def run_status(self, run_id: str) -> RunStatus:
        return describe_run(self.app.results, run_id)


def report(run: RunStatus, request: RunRequest) -> int:
    """Print a run's summary; give its exit code."""
    results_url, run_id = request.app.store.url, run.plan.run_id
    if request.as_json:
        print_json(json_of(run, results_url))
    else:
        rejects = request.command("rejects", run_id)
        print_summary(request.out, run, results_url, resume=request.resume(run_id), rejects=rejects)
    return code_of_run(run)
