"""The options of commands that make or resume a run."""

from proofsweep.config.load import load_settings
from proofsweep.wiring.runs import bounds_for
from proofsweep_cli.options import AsJson, Config, MaxCalls, MaxDuration, NoDedupe, Reserve, ResultsUrl, Until
from proofsweep_cli.run_request import RunRequest
from proofsweep_cli.shared_options import with_options


def run_request(
    *,
    reserve: int | None = Reserve,
    max_calls: int | None = MaxCalls,
    until: str | None = Until,
    max_duration: str | None = MaxDuration,
    no_dedupe: bool = NoDedupe,
    results: str | None = ResultsUrl,
    config: str | None = Config,
    as_json: bool = AsJson,
) -> RunRequest:
    """Make the request that the options of a command line mean."""
    settings = load_settings(config, results)
    bounds = bounds_for(settings, reserve=reserve, max_calls=max_calls, until=until, max_duration=max_duration)
    dedupe = False if no_dedupe else None
    return RunRequest(config=config, results_url=results, as_json=as_json, bounds=bounds, dedupe=dedupe)


with_run_options = with_options("request", run_request)
