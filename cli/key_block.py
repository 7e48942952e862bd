"""Read the API key from a Prefect Secret block; Prefect is imported only if the settings name one."""


def read_block(name: str) -> str:
    """Read a Secret block; the import of Prefect takes seconds.

    Raises:
        ConfigError: there is no such block.
    """
    from tasks.key_block import read_block as read  # noqa: PLC0415 - see above

    return read(name)
