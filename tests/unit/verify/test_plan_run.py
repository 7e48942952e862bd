"""A run is planned by its catalog: shards first, then the plan, which makes it exist."""

from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from proofsweep.domain.errors import CatalogError, ConfigError
from proofsweep.sources.open_catalog import open_catalog
from proofsweep.sources.preflight import SizeLimits
from proofsweep.sources.selection import Selection
from proofsweep.store import layout
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results
from proofsweep.verify.due_rows import DueRows
from proofsweep.verify.plan import PlanRequest, Survey, plan_run

from ..scripted_service import NOW


class OrderedStore(FolderStore):
    """A store that notes what is created, in order."""

    def __init__(self, root: Path) -> None:
        """Begin with nothing."""
        super().__init__(root)
        self.created: list[str] = []

    def create(self, name: str, content: bytes) -> None:
        """Note it."""
        self.created.append(name)
        super().create(name, content)


def request_for(catalog: Path, before_writing: Callable[[Survey], object] = lambda _survey: None) -> PlanRequest:
    """Ask for a run of a manifest or folder."""
    return PlanRequest(
        catalog=open_catalog(str(catalog)),
        limits=SizeLimits(one_file=100),
        environment="beta",
        base_url="https://partner.example/v1",
        before_writing=lambda survey: before_writing(survey) and None,
    )


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    """A manifest of 2,345 rows, of which every thousandth names no audio."""
    (tmp_path / "a.wav").write_bytes(b"audio")
    path = tmp_path / "m.csv"
    cells = ["" if number % 1_000 == 0 else "a.wav" for number in range(2_345)]
    path.write_text("audio,id\n" + "".join(f"{audio},n{number}\n" for number, audio in enumerate(cells)))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of a file, a pair, an empty file, one that is too large, and an image."""
    folder = tmp_path / "music"
    folder.mkdir()
    for name, size in {"a.wav": 10, "b.mp3": 20, "c.wav": 0, "d.wav": 101, "cover.png": 7}.items():
        (folder / name).write_bytes(bytes(size))
    (folder / "b.mp3.sidecar").write_bytes(b"proof")
    return folder


def test_every_row_is_planned_once_and_in_order(manifest: Path, results: Results) -> None:
    """In shards of a thousand; what cannot be sent is planned with its reason."""
    plan = plan_run(request_for(manifest), results, NOW)

    shards = [results.shard_items(plan.run_id, shard) for shard in range(plan.shards)]
    assert [len(shard) for shard in shards] == [1_000, 1_000, 345]
    items = [item for shard in shards for item in shard]
    assert [item.manifest_row for item in items] == list(range(2_345))
    assert [item.item_id for item in items] == [f"n{number}" for number in range(2_345)]
    assert [item.manifest_row for item in items if item.ineligible] == [0, 1_000, 2_000]


def test_the_plan_is_written_last(manifest: Path, tmp_path: Path) -> None:
    """Until it is there, the run is not: a planning that breaks off leaves nothing that anybody takes for a run."""
    store = OrderedStore(tmp_path / "results")

    plan = plan_run(request_for(manifest), Results(store), NOW)

    shards = [layout.shard_name(plan.run_id, shard) for shard in range(3)]
    assert store.created == [*shards, layout.plan_name(plan.run_id)]


def test_a_run_that_leaves_rows_out_keeps_what_the_catalog_lists(manifest: Path, tmp_path: Path) -> None:
    """Before its plan; which files a catalog has is then known without all its rows."""
    store, request = OrderedStore(tmp_path / "results"), request_for(manifest)
    due = DueRows(
        request.catalog,
        Selection(oldest_first=True),
        limits=request.limits,
        answered_at=lambda *_: None,
        tried_at=lambda *_: None,
        now=NOW,
        max_calls=7,
    )

    plan = plan_run(replace(request, catalog=due), Results(store), NOW)

    listed = pq.read_table(BytesIO(store.read(layout.listed_name(plan.run_id, 0)) or b""))
    assert listed["item_id"].to_pylist() == [f"n{number}" for number in range(2_345)]
    assert (plan.items, plan.skipped) == (2, 2_343)
    assert store.created[1:] == [layout.listed_name(plan.run_id, 0), layout.plan_name(plan.run_id)]


def test_the_plan_counts_what_the_catalog_holds(folder: Path, results: Results) -> None:
    """Items by reason, bytes of those that will be sent, and what gave no item."""
    plan = plan_run(request_for(folder), results, NOW)

    assert plan == results.plan(plan.run_id)
    assert (plan.items, plan.eligible, plan.pairs, plan.audio_bytes) == (4, 2, 1, 30)
    assert plan.reasons == {"empty": 1, "too_large": 1}
    assert plan.ignored == {"not_audio": 1}
    assert (plan.catalog, plan.catalog_kind, plan.environment) == (str(folder), "folder", "beta")
    assert plan.run_id.startswith("20261120T120000Z_000")
    assert plan.created_at == NOW.isoformat()


def test_what_speaks_against_a_run_is_heard_before_it_is_written(folder: Path, tmp_path: Path) -> None:
    """It is asked with the whole count, and what it raises leaves the store untouched."""
    store, counts = OrderedStore(tmp_path / "results"), []

    def refuse(survey: Survey) -> None:
        counts.append((survey.items, survey.pairs))
        raise ConfigError("Not tonight.")

    with pytest.raises(ConfigError, match="Not tonight"):
        plan_run(request_for(folder, refuse), Results(store), NOW)

    assert counts == [(4, 1)]
    assert store.created == []
    assert not (tmp_path / "results").exists()


def test_an_empty_catalog_is_no_run(tmp_path: Path) -> None:
    """Nothing is written."""
    (tmp_path / "m.csv").write_text("audio\n")
    store = OrderedStore(tmp_path / "results")

    with pytest.raises(CatalogError):
        plan_run(request_for(tmp_path / "m.csv"), Results(store), NOW)

    assert store.created == []


def test_runs_of_the_same_moment_have_names_of_their_own(folder: Path, results: Results) -> None:
    """Two people may begin in the same millisecond."""
    runs = {plan_run(request_for(folder), results, NOW).run_id for _ in range(3)}

    assert sorted(runs) == results.store.folders("_runs")
    assert len(runs) == 3
