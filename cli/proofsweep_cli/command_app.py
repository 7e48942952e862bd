"""The App of the command that runs, which is closed when the command is over."""

from contextlib import ExitStack
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proofsweep.app import App

_opened = ExitStack()


def open_app(config: str | None, results_url: str | None = None) -> "App":
    """Read the settings, and open their App; ConfigError if the settings cannot be used."""
    # Only here: the list of commands needs no settings.
    from proofsweep.app import App  # noqa: PLC0415
    from proofsweep.config.load import load_settings  # noqa: PLC0415
    from proofsweep_cli.key_block import BLOCKS  # noqa: PLC0415

    return _opened.enter_context(App(load_settings(config, results_url), BLOCKS))


def close_app() -> None:
    _opened.close()
