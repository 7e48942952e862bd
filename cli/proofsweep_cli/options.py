"""Options that several commands share, and how a command is given several of them as one value."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import typer

Config = typer.Option(
    None,
    "--config",
    "-c",
    metavar="FILE",
    help="Config file, or the name of a profile: sandbox, beta, production, nightly, ingest. [env: PROOFSWEEP_CONFIG]",
)
ResultsUrl = typer.Option(
    None,
    "--results",
    "-r",
    metavar="URL",
    help="Results store, a folder or bucket URL; default from the config (`results`).",
)
RunId = typer.Argument(
    None, metavar="[RUN]", help="A run; without one, how each file stands now by its newest answer of all runs."
)
MaxCalls = typer.Option(
    None, "--max-calls", metavar="N", min=1, help="Begin no file that this many keyed calls cannot cover."
)
AsJson = typer.Option(False, "--json", help="Print one JSON object on stdout instead of text.")
_Result = TypeVar("_Result")


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
