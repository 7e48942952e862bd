"""What passes over a watched folder remember."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import WorkItem
from proofsweep.ingest.moves import FileMove, Move, MovedItem
from proofsweep.ingest.rules import Disposition, Sighting
from proofsweep.ingest.state import Watch
from proofsweep.store.layout import INGEST_FOLDER
from proofsweep.store.objects import open_store

from .conftest import ANSWER

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.fixture
def watch(tmp_path: Path) -> Watch:
    return Watch(open_store(str(tmp_path / "results" / INGEST_FOLDER)), "0123456789abcdef")


def test_waiting_files_are_read_as_they_were_kept(watch: Watch) -> None:
    """Times keep their zone, and names that are not UTF-8 keep their bytes."""
    kept = {
        "a": Sighting(version="v1|None", since=NOW),
        "b\udcff": Sighting(version="v2|\udcff", since=NOW, tries=2, retry_at=NOW),
        "c": Sighting(version="v3|None", since=NOW, answer=replace(ANSWER, outcome="ineligible", verified_at=NOW)),
    }

    watch.keep(kept)

    assert watch.sightings() == kept


@pytest.mark.parametrize("content", [b"not JSON", b"[]", b'{"a": 1}', b'{"a": {"version": "v"}}'])
def test_what_cannot_be_understood_counts_as_nothing(watch: Watch, content: bytes) -> None:
    """It is derived: files only wait anew."""
    watch.store.replace(f"{watch.name}/sightings.json", content)

    assert watch.sightings() == {}


def test_open_runs_are_listed_until_they_are_closed(watch: Watch) -> None:
    for run_id in ("20261122T120000Z_000aa", "20261121T120000Z_000aa"):
        watch.open_run(run_id)
    assert watch.open_runs() == ["20261121T120000Z_000aa", "20261122T120000Z_000aa"]

    watch.close_run("20261121T120000Z_000aa")
    watch.close_run("20261121T120000Z_000aa")

    assert watch.open_runs() == ["20261122T120000Z_000aa"]


def test_moves_are_kept_until_they_are_ended(watch: Watch) -> None:
    """Names that are not UTF-8 keep their bytes."""
    item = WorkItem(manifest_row=3, item_id="i", audio="/in/\udcff.wav", sidecar="/in/a.sidecar")
    files = (
        FileMove(source="/in/a.sidecar", target="/ok/a.sidecar", sha256="bb", owns=False),
        FileMove(source="/in/\udcff.wav", target="/ok/\udcff.wav", sha256="aa"),
    )
    moved = MovedItem(item=item, answer=replace(ANSWER, verified_at=NOW), disposition=Disposition.ACCEPTED)
    move = Move(files=files, items=(moved,), folder="/in")

    watch.keep_moves("part", [move])
    kept = watch.moves()
    watch.keep_moves("part", [])

    assert (kept, watch.moves()) == (("part", [move]), (None, []))


def test_moves_that_cannot_be_understood_stop_a_pass(watch: Watch) -> None:
    """Nobody else knows what was begun."""
    watch.store.replace(f"{watch.name}/moves.json", b"{}")

    with pytest.raises(ResultsError, match=r"moves\.json .* is damaged"):
        watch.moves()
