"""What passes over a watched folder remember."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import Declared, WorkItem
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.ingest.move import FileMove, Move
from proofsweep.ingest.rules import Disposition, Sighting
from proofsweep.ingest.state import FolderState, sightings_after
from proofsweep.store.layout import INGEST_FOLDER
from proofsweep.store.objects import Store, open_store

from .conftest import ANSWER

NAME = "0123456789abcdef"
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "results")).below(INGEST_FOLDER)


def test_what_was_saved_is_loaded(store: Store) -> None:
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
        store=store,
        name=NAME,
        sightings={
            "a": Sighting(version="v1|None", since=NOW),
            "b\udcff": Sighting(version="v2|\udcff", since=NOW, tries=2, retry_at=NOW),
            "c": Sighting(version="v3|None", since=NOW, answer=replace(ANSWER, outcome="ineligible", finished_at=NOW)),
        },
        part="part",
        moves=(Move(files=files, items=items, disposition=Disposition.ACCEPTED, folder="/in"),),
        runs=["20261122T120000Z_000aa"],
    )
    assert FolderState.load(store, NAME) == FolderState(store=store, name=NAME)

    state.save()

    assert FolderState.load(store, NAME) == state


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
def test_what_cannot_be_understood_stops_a_pass(store: Store, content: bytes) -> None:
    """Nobody else knows which moves were begun."""
    store.replace(f"{NAME}/state.json", content)

    with pytest.raises(ResultsError, match=r"state\.json .* is damaged"):
        FolderState.load(store, NAME)
