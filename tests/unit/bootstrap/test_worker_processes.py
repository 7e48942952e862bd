"""A process works for a leg that another one holds, with what the leg's handle says and an engine of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from proofsweep.bootstrap import worker_processes
from proofsweep.bootstrap.engines import engine_for
from proofsweep.bootstrap.legs import LegHandle, held_leg
from proofsweep.bootstrap.runs import plan_catalog
from proofsweep.bootstrap.stores import results_for
from proofsweep.bootstrap.worker_processes import work_on
from proofsweep.domain.exchanges import Call
from proofsweep.domain.runs import Slice
from proofsweep.errors import ConfigError, ResultsError
from proofsweep.settings import Settings
from proofsweep.storage.results.legs import Legs
from proofsweep.usecases.leg.coordinator import coordinated
from proofsweep.usecases.leg.leg_context import LegContext

from ..usecases.left_behind import rows_of
from ..usecases.scripted_service import ScriptedService
from .conftest import Change

ALL = [Slice(0, row, row + 1) for row in range(3)]


@pytest.fixture
def run_id(settings: Settings, catalog: str) -> str:
    """A planned run of three files."""
    return plan_catalog(settings, catalog).run_id


@contextmanager
def held(run_id: str, config: str) -> Iterator[tuple[LegHandle, LegContext]]:
    """Hold the next leg; the handle is as another process has it, which does not hold the leg."""
    with held_leg(run_id, config, None, flow_run_id=None, read_block=None) as (handle, leg), coordinated(leg):
        yield replace(handle, dedupe=not handle.dedupe), leg


def test_the_process_that_holds_a_leg_works_with_its_own_context(
    config: str, run_id: str, service: ScriptedService
) -> None:
    """No message is written for that."""
    with held_leg(run_id, config, None, flow_run_id=None, read_block=None) as (handle, leg):
        plan, verify = work_on(replace(handle, processes=4))
        assert [verify(piece) for piece in ALL] == [1, 1, 1]

    assert plan is leg.plan
    assert leg.counters.rows == {"accepted": 3}
    assert service.calls.count(Call.VERIFY) == 3


def test_what_another_process_does_is_in_the_leg(settings: Settings, config: str, run_id: str) -> None:
    """Rows, exchanges and counts; the process has an engine of its own, and closes it with the leg."""
    with held(run_id, config) as (handle, leg):
        plan, verify = work_on(handle)
        assert sum(verify(piece) for piece in ALL) == 3
        (process,) = worker_processes._processes.values()
        assert process.leg.dispatcher is not engine_for(settings).dispatcher

    results = results_for(settings)
    receipt = Legs(results, run_id).receipt(1)
    assert receipt is not None
    assert (receipt["ended_by"], rows_of(results, plan)) == ("complete", [0, 1, 2])
    assert len([row for row in rows_of(results, plan, "exchanges") if row is not None]) == 9
    assert leg.counters.rows == {"accepted": 3}
    assert worker_processes._processes == {}


def test_each_process_has_its_share_of_the_items_in_flight(config: str, run_id: str, change: Change) -> None:
    """Together they have as many as one process would have."""
    change(PACE__WORKERS=10)
    with held(run_id, config) as (handle, _):
        work_on(replace(handle, processes=4))
        (process,) = worker_processes._processes.values()

    assert process.leg.workers.most == 3  # type: ignore[attr-defined]  # the port is any executor


def test_the_settings_are_those_of_the_process_that_holds_the_leg(
    config: str, run_id: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Another machine may have another config, other variables and another working directory."""
    with held(run_id, config) as (handle, leg):
        monkeypatch.setenv("PROOFSWEEP_SERVICE__BASE_URL", "https://elsewhere.example/v1")
        monkeypatch.chdir(tmp_path)
        (tmp_path / "config.toml").unlink()

        plan, _ = work_on(handle)

    assert plan == leg.plan


def test_another_version_of_the_program_is_refused(config: str, run_id: str) -> None:
    """It could write other tables. The line names the machine."""
    with held(run_id, config) as (handle, _), pytest.raises(ConfigError, match="in a worker process on"):
        work_on(replace(handle, version="0.0.1"))


def test_a_machine_without_the_catalog_is_refused(config: str, run_id: str, catalog: str) -> None:
    """All its files would count as missing."""
    Path(catalog).rename(f"{catalog}-elsewhere")
    with held(run_id, config) as (handle, _), pytest.raises(ConfigError, match="must be mounted"):
        work_on(handle)


def test_a_machine_without_the_results_is_refused(config: str, run_id: str, tmp_path: Path) -> None:
    """Its rows would be lost."""
    with held(run_id, config) as (handle, _):
        elsewhere = handle.settings.results.model_copy(update={"url": str(tmp_path / "elsewhere")})
        settings = handle.settings.model_copy(update={"results": elsewhere})
        with pytest.raises(ResultsError, match="in a worker process on"):
            work_on(replace(handle, settings=settings))
