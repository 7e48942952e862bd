"""Options that several commands share, declared once and given to each as the value that they make."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import typer

from proofsweep.settings import config_of_account
from proofsweep_cli.options import Account, Config

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


def _config_of(*, config: str | None = Config, account: str | None = Account) -> str | None:
    """Name the config, with the account of it that is chosen."""
    return config_of_account(config, account)


def choose_accounts(app: typer.Typer) -> None:
    """Give each command that reads a config the option `--account`."""
    choose_account = with_options("config", _config_of)
    for command in app.registered_commands:
        if command.callback is not None and "config" in inspect.signature(command.callback).parameters:
            command.callback = choose_account(command.callback)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            choose_accounts(group.typer_instance)
