"""A watched folder with passes over it, and legs that are played instead of worked on."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from secrets import token_hex
from zlib import crc32

import pytest

from proofsweep.config.sections import CatalogSettings, IngestSettings, ServiceSettings
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.items import Row, WorkItem
from proofsweep.domain.runs import Plan, new_run_id
from proofsweep.files.files import Files
from proofsweep.files.moving import Moves
from proofsweep.ingest.disposal import Disposal
from proofsweep.ingest.folder_state import FolderState
from proofsweep.ingest.one_pass import IngestPass
from proofsweep.ingest.records import IngestContext
from proofsweep.ingest.rules import Disposition, PastAnswer
from proofsweep.ingest.watched_folder import WatchedFolder
from proofsweep.sources.catalog import Catalog
from proofsweep.sources.open_catalog import open_catalog
from proofsweep.sources.selection import ALL_ROWS
from proofsweep.store import layout
from proofsweep.store.journal import CompletedRows
from proofsweep.store.lease import Lease, Term
from proofsweep.store.legs import Legs
from proofsweep.store.parts import Results
from proofsweep.store.rows import empty_row
from proofsweep.verify.commit import LegParts, commit_leg
from proofsweep.verify.plan import Planner

from ...worlds.ddex_messages import Sending, Track, put_release, sent

WAV = b"RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x08\0\0\0"

SETTINGS = IngestSettings(settle_seconds=10, pair_seconds=0)
CELLS = ("manifest_row", "item_id", "audio", "sidecar", "audio_version", "sidecar_version")
ANSWER = PastAnswer(
    run_id="r",
    leg=1,
    item_id="i",
    outcome="accepted",
    reason=None,
    audio_bytes=100,
    audio_version="v1",
    audio_sha256="aa",
    sidecar_version="s1",
    sidecar_sha256="bb",
)


@dataclass
class Watched:
    """A watched folder whose clock moves only when a pass waits or a test says so."""

    root: Path
    results: Results
    now: datetime = datetime(2026, 11, 22, 12, tzinfo=UTC)
    # By file name, as `rejected unregistered`; None for no answer.
    outcomes: dict[str, str | None] = field(default_factory=dict)
    given: dict[str, str] = field(default_factory=dict)  # the last outcome of each name; one of a touched file stays
    sent: list[str] = field(default_factory=list)
    rested: list[float] = field(default_factory=list)
    planned: list[str] = field(default_factory=list)
    meanwhile: Callable[[], object] = lambda: None  # happens while a pass waits
    settings: IngestSettings = SETTINGS
    is_stopped: bool = False
    accepted: str | None = "ok"  # where accepted files are moved
    sidecar_field: str | None = "sidecar"
    service_ahead: timedelta = timedelta()  # how far the service's clock is
    term: Term | None = None  # of this process; all passes are its own

    @property
    def folder(self) -> Path:
        return self.root / "in"

    @property
    def state(self) -> FolderState:
        return FolderState.load(self._own_term())

    def deliver(self, name: str, content: bytes = WAV + bytes(8)) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def later(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def context(self) -> IngestContext:
        return IngestContext(
            results=self.results,
            environment="beta",
            settings=self.settings,
            sidecar_field=self.sidecar_field,
            open_catalog=self._open,
            plan=self._plan,
            clock=lambda: self.now,
            new_run_id=lambda: new_run_id(self.now, token_hex(3)),
            rest=self._rest,
            is_stopped=lambda: self.is_stopped,
        )

    def new_pass(self, *, moves: bool = True) -> IngestPass:
        targets = {Disposition.QUARANTINED: str(self.root / "bad")}
        if self.accepted is not None:
            targets[Disposition.ACCEPTED] = str(self.root / self.accepted)
        disposal = Disposal(moves=Moves(Files()), watched=str(self.folder), targets=targets if moves else {})
        term = self._own_term()
        return IngestPass(WatchedFolder(context=self.context(), lease=term.lease, term=term, disposal=disposal))

    def _own_term(self) -> Term:
        self.term = self.term or Lease(self.results.store, "watched", "busy").acquire({})
        return self.term

    def run_pass(self, *, moves: bool = True) -> IngestPass:
        one = self.new_pass(moves=moves)
        for run_id in one.runs():
            self.play_leg(run_id)
        return one

    def play_leg(self, run_id: str) -> None:
        """Give the rows of a run their outcomes, as far as they have one, and settle the leg."""
        plan = self.results.plan(run_id)
        leg = Legs(self.results, plan, lambda: self.now).begin({}).number
        remaining = list(CompletedRows.load(self.results, plan).items())
        rows = [row for item in remaining if (row := self._row(plan, leg, item)) is not None]
        if rows:
            self.results.create_part(layout.part_name("verdicts", run_id, plan.run_date, 0, leg), "verdicts", rows)
        ended_by = EndedBy.COMPLETE if len(rows) == len(remaining) else EndedBy.QUOTA
        commit_leg(LegParts.found(self.results, plan, leg), ended_by, {})

    def _row(self, plan: Plan, leg: int, item: WorkItem) -> Row | None:
        audio = Path(item.audio)
        known = self.outcomes.get(audio.name, "accepted")
        if known is None:
            return None
        if item.is_touched:
            known = self.given[audio.name]
        else:
            self.sent.append(audio.name)
        self.given[audio.name] = known
        refused = item.ineligible
        outcome, _, reason = known.partition(" ") if refused is None else ("ineligible", "", refused.reason)
        sidecar = None if item.sidecar is None else Path(item.sidecar)
        return empty_row("verdicts") | {
            "run_id": plan.run_id,
            "leg": leg,
            "environment": "beta",
            **{name: getattr(item, name) for name in CELLS},
            "audio_bytes": audio.stat().st_size if audio.exists() else None,
            "audio_sha256": hashlib.sha256(audio.read_bytes()).hexdigest() if audio.exists() else None,
            "sidecar_sha256": None if sidecar is None else hashlib.sha256(sidecar.read_bytes()).hexdigest(),
            "outcome": outcome,
            "accepted": outcome == "accepted",
            "action": "accept",
            "reason": reason or {"rejected": "tampered", "failed": "timeout"}.get(outcome),
            "verify_attempts": 1,
            "calls": 2,
            "finished_at": self.now + self.service_ahead,
        }

    def deliver_release(self, place: str, *, is_test: bool = False, **audio: bytes) -> None:
        """Write a release's message, its cover and its audio, whose names have no endings here; no completion file."""
        files = {f"resources/{name}.wav": content for name, content in audio.items()}
        sending = Sending(
            version="43",
            message_id=f"M-{place}",
            thread_id=f"T-{place}",
            icpn=f"{crc32(place.encode()):013}",
            is_test=is_test,
            tracks=[Track(isrc="QZABC2600001", files=[sent(*each)]) for each in files.items()],
            images=["resources/cover.jpg"],
        )
        put_release(self.folder / place, sending, files | {"resources/cover.jpg": b"\xff\xd8 cover"})

    def _open(self, location: str) -> Catalog:
        return open_catalog(location, CatalogSettings(sidecar_names=("{name}.sidecar",)))

    def _plan(self, catalog: Catalog, run_id: str) -> Plan:
        self.planned.append(run_id)
        url = "https://partner.example/v1"
        planner = Planner(
            results=self.results,
            service=ServiceSettings(base_url=url, environment="beta", sidecar_field=self.sidecar_field),
            catalogs=CatalogSettings(),
            clock=lambda: self.now,
        )
        return planner.plan(catalog, ALL_ROWS, lambda: None, run_id)

    def _rest(self, seconds: float) -> None:
        self.rested.append(seconds)
        self.meanwhile()
        self.later(seconds)


@pytest.fixture
def watched(tmp_path: Path, results: Results) -> Watched:
    (tmp_path / "in").mkdir()
    return Watched(tmp_path, results)
