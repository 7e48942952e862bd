"""Kinds of servers that tests start; tests/faults/test_interrupted_tests.py names this file."""

import time

import pytest

from ..deployment import postgres


@pytest.mark.usefixtures("running", "moto")
def test_all() -> None:
    """Start a sandbox, a bucket and PostgreSQL, and wait."""
    test_the_one_of_another_user()


def test_the_one_of_another_user() -> None:
    """Start PostgreSQL, say that all run, and wait."""
    with postgres.serving_as_packaged():
        print("all servers run", flush=True)  # noqa: T201 - the other test reads it
        time.sleep(600)
