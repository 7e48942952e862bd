"""Where the API key is kept if the settings name a Prefect Secret block."""

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
