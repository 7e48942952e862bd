"""Where the API key is kept if the settings name a Prefect Secret block."""

from collections.abc import Callable
from contextvars import copy_context

from prefect.blocks.system import Secret

from proofsweep.errors import ConfigError


def read_block(name: str) -> str:
    """Load a Secret block's value.

    Raises:
        ConfigError: there is no such block.
    """
    try:
        block = Secret.load(name)
    except ValueError as error:
        raise ConfigError(f"There is no Prefect Secret block {name!r}.") from error
    return str(block.get())  # type: ignore[union-attr]  # outside an event loop, load gives the block itself


def read_block_anywhere() -> Callable[[str], str]:
    """Give a `read_block` for threads that Prefect did not start: they ask the server that the caller knows."""
    here = copy_context()
    return lambda name: here.copy().run(read_block, name)
