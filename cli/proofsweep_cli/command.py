"""A command while it runs: the options that most commands have, its App and its answer."""

import logging
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import typer
from rich.table import Table
from rich.text import Text

from proofsweep.config.locations import path_here
from proofsweep.config.notices import say
from proofsweep.domain.errors import NothingDue, ResultsError, RunMustStop
from proofsweep.domain.items import utf8_text
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.screen import Screen, console, print_json

if TYPE_CHECKING:
    from proofsweep.app import App

_OPTIONS = {
    "results": typer.Option(
        None,
        "--results",
        "-r",
        metavar="URL",
        help="Results store, a folder or bucket URL; default from the config (`results.url`).",
    ),
    "config": typer.Option(
        None,
        "--config",
        "-c",
        metavar="FILE",
        help="Config file, or the name of a profile: sandbox, beta, production, nightly, ingest. "
        "[env: PROOFSWEEP_CONFIG]",
    ),
    "as_json": typer.Option(False, "--json", help="Print one JSON object on stdout instead of text."),
}
_STEER_IN_DOUBLE_QUOTES = frozenset('"$`\\!')
"""Letters that a shell does not read as they are between double quotes."""

_opened = ExitStack()


@dataclass(kw_only=True)
class CommandRequest:
    """What a person gave with the options that most commands have, and what follows from it."""

    results: str | None = None
    config: str | None = None
    as_json: bool = False

    @cached_property
    def app(self) -> "App":
        """The App of the settings; ConfigError if they cannot be used."""
        # Only here: the list of commands needs no settings.
        from proofsweep.app import App  # noqa: PLC0415
        from proofsweep.config.load import load_settings  # noqa: PLC0415
        from proofsweep_tasks.key_block import read_block  # noqa: PLC0415

        settings = load_settings(self.config, self.results)
        logger = logging.getLogger("proofsweep")
        waiting = _Waiting(settings.service.base_url)
        logger.addHandler(waiting)
        _opened.callback(logger.removeHandler, waiting)
        app = App(settings, read_block)
        return _opened.enter_context(app)

    @property
    def out(self) -> Screen:
        """Where text goes: to stderr with `--json`, since stdout holds only the object."""
        return console(to_stderr=self.as_json)

    def answer(self, document: object, lines: Iterable[str | Text | Table | tuple[str, str]]) -> None:
        """Print one object for a program, or lines and tables for a person.

        A pair is a line and the command at its end, which stays whole on any terminal.
        """
        if self.as_json:
            print_json(document)
            return
        out = console()
        for line in lines:
            match line:
                case Table():
                    out.print(line)
                case (words, command):
                    out.line(words, command=command)
                case _:
                    out.line(line)

    def command(self, name: str, *arguments: str, **options: str | bool | None) -> str:
        """Write another command for the same results and settings, as a person types it.

        An option is given by its name with underscores: True is one without a value, None is left out.
        """
        own = _written(options)
        shared = _written({"results": self.results, "config": self.config})
        words = [quoted(argument) for argument in arguments]
        # An argument that begins with a dash would be read as an option.
        if any(argument.startswith("-") for argument in arguments):
            return " ".join([_program(), name, *own, *shared, "--", *words])
        return " ".join([_program(), name, *own, *words, *shared])


def _program() -> str:
    """Return how a person starts this program: by its name, or by a path where a shell does not find that."""
    # A command that is printed is copied: it must work as it stands.
    started = Path(sys.argv[0])
    is_found = shutil.which("proofsweep") is not None
    if started.name == "proofsweep" and not is_found:
        return quote(sys.argv[0])
    if started.name == "__main__.py" and not is_found:
        return f"{quote(sys.executable)} -m proofsweep_cli"
    return "proofsweep"


def _written(options: Mapping[str, str | bool | None]) -> list[str]:
    """Write options as a person types them; a value that begins with `-` is not read as another option."""
    words = []
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value:
            text = str(value)
            between = "=" if text.startswith("-") else " "
            words.append(f"{option}{between}{quoted(text)}")
    return words


def quoted(word: str) -> str:
    """Quote a word for a shell: one with an apostrophe can be read only between double quotes."""
    steers_shell = not _STEER_IN_DOUBLE_QUOTES.isdisjoint(word)
    if "'" in word and not steers_shell:
        return f'"{word}"'
    return quote(word)


def with_request(*, without: str = "") -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Give a command the options that most commands have, but for one; their values are its first argument."""

    def decorated(function: Callable[..., int]) -> Callable[..., int]:
        @wraps(function)
        def run(results: str | None = None, config: str | None = None, as_json: bool = False, **own: object) -> int:
            request = CommandRequest(results=results, config=config, as_json=as_json)
            try:
                return function(request, **own)
            # A night on which nothing is due is a good one: a scheduler must not take it for a failure.
            except NothingDue as nothing:
                document = {"items": 0, "skipped": nothing.skipped}
                request.answer(document, [nothing.message])
                return ExitCode.ACCEPTED

        # Typer reads the options of a command from its signature: that of `run` has those of both.
        _, *own = signature(function).parameters.values()
        run.__signature__ = Signature([*own, *_shared_parameters(without)])  # type: ignore[attr-defined]  # typer reads it
        return run

    return decorated


def _shared_parameters(without: str) -> Iterator[Parameter]:
    for name, option in _OPTIONS.items():
        if name != without:
            annotation = CommandRequest.__annotations__[name]
            yield Parameter(name, Parameter.KEYWORD_ONLY, default=option, annotation=annotation)


class _Waiting(logging.Handler):
    """Says on stderr that the service is waited for, beside whatever a command shows."""

    def __init__(self, base_url: str) -> None:
        super().__init__()
        self._base_url = base_url

    def emit(self, record: logging.LogRecord) -> None:
        from proofsweep.config.logs import LogEvent  # noqa: PLC0415 - a light command logs nothing

        facts = getattr(record, "facts", {})
        if facts.get("event") != LogEvent.SERVICE_AWAITED:
            return
        state = "does not work" if facts["is_reached"] else "cannot be reached"
        most_seconds = f"{facts['most_seconds']:,.0f} s"
        say(f"The service at {self._base_url} {state} yet; it is tried for {most_seconds}.")


@contextmanager
def alert_on_stop(app: "App", catalog: str, flow: str = "verify-catalog") -> Iterator[None]:
    """Tell somebody of a stop that no flow can tell: it comes before the leg, and counts as one of this flow."""
    try:
        with app.away_is_outage():
            yield
    except (RunMustStop, ResultsError) as stop:
        if isinstance(stop, RunMustStop) or stop.is_outage:
            _alert_of_stop(app, stop, catalog, flow)
        raise


def _alert_of_stop(app: "App", stop: RunMustStop | ResultsError, catalog: str, flow: str) -> None:
    from proofsweep.alerts.rules import state_after_error, title_of_error  # noqa: PLC0415 - a light command tells nobody

    # One catalog is one cause of alerts, from whatever folder the command was typed.
    location = stop.catalog or utf8_text(path_here(catalog))
    state = state_after_error(stop)
    title = title_of_error(stop)
    end = app.alert_facts.end_of_flow(flow, state, stop.message, catalog=location, title=title)
    for line in app.send_alerts(end):
        say(line)


def close_app() -> None:
    _opened.close()
