"""A scripted service, a partner that asks it, and a leg over a folder; each test has its own."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from proofsweep.client import circuit_breaker
from proofsweep.client.call_queue import CallQueue
from proofsweep.client.client import Partner
from proofsweep.client.keys import CurrentKey
from proofsweep.client.pacer import Pacer
from proofsweep.client.scheduler import Dispatcher
from proofsweep.client.session import ClientContext, FirstContact, Session
from proofsweep.client.stop import StopSwitch
from proofsweep.config.sections import RetrySettings, ServiceSettings
from proofsweep.domain.exchanges import Exchange
from proofsweep.domain.items import Mode, WorkItem
from proofsweep.domain.runs import Bounds, Plan
from proofsweep.sources.files import Files
from proofsweep.store import schemas
from proofsweep.store.completed_rows import CompletedRows
from proofsweep.store.journal import Journal
from proofsweep.store.known_rows import PastAnswers
from proofsweep.store.legs import Legs
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results
from proofsweep.store.rows import RowContext, planned_row
from proofsweep.verify.attribution import Attribution
from proofsweep.verify.audit_trail import AuditTrail
from proofsweep.verify.budget import Budget
from proofsweep.verify.commit import LegParts
from proofsweep.verify.item import VerifyContext
from proofsweep.verify.known_files import KnownFiles
from proofsweep.verify.probes import Checks
from proofsweep.verify.session import Heartbeat, LegContext
from proofsweep.verify.threads import Workers

from .scripted_service import NOW, ScriptedService

RUN = "20261120T120000Z_000aa"
WAV = b"RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x08\0\0\0"


@pytest.fixture
def service() -> ScriptedService:
    """A service at which all is well, until a test scripts something else."""
    return ScriptedService()


@pytest.fixture
def stop() -> StopSwitch:
    """The leg's switch."""
    return StopSwitch()


@pytest.fixture
def partner(service: ScriptedService, stop: StopSwitch) -> Partner:
    """A partner that is fast, and retries within milliseconds."""
    context = ClientContext(
        service=ServiceSettings(base_url="https://partner.example/v1", environment="test", sidecar_field="sidecar"),
        transport=service,
        contact=FirstContact(service.reached),
        dispatcher=Dispatcher(CallQueue(Pacer(first_rate=10_000.0)), stop, longest_pause_seconds=1.0),
        key=CurrentKey(lambda: SecretStr("pk_test")),
        record_unattributed=lambda _exchange: None,
    )
    retry = RetrySettings(attempts=2, longest_wait_seconds=0.002)
    return Partner(Session(context, lambda _exchange: None, retry))


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
    """Plans a run of WAV files in a folder, and builds the context of one of its legs.

    Attributes:
        unattributed: exchanges that belong to no row.
        outage_seconds: how long checks may come out wrong.
    """

    results: Results
    folder: Path
    partner: Partner
    verify: VerifyContext
    stop: StopSwitch
    workers: Workers
    unattributed: list[Exchange] = field(default_factory=list)
    outage_seconds: float = 0.1

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
            rows = [planned_row(item) for item in work[batch.start : batch.stop]]
            self.results.write_items(RUN, number, schemas.ITEMS.empty_table().from_pylist(rows, schema=schemas.ITEMS))
        self.results.write_plan(plan)
        return plan

    def legs(self, plan: Plan) -> Legs:
        """The legs of a run, on this test's clock."""
        return Legs(self.results.store, plan.run_id, lambda: NOW)

    def leg(self, plan: Plan, number: int = 1, bounds: Bounds | None = None) -> LegContext:
        """Build the context of a leg; it is for the test to take it."""
        journal = Journal(self.results, plan.run_id, number, writer="w")
        partner = self.partner.in_new_session(self.unattributed.append)
        budget = Budget(bounds or Bounds(), partner.for_probes(), self.stop, lambda: NOW)
        completed = CompletedRows.load(self.results, plan)
        trail = AuditTrail(journal, budget, self.unattributed, completed)
        verify = replace(self.verify, partner=partner)
        attribution = Attribution(
            checks=Checks(verify, trail, KnownFiles(str(self.folder), PastAnswers(self.results, plan))),
            dispatcher=self.partner.session.context.dispatcher,
            stop=self.stop,
            mode=Mode.ONE_FILE,
            outage_seconds=self.outage_seconds,
        )
        return LegContext(
            plan=plan,
            leg=number,
            results=self.results,
            stop=self.stop,
            workers=self.workers,
            dispatcher=self.partner.session.context.dispatcher,
            verify=replace(verify, partner=partner.for_items()),
            completed=completed,
            parts=LegParts(self.results, plan, number),
            budget=budget,
            attribution=attribution,
            trail=trail,
            heartbeat=Heartbeat(
                legs=self.legs(plan),
                leg=number,
                flush=trail.flush,
                budget=budget,
                stop=self.stop,
                store_outage_seconds=1.0,
            ),
            row_context=RowContext(plan.run_id, number, plan.environment),
        )


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """An empty results store in a folder."""
    return Results(FolderStore(tmp_path / "results"))


@pytest.fixture
def new_leg(
    results: Results, tmp_path: Path, partner: Partner, verify_context: VerifyContext, monkeypatch: pytest.MonkeyPatch
) -> Iterator[LegBuilder]:
    """Plan runs and build legs over this test's folder, whose probes wait for milliseconds."""
    monkeypatch.setattr(circuit_breaker, "FIRST_WAIT_SECONDS", 0.01)
    workers = Workers(4)
    yield LegBuilder(results, tmp_path, partner, verify_context, partner.session.stop, workers)
    workers.shutdown()
