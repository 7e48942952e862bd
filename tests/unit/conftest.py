"""A scripted service, a partner that asks it, and a leg over a folder; each test has its own."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import SecretStr

from proofsweep.client.client import Partner
from proofsweep.client.service_clock import ServiceClock
from proofsweep.config.proxies import Proxies
from proofsweep.config.sections import PaceSettings, RetrySettings, ServiceSettings, TimeoutSettings
from proofsweep.config.threads import StopSwitch
from proofsweep.domain.items import WorkItem
from proofsweep.domain.runs import Bounds, Plan
from proofsweep.files.files import Files
from proofsweep.pacing import circuit_breaker
from proofsweep.store.layout import items_name
from proofsweep.store.legs import HeldLeg, Legs
from proofsweep.store.objects import FolderStore
from proofsweep.store.operations import recovered_sidecars
from proofsweep.store.parts import ITEMS, Results, parquet_of
from proofsweep.store.rows import planned_columns
from proofsweep.verify.check_file import known_good_items
from proofsweep.verify.item import VerifyContext
from proofsweep.verify.leg import Leg
from proofsweep.verify.service import Service

from ..worlds.ended_runs import plan_of_run
from .scripted_service import NOW, ScriptedService

RUN = "20261120T120000Z_000aa"
WAV = b"RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x08\0\0\0"


@pytest.fixture
def service() -> ScriptedService:
    """A service at which all is well, until a test scripts something else."""
    return ScriptedService()


@pytest.fixture
def opened(service: ScriptedService, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """A service that is fast, and retries within milliseconds; a leg on it ends soon."""
    monkeypatch.setattr("proofsweep.client.transport.Transport", lambda *_, **__: service)
    opened = Service(
        ServiceSettings(base_url="https://partner.example/v1", environment="test", sidecar_field="sidecar"),
        PaceSettings(workers=4, first_rate=10_000.0, longest_pause_seconds=1.0),
        RetrySettings(attempts=2, longest_wait_seconds=0.002, breaker_seconds=0.1),
        TimeoutSettings(),
        lambda: SecretStr("pk_test"),
        proxies=Proxies({}),
        clock=ServiceClock(lambda: NOW),
    )
    yield opened
    opened.close()


@pytest.fixture
def stop(opened: Service) -> StopSwitch:
    return opened.stop


@pytest.fixture
def partner(opened: Service) -> Partner:
    return opened.partner


@pytest.fixture
def verify_context(partner: Partner) -> VerifyContext:
    """What items are verified with: files of this machine, and no duplicates."""
    return VerifyContext(partner=partner, files=Files(), clock=lambda: NOW)


@pytest.fixture
def wav(tmp_path: Path) -> Path:
    """A small WAV, whose credential is for the script to say."""
    path = tmp_path / "a.wav"
    path.write_bytes(WAV + bytes(8))
    return path


@dataclass
class LegBuilder:
    """Plans a run of WAV files in a folder, and makes its legs."""

    results: Results
    folder: Path
    service: Service

    def plan(self, items: int, *, batch_items: int = 1_000) -> Plan:
        """Write as many files, their planned items and their plan."""
        work = []
        for number in range(items):
            audio = self.folder / f"{number}.wav"
            audio.write_bytes(WAV + number.to_bytes(8, "big"))
            work.append(WorkItem(manifest_row=number, item_id=f"item-{number}", audio=str(audio)))
        plan = Plan(
            run_id=RUN,
            created_at=NOW.isoformat(),
            environment="beta",
            base_url="https://partner.example/v1",
            catalog=str(self.folder),
            catalog_kind="folder",
            catalog_digest="d",
            items=items,
            eligible=items,
            pairs=0,
            audio_bytes=items,
            batch_items=batch_items,
        )
        for number, batch in enumerate(plan.batches):
            columns = planned_columns(work[batch.start : batch.stop])
            content = parquet_of(ITEMS.empty_table().from_pydict(columns, schema=ITEMS))
            self.results.store.create(items_name(RUN, number), content)
        self.results.write_plan(plan)
        return plan

    def legs(self, plan: Plan) -> Legs:
        return Legs(self.results, plan, lambda: NOW)

    def leg(self, plan: Plan, held: HeldLeg | None = None, bounds: Bounds | None = None) -> Leg:
        """Make a leg of one that was begun, or begin the next one."""
        leg = Leg(
            self.service,
            self.results,
            plan,
            held or self.legs(plan).begin({}),
            bounds or Bounds(),
            known_good=known_good_items(self.service.settings),
            recovered=recovered_sidecars(self.results),
            dedupe=False,
            drain_seconds=12.0,
        )
        leg.completed.read()
        return leg


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(FolderStore(tmp_path / "results"))


@pytest.fixture
def plan() -> Plan:
    """A run of four rows, three of them eligible."""
    facts = {"environment": "sandbox", "catalog": "music", "catalog_kind": "folder", "eligible": 3}
    return plan_of_run("20261120T100000Z_aaaaaa", 4, **facts)


@pytest.fixture
def new_leg(results: Results, tmp_path: Path, opened: Service, monkeypatch: pytest.MonkeyPatch) -> LegBuilder:
    """Plan runs and make legs over this test's folder, whose probes wait for milliseconds."""
    monkeypatch.setattr(circuit_breaker, "FIRST_WAIT_SECONDS", 0.01)
    return LegBuilder(results, tmp_path, opened)
