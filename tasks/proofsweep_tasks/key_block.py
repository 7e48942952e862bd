"""Where the API key is kept if the settings name a Prefect Secret block."""

from contextvars import copy_context
from dataclasses import replace

import httpx
from prefect.blocks.system import Secret
from prefect.exceptions import PrefectException

from proofsweep.domain.errors import ConfigError
from proofsweep.domain.operations import SecretBlocks


def read_block(name: str) -> str:
    """Load a Secret block's value; ConfigError if there is no such block."""
    try:
        block = Secret.load(name)
    except ValueError as error:
        raise ConfigError(f"There is no Prefect Secret block {name!r}.") from error
    return str(block.get())  # type: ignore[union-attr]  # outside an event loop, load gives the block itself


def write_block(name: str, text: str) -> None:
    """Make a Secret block, or overwrite its value; ConfigError if the server does not take it."""
    try:
        Secret(value=text).save(name, overwrite=True)
    except (ValueError, PrefectException, httpx.HTTPError) as error:  # its text may show the value
        raise ConfigError(f"The Prefect Secret block {name!r} cannot be written ({type(error).__name__}).") from None


def delete_block(name: str) -> None:
    """Delete a Secret block, if there is one; ConfigError if the server does not delete it."""
    try:
        Secret.delete(name)
    except ValueError:  # there is none
        return
    except (PrefectException, httpx.HTTPError) as error:
        raise ConfigError(f"The Prefect Secret block {name!r} cannot be deleted ({type(error).__name__}).") from None


BLOCKS = SecretBlocks(read=read_block, write=write_block, delete=delete_block)


def blocks_anywhere() -> SecretBlocks:
    """Return blocks for threads that Prefect did not start: they ask the server that the caller knows."""
    here = copy_context()
    return replace(BLOCKS, read=lambda name: here.copy().run(read_block, name))
