"""The command that runs: its App, which is closed when the command is over, and the signals that end it."""

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from proofsweep.app import App

_opened = ExitStack()


def open_app(config: str | None, results_url: str | None = None) -> "App":
    """Read the settings, and open their App; ConfigError if the settings cannot be used."""
    # Only here: the list of commands needs no settings.
    from proofsweep.app import App  # noqa: PLC0415
    from proofsweep.config.load import load_settings  # noqa: PLC0415
    from proofsweep_tasks.key_block import read_block  # noqa: PLC0415

    settings = load_settings(config, results_url)
    logger = logging.getLogger("proofsweep")
    if not any(isinstance(each, _Waiting) for each in logger.handlers):
        logger.addHandler(waiting := _Waiting(settings.service.base_url))
        _opened.callback(logger.removeHandler, waiting)
    return _opened.enter_context(App(settings, read_block))


class _Waiting(logging.Handler):
    """Says on stderr that the service is waited for, beside whatever a command shows."""

    def __init__(self, base_url: str) -> None:
        super().__init__()
        self._base_url = base_url

    def emit(self, record: logging.LogRecord) -> None:
        from proofsweep.config.logs import Event  # noqa: PLC0415 - a light command logs nothing
        from proofsweep_cli.screen import print_error  # noqa: PLC0415

        facts = getattr(record, "facts", {})
        if facts.get("event") == Event.SERVICE_AWAITED:
            state = "does not work" if facts["is_reached"] else "cannot be reached"
            print_error(f"The service at {self._base_url} {state} yet; it is tried for {facts['most_seconds']:,.0f} s.")


def close_app() -> None:
    _opened.close()


@contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """Set `STOP_ASKED` and raise KeyboardInterrupt on Ctrl-C and on SIGTERM, wherever no leg takes them itself.

    A service manager sends SIGTERM, and Python does not hear SIGINT where it is ignored, as in a script's background
    job. The exception alone is not enough: Python drops one that is raised while an object is destroyed.
    """
    from proofsweep_tasks.stop_on_signals import STOP_ASKED  # noqa: PLC0415 - few commands go on until they are stopped

    def interrupt(_number: int, _frame: object) -> NoReturn:
        STOP_ASKED.set()
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield
        return
    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
