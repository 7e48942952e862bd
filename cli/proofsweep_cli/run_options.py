"""Options that several commands share, declared once and given to each as the value that they make."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from proofsweep.settings import load_settings
from proofsweep.wiring.runs import bounds_for
from proofsweep_cli.options import AsJson, Config, MaxCalls, MaxDuration, NoDedupe, Reserve, ResultsUrl, Until
from proofsweep_cli.run_request import RunRequest

_Result = TypeVar("_Result")


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


def with_options(
    parameter: str, made: Callable[..., object]
) -> Callable[[Callable[..., _Result]], Callable[..., _Result]]:
    """Return what gives a command the options of `made`, after its own, in the place of one parameter."""
    shared = inspect.signature(made).parameters

    def given_to(command: Callable[..., _Result]) -> Callable[..., _Result]:
        own = {name: each for name, each in inspect.signature(command).parameters.items() if name != parameter}

        @wraps(command)
        def run(**given: Any) -> _Result:  # noqa: ANN401 - what typer has read
            value = made(**{name: given.pop(name) for name in shared})
            return command(**given, **{parameter: value})

        parameters = [*own.values(), *shared.values()]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # as inspect and typer read it
        run.__annotations__ = {each.name: each.annotation for each in parameters} | {
            "return": inspect.signature(command).return_annotation
        }
        return run

    return given_to


with_run_options = with_options("request", run_request)
