"""The API key from a Prefect Secret block, with Prefect imported only where the settings name one."""


def read_block(name: str) -> str:
    """Read a Secret block; it takes the seconds of importing Prefect.

    Raises:
        ConfigError: there is no such block.
    """
    from tasks.key_block import read_block as read  # noqa: PLC0415 - see above

    return read(name)
