"""A run is planned by its catalog: its items first, then the plan, which makes it exist."""

from pathlib import Path

import pytest

from proofsweep.config.sections import CatalogSettings, ServiceSettings
from proofsweep.sources.open_catalog import open_catalog
from proofsweep.sources.selection import ALL_ROWS
from proofsweep.store import layout
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results
from proofsweep.verify.plan import Planner

from ..scripted_service import NOW


class OrderedStore(FolderStore):
    created: tuple[str, ...] = ()

    def create(self, name: str, content: bytes) -> None:
        self.created += (name,)
        super().create(name, content)


@pytest.fixture
def manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A manifest of 2,345 rows, of which every thousandth names no audio."""
    monkeypatch.setattr("proofsweep.domain.runs.BATCH_ITEMS", 1_000)
    (tmp_path / "a.wav").write_bytes(b"audio")
    path = tmp_path / "m.csv"
    cells = ["" if number % 1_000 == 0 else "a.wav" for number in range(2_345)]
    path.write_text("audio,id\n" + "".join(f"{audio},n{number}\n" for number, audio in enumerate(cells)))
    return path


def test_every_row_is_planned_once_and_in_order_and_the_plan_is_written_last(manifest: Path, tmp_path: Path) -> None:
    """In objects of so many; what cannot be sent is planned with its reason.

    A planning that breaks off leaves nothing that anybody takes for a run.
    """
    results = Results(store := OrderedStore(tmp_path / "results"))
    service = ServiceSettings(base_url="https://partner.example/v1", environment="beta", sidecar_field="sidecar")
    planner = Planner(results=results, service=service, catalogs=CatalogSettings(), clock=lambda: NOW)

    plan = planner.plan(open_catalog(str(manifest)), ALL_ROWS, lambda: None)

    batches = [list(results.items(plan, batch)) for batch in plan.batches]
    assert [len(batch) for batch in batches] == [1_000, 1_000, 345]
    planned = (*(layout.items_name(plan.run_id, number) for number in range(3)), layout.plan_name(plan.run_id))
    assert store.created[:4] == planned  # an index of all runs follows
    items = list(results.items(plan))
    assert [item.manifest_row for item in items] == list(range(2_345))
    assert [item.item_id for item in items] == [f"n{number}" for number in range(2_345)]
    assert [item.manifest_row for item in items if item.ineligible] == [0, 1_000, 2_000]
