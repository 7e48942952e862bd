"""A DuckDB database in a temporary folder: it counts and joins rows on disk if they are too many for memory."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

_FULL = {os.strerror(code): code for code in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)}


@contextmanager
def scratch_database(memory: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database for the work inside; `memory` is the most that it uses, such as 512MB.

    Raises:
        OSError: the disk of temporary files is full; DuckDB tells that by the words of the system alone.
    """
    with TemporaryDirectory(prefix="proofsweep-") as folder:
        try:
            with duckdb.connect(str(Path(folder, "rows.duckdb")), config={"memory_limit": memory}) as database:
                yield database
        except duckdb.Error as error:
            for words, code in _FULL.items():
                if words in str(error):
                    raise OSError(code, words, folder) from error
            raise
