"""A process works for a leg that another one holds, with what the leg's handle says and a service of its own."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from proofsweep.app import App, LegHandle, verify_granted
from proofsweep.config.load import Settings, load_settings
from proofsweep.domain.errors import ConfigError, ResultsError, RunMustStop
from proofsweep.verify.worker_process import PROCESSES, GrantedSlice, SliceResult

from ...worlds.waiting import wait_for

OVER = threading.Event()
"""The leg is over when the test says so."""


@pytest.fixture
def run_id(settings: Settings, catalog: str) -> str:
    return App(settings).plan(catalog).run_id


def is_over(_counts: dict[str, object], seconds: float) -> bool:
    return OVER.wait(seconds)


@contextmanager
def held(run_id: str, config: str) -> Iterator[LegHandle]:
    """Hold the next leg; the handle is as another process has it, which does not hold the leg."""
    OVER.clear()
    with App(load_settings(config)).attempt(run_id) as (handle, _):
        try:
            yield replace(handle, dedupe=not handle.dedupe)
        finally:
            OVER.set()
            wait_for(lambda: PROCESSES._processes == {})


def work_on(handle: LegHandle, row: int = 0) -> SliceResult:
    return verify_granted(handle, GrantedSlice(rows=range(row, row + 1), calls=2), lambda: is_over)


def test_a_process_that_has_stopped_begins_anew(config: str, run_id: str) -> None:
    """It may have been cut off for a moment; the leg goes on."""
    with held(run_id, config) as handle:
        work_on(handle)
        (process,) = PROCESSES._processes.values()
        process.leg.stop.pull(RunMustStop("Cut off.", ended_by="error"))

        assert work_on(handle, 1).is_done
        assert process not in PROCESSES._processes.values()


def test_the_settings_are_those_of_the_process_that_holds_the_leg(
    config: str, run_id: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Another machine may have another config, other variables and another working directory."""
    with held(run_id, config) as handle:
        monkeypatch.setenv("PROOFSWEEP_SERVICE__BASE_URL", "https://elsewhere.example/v1")
        monkeypatch.chdir(tmp_path)
        (tmp_path / "config.toml").unlink()

        assert work_on(handle).is_done


def test_another_version_of_the_program_is_refused(config: str, run_id: str) -> None:
    """It could write other tables. The line names the machine."""
    with held(run_id, config) as handle, pytest.raises(ConfigError, match="in a worker process on"):
        work_on(replace(handle, version="0.0.1"))


def test_a_machine_without_the_catalog_is_refused(config: str, run_id: str, catalog: str) -> None:
    """All its files would count as missing."""
    Path(catalog).rename(f"{catalog}-elsewhere")
    with held(run_id, config) as handle, pytest.raises(ConfigError, match="must be mounted"):
        work_on(handle)


def test_a_machine_without_the_results_is_refused(config: str, run_id: str, tmp_path: Path) -> None:
    """Its rows would be lost."""
    with held(run_id, config) as handle:
        elsewhere = handle.settings.results.model_copy(update={"url": str(tmp_path / "elsewhere")})
        settings = handle.settings.model_copy(update={"results": elsewhere})
        with pytest.raises(ResultsError, match="in a worker process on"):
            work_on(replace(handle, settings=settings))
