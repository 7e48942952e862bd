"""What tests of files share."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real files, where the environment names one."""
    if "PROOFSWEEP_CORPUS" not in os.environ:
        pytest.skip("needs real audio files: set PROOFSWEEP_CORPUS to a folder of them")
    return Path(os.environ["PROOFSWEEP_CORPUS"])
