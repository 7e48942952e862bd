"""Which rows of a catalog are due."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from proofsweep.config.sections import CatalogSettings, ServiceSettings
from proofsweep.domain.items import item_id_of
from proofsweep.sources.catalog import Catalog
from proofsweep.sources.open_catalog import open_catalog
from proofsweep.sources.selection import Selection
from proofsweep.store.layout import items_name
from proofsweep.store.objects import open_store
from proofsweep.store.parts import Results, table_of
from proofsweep.verify.plan import DueRows, Planner

from ...worlds.ended_runs import answered, end_leg, plan_of_run

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
AGES: dict[str, float] = {"a.wav": 40, "b.wav": 10, "d.wav": 20}
"""Days since the answer of each file that has one."""


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    for name in ("a.wav", "b.wav", "c.wav", "d.wav"):
        (tmp_path / name).write_bytes(b"RIFF")
    return open_catalog(str(tmp_path))


def due_of(catalog: Catalog, selection: Selection, max_calls: int | None = None) -> tuple[list[str], DueRows]:
    """Return the names of the rows that are due, and the catalog of them."""
    plan = plan_of_run("20261122T010000Z_000aa", items=4)
    answers = [
        answered(
            *(plan, row.number, item_id_of(row, catalog.name)),
            audio_version=row.audio_version,
            finished_at=NOW - timedelta(days=AGES[row.named_audio]),
        )
        for row in catalog.rows()
        if row.named_audio in AGES
    ]
    with TemporaryDirectory() as folder:
        results = Results(open_store(folder))
        end_leg(results, plan, answers)
        service = ServiceSettings(base_url="https://partner.example/v1", environment="beta")
        planner = Planner(results=results, service=service, catalogs=CatalogSettings(), clock=lambda: NOW)
        rows = DueRows(catalog, selection, planner, max_calls=max_calls)
        found = list(rows.rows())
    assert [row.number for row in found] == list(range(len(found)))
    return [row.named_audio for row in found], rows


def items_in(rows: DueRows) -> list[str]:
    with TemporaryDirectory() as folder:
        rows.listing.write(results := Results(open_store(folder)), "run")
        ids: list[str] = table_of(results.store.read(items_name("run", 0, "listed")) or b"")["item_id"].to_pylist()
        return ids


def test_the_rows_that_were_tried_longest_ago_come_first(catalog: Catalog) -> None:
    """A file takes two calls, and three are kept to begin. Those that never were tried come first; the others wait."""
    names, rows = due_of(catalog, Selection(oldest_first=True), 9)

    assert (names, rows.skipped) == (["c.wav", "a.wav", "d.wav"], 1)
    assert items_in(rows) == [item_id_of(row, catalog.name) for row in catalog.rows()]
    assert due_of(catalog, Selection(oldest_first=True), 1)[0] == ["c.wav"]


def test_an_answer_from_the_future_is_of_unknown_age(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock was ahead: the file is due by age, but it has its answer."""
    monkeypatch.setitem(AGES, "b.wav", -1_000)

    assert due_of(catalog, Selection(max_age="30d"))[0] == ["a.wav", "b.wav", "c.wav"]
    assert due_of(catalog, Selection(since_last=True))[0] == ["c.wav"]
