"""What passes over a watched folder remember."""

import json
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.domain.errors import ResultsError, RunIsActive
from proofsweep.domain.items import Declared, WorkItem
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.ingest.folder_state import FolderState
from proofsweep.ingest.move import FileMove, Move
from proofsweep.ingest.records import sightings_after
from proofsweep.ingest.rules import Disposition, Sighting
from proofsweep.store.layout import INGEST_FOLDER
from proofsweep.store.lease import Term
from proofsweep.store.objects import Store, open_store

from ...worlds.core import next_term
from .conftest import ANSWER

NAME = "0123456789abcdef"
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "results")).below(INGEST_FOLDER)


@pytest.fixture
def term(store: Store) -> Term:
    return next_term(store, NAME)


def test_what_was_saved_is_loaded(term: Term) -> None:
    """Times keep their zone, and names that are not UTF-8 keep their bytes."""
    item = WorkItem(
        manifest_row=3,
        item_id="i",
        audio="/in/\udcff.wav",
        sidecar="/in/a.sidecar",
        declared=Declared(size_bytes=3, digests={"md5": "aa"}),
        ineligible=Ineligible(Reason.EMPTY, "It is empty."),
    )
    files = (
        FileMove(source="/in/a.sidecar", target="/ok/a.sidecar", sha256="bb", owns=False),
        FileMove(source="/in/\udcff.wav", target="/ok/\udcff.wav", sha256="aa"),
    )
    items = ((item, replace(ANSWER, finished_at=NOW)),)
    state = FolderState(
        term=term,
        sightings={
            "a": Sighting(version="v1|None", since=NOW),
            "b\udcff": Sighting(version="v2|\udcff", since=NOW, tries=2, retry_at=NOW),
            "c": Sighting(version="v3|None", since=NOW, answer=replace(ANSWER, outcome="ineligible", finished_at=NOW)),
        },
        spoken={"d": "list"},
        asks_held=True,
        runs=["20261122T120000Z_000aa"],
    )
    assert FolderState.load(term) == FolderState(term=term)

    state.save()
    state.note_moves([Move(files=files, items=items, disposition=Disposition.ACCEPTED, folder="/in", part="part")])
    state.hold([Move(files=files, items=items, disposition=Disposition.QUARANTINED, folder="/in")])

    assert FolderState.load(term) == state
    following = next_term(term.lease.store, NAME)
    loaded = FolderState.load(following)
    assert loaded == replace(state, term=following)
    assert FolderState.load(following) == loaded  # of its own documents, since those of the term before are gone


def test_a_process_that_was_frozen_overwrites_nothing(term: Term) -> None:
    """Another one has taken the folder over meanwhile, and opened a run."""
    frozen = FolderState.load(term)
    frozen.open_run("r1")
    following = FolderState.load(next_term(term.lease.store, NAME))
    following.open_run("r2")

    with pytest.raises(RunIsActive):
        frozen.close_run("r1")

    # Also if it wakes up when it has just looked at the lease.
    name = f"{frozen.folder}/state.json"
    term.lease.store.replace(name, b"{}")
    assert FolderState.load(next_term(term.lease.store, NAME)).runs == ["r1", "r2"]


def test_what_an_earlier_version_saved_is_loaded(term: Term) -> None:
    """It wrote one document for all terms, in which all moves had one part."""
    store = term.lease.store
    move = {"files": [asdict(FileMove(source="/in/a", target="/ok/a", sha256="aa"))], "items": []}
    move |= {"disposition": "accepted", "folder": "/in"}
    cells = {"sightings": {}, "part": "p", "moves": [move], "runs": ["r1"], "spoken": {}, "asks_held": False}
    store.replace(f"{NAME}/state.json", json.dumps(cells).encode())

    state = FolderState.load(term)

    assert state.runs == ["r1"]
    assert [moved.part for moved in state.moves] == ["p"]
    assert store.read(f"{NAME}/state.json") is None
    following = next_term(store, NAME)
    assert FolderState.load(following) == replace(state, term=following)


FAILED = {
    "item_id": "a",
    "audio": "/in/a.wav",
    "audio_version": "v1",
    "sidecar_version": None,
    "outcome": "failed",
    "reason": "timeout",
    "tags": None,
    "tries": 1,
    "first_seen_at": NOW,
    "retry_at": NOW,
    "acted_at": NOW,
}


@pytest.mark.parametrize(
    ("known", "is_kept"),
    [
        (Sighting(version="v1|None", since=NOW), False),
        (Sighting(version="v1|None", since=NOW, tries=1, retry_at=NOW), False),
        (Sighting(version="v1|None", since=NOW, tries=2, retry_at=NOW), True),
        (Sighting(version="v2|None", since=NOW), True),
    ],
)
@pytest.mark.parametrize("outcome", ["failed", "accepted"])
def test_rows_of_an_old_leg_change_nothing(known: Sighting, outcome: str, *, is_kept: bool) -> None:
    """Those of a run in doubt are read in each pass, also when the file was tried again or is another one."""
    place = "/in/a.wav"
    waiting = sightings_after([FAILED | {"outcome": outcome}], {place: known}, NOW)

    failed = {} if outcome == "accepted" else {place: Sighting(version="v1|None", since=NOW, tries=1, retry_at=NOW)}
    assert waiting == ({place: known} if is_kept else failed)


@pytest.mark.parametrize("content", [b"not JSON", b"[]", b"{}", b'{"sightings": {"a": {"version": "v"}}}'])
def test_what_cannot_be_understood_stops_a_pass(term: Term, content: bytes) -> None:
    """Nobody else knows which moves were begun."""
    term.lease.store.replace(f"{FolderState.load(term).folder}/state.json", content)

    with pytest.raises(ResultsError, match=r"state\.json .* is damaged"):
        FolderState.load(term)
