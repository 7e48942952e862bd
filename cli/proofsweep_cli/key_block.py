"""Read and write the API key in a Prefect Secret block; Prefect is imported only if the settings name one."""

from proofsweep.domain.operations import SecretBlocks


def read_block(name: str) -> str:
    from proofsweep_tasks.key_block import read_block as read  # noqa: PLC0415 - see above

    return read(name)


def write_block(name: str, text: str) -> None:
    from proofsweep_tasks.key_block import write_block as write  # noqa: PLC0415 - see above

    write(name, text)


def delete_block(name: str) -> None:
    from proofsweep_tasks.key_block import delete_block as delete  # noqa: PLC0415 - see above

    delete(name)


BLOCKS = SecretBlocks(read=read_block, write=write_block, delete=delete_block)
