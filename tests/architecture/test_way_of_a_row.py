"""How far a row travels: the modules and functions that one healthy file enters, counted by a trace.

A reader follows these. Comprehensions, lambdas, and what `dataclass` generates are not counted.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from proofsweep.app import App
from proofsweep.config.load import load_settings
from proofsweep.verify.worker import verify_batch, work_last

from ..unit.scripted_service import ScriptedService

# Measured: 33 modules and 145 functions, and 59 modules. A thread that waits, and the heartbeat of a slow leg, meet a
# few more. The aim is 25 and 110, and 50: lower these with each step that comes nearer, and never raise them for what
# is there already.
FILE_MODULES, FILE_FUNCTIONS, LEG_MODULES = 34, 158, 60

CORE = Path(__file__).parents[2] / "proofsweep"
WAV = b"RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x08\0\0\0" + bytes(8)


@contextmanager
def entered() -> Iterator[set[tuple[str, str]]]:
    """Yield the functions of the core that are entered, by module, in this thread and in those that start meanwhile."""
    functions: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _arg: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(CORE)) and not code.co_name.startswith("<"):
            functions.add((code.co_filename.removeprefix(str(CORE)), f"{code.co_firstlineno} {code.co_qualname}"))

    before = sys.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield functions
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A profile whose service is in this very process."""
    monkeypatch.setattr("proofsweep.client.transport.Transport", lambda *_, **__: ScriptedService())
    monkeypatch.setenv("PROOFSWEEP_RESULTS__URL", str(tmp_path / "results"))
    (tmp_path / "key").write_text("pk_test\n")
    path = tmp_path / "config.toml"
    path.write_text(f"""
        [service]
        base_url = "https://partner.example/v1"
        environment = "beta"
        api_key_file = "{tmp_path / "key"}"
    """)
    return str(path)


def planned(config: str, folder: Path, files: int) -> str:
    """Plan a run of so many files, and return its ID."""
    folder.mkdir()
    for number in range(files):
        (folder / f"{number}.wav").write_bytes(WAV + bytes([number]))
    return App(load_settings(config)).plan(str(folder)).run_id


def test_one_healthy_file_enters_few_modules_and_functions(config: str, tmp_path: Path) -> None:
    """From its task to the journal."""
    run_id = planned(config, tmp_path / "music", 1)

    with App(load_settings(config)).attempt(run_id) as leg:
        (piece,) = leg.completed.batches()
        with entered() as functions:
            verify_batch(leg, piece)
            leg.trail.journal.flush()

    modules = {module for module, _ in functions}
    assert len(modules) <= FILE_MODULES, sorted(modules)
    assert len(functions) <= FILE_FUNCTIONS, sorted(functions)


def test_a_leg_of_fourteen_rows_enters_few_modules(config: str, tmp_path: Path) -> None:
    """From its lease to its receipt."""
    run_id, settings = planned(config, tmp_path / "music", 14), load_settings(config)

    with entered() as functions, App(settings).attempt(run_id) as leg:
        for piece in leg.completed.batches():
            verify_batch(leg, piece)
        work_last(leg)

    modules = {module for module, _ in functions}
    assert len(modules) <= LEG_MODULES, sorted(modules)
