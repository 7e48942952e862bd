"""Rows are counted on disk, and a full disk is told as one."""

import errno
import resource

import pytest

from proofsweep.reporting.scratch_database import scratch_database


def test_a_full_disk_is_an_error_of_the_system() -> None:
    """DuckDB has no error of its own for it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(OSError, match="File too large") as raised, scratch_database("100MB") as database:
            database.execute("CREATE TABLE numbers AS SELECT random() AS number FROM range(1000000)")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert raised.value.errno == errno.EFBIG


def test_a_mistake_stays_what_it_is() -> None:
    """A wrong statement is our own bug, and no full disk."""
    with pytest.raises(Exception, match="Parser Error"), scratch_database("100MB") as database:
        database.execute("SELEC 1")
