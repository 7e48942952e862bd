"""Where the API key is kept if the settings name a Prefect Secret block. Only a use imports Prefect, which is slow."""

from contextvars import copy_context
from dataclasses import replace

from proofsweep.domain.errors import ConfigError
from proofsweep.operations.key_store import SecretBlocks


def read_block(name: str) -> str:
    from prefect.blocks.system import Secret  # noqa: PLC0415

    try:
        block = Secret.load(name)
    except ValueError as error:
        raise ConfigError(f"There is no Prefect Secret block {name!r}.") from error
    return str(block.get())  # type: ignore[union-attr]  # outside an event loop, load gives the block itself


def write_block(name: str, text: str) -> None:
    import httpx  # noqa: PLC0415
    from prefect.blocks.system import Secret  # noqa: PLC0415
    from prefect.exceptions import PrefectException  # noqa: PLC0415

    try:
        Secret(value=text).save(name, overwrite=True)
    except (ValueError, PrefectException, httpx.HTTPError) as error:  # its text may show the value
        raise ConfigError(f"The Prefect Secret block {name!r} cannot be written ({type(error).__name__}).") from None


def delete_block(name: str) -> None:
    import httpx  # noqa: PLC0415
    from prefect.blocks.system import Secret  # noqa: PLC0415
    from prefect.exceptions import PrefectException  # noqa: PLC0415

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
