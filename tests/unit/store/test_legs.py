"""Of two runs of a catalog one makes calls; how far its leg is, is said in plain words."""

import json
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.domain.errors import RunIsActive
from proofsweep.store import layout
from proofsweep.store.lease import CatalogLease, LegProgress, Legs, leg_numbers, legs_of, open_legs
from proofsweep.store.objects import FolderStore, Store

from ...worlds.ended_runs import plan_of_run

A, B, C = (f"20261120T12000{number}Z_000aa" for number in range(3))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store with a run whose first leg was taken."""
    store = FolderStore(tmp_path)
    Legs(store, A).take(1)
    return store


@pytest.fixture
def catalog(store: Store) -> CatalogLease:
    """The lease of a catalog that nobody holds."""
    return CatalogLease(store, "beta", "/music")


def end(store: Store, run_id: str, leg: int = 1) -> None:
    Legs(store, run_id).write_receipt(leg, {"ended_by": "complete"})


def test_a_leg_that_ended_or_was_released_keeps_nobody_out(store: Store, catalog: CatalogLease) -> None:
    """Also its own run may take it again, with a leg that could not begin before."""
    catalog.take(plan_of_run(A, 1), 1)
    catalog.take(plan_of_run(A, 1), 1)
    end(store, A)

    Legs(store, B).take(1)
    catalog.take(plan_of_run(B, 1), 1)
    Legs(store, B).release(1)

    assert catalog.last_over() == f"{catalog._folder}/000000003.json"
    assert store.names(catalog._folder) == [catalog.last_over()]


def test_catalogs_and_environments_do_not_meet(store: Store, catalog: CatalogLease) -> None:
    """Each has a lease of its own."""
    catalog.take(plan_of_run(A, 1), 1)

    assert CatalogLease(store, "beta", "/other").last_over() == ""
    assert CatalogLease(store, "production", "/music").last_over() == ""


def test_legs_of_one_run_share_its_catalog_and_keep_others_out_while_one_is_alive(
    store: Store, catalog: CatalogLease
) -> None:
    """Each partition has legs of its own: of three, the second one has 2, 5, 8."""
    plan = replace(plan_of_run(B, 900), partitions=3)
    first, second, third = legs_of(store, plan)
    for legs in (second, first, second):
        legs.take(legs.after(legs.last()))
        catalog.take(plan, legs.last())

    for leg in (1, 2):
        first.write_receipt(leg, {"ended_by": "complete"})

    assert leg_numbers(store, plan) == [1, 2, 5]
    assert [leg.leg for leg in open_legs(store, plan)] == [5]
    assert third.after(third.last()) == 3
    with pytest.raises(RunIsActive, match="Leg 5 of run"):
        catalog.take(plan_of_run(C, 1), 1)


class SlowStore(FolderStore):
    """A store whose process sleeps before it takes a catalog, while other runs come and go."""

    def create(self, name: str, content: bytes) -> None:
        """Let run B work and end, and run C begin, before this term is written."""
        if "/000000002.json" in name:
            others = FolderStore(Path(self.url))
            catalog = CatalogLease(others, "beta", "/music")
            Legs(others, B).take(1)
            catalog.take(plan_of_run(B, 1), 1)
            end(others, B)
            Legs(others, C).take(1)
            catalog.take(plan_of_run(C, 1), 1)
        super().create(name, content)


def test_a_process_that_slept_before_it_took_a_catalog_does_not_join_in(store: Store, catalog: CatalogLease) -> None:
    """The term that it would have taken is gone by then, so its name is free; the last one counts."""
    catalog.take(plan_of_run(A, 1), 1)
    end(store, A)
    slow = SlowStore(Path(store.url))
    run = "20261120T120009Z_000aa"
    Legs(slow, run).take(1)

    with pytest.raises(RunIsActive, match=f"run {C}"):
        CatalogLease(slow, "beta", "/music").take(plan_of_run(run, 1), 1)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}"])
def test_a_term_that_cannot_be_read_keeps_nobody_out(catalog: CatalogLease, content: bytes) -> None:
    """A catalog must not be locked for ever."""
    catalog.store.create(f"{catalog._folder}/000000001.json", content)

    catalog.take(plan_of_run(A, 1), 1)


PROGRESS = LegProgress(
    rows=5_000,
    finished_before=1_200,
    counts={"accepted": 30, "rejected": 4},
    rate=1.2345,
    calls=70,
    seconds_left=3050.3,
    lane_rate=2.6,
    quota_left=400,
    waiting="the service asked for a pause until 03:12:00 UTC",
)


def progress_of(legs: Legs) -> LegProgress | None:
    opened = legs.open_leg()
    assert opened is not None
    assert opened.beaten_at > opened.holder.taken_at
    return opened.progress


def test_progress_is_read_as_it_was_written(store: Store) -> None:
    """In the JSON of a heartbeat."""
    legs = Legs(store, A)
    legs.beat(1, PROGRESS)

    assert progress_of(legs) == PROGRESS


@pytest.mark.parametrize(
    "document",
    [None, "text", {"rows": 5}, {"rows": 5, "counts": {"accepted": "x"}}, asdict(PROGRESS) | {"waiting": 3}],
)
def test_progress_that_cannot_be_understood_is_none(store: Store, document: object) -> None:
    """A display then says that nothing is known, and the sign of life still counts."""
    sign = {"at": datetime.now(UTC).isoformat(), "progress": document}
    store.create(layout.heartbeat_name(A, 1), json.dumps(sign).encode())

    assert progress_of(Legs(store, A)) is None
