"""One process holds a lease at a time, and it is known whether it still does."""

import json
import multiprocessing
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.domain.errors import ResultsError, RunIsActive
from proofsweep.store import layout
from proofsweep.store.lease import (
    STALE_SECONDS,
    CatalogLease,
    Lease,
    LegProgress,
    Legs,
    leg_numbers,
    legs_of,
    open_legs,
    sole_process,
)
from proofsweep.store.objects import FolderStore, Store

from ...worlds.ended_runs import plan_of_run


@dataclass(slots=True)
class Clock:
    """A host's two clocks, which a test moves; something may happen while one waits."""

    now: datetime = field(default_factory=lambda: datetime(2026, 11, 20, 12, 0, tzinfo=UTC))
    uptime_seconds: float = 100.0
    meanwhile: Callable[[], None] = lambda: None

    def __call__(self) -> datetime:
        return self.now

    def move(self, seconds: float) -> None:
        self.uptime_seconds += seconds
        self.jump(seconds)

    def jump(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def rest(self, seconds: float) -> None:
        self.move(seconds)
        self.meanwhile()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lease(tmp_path: Path, clock: Clock) -> Lease:
    return Lease(FolderStore(tmp_path), "r", clock, clock.rest)


def held_by_another(lease: Lease, number: int = 1, **changes: object) -> None:
    """Give a term a holder that is this process but for some changes."""
    lease.take(9)
    holder = json.loads(lease.store.read("_runs/r/legs/009/lease.json") or b"")
    lease.release(9)
    lease.store.create(layout.lease_name("r", number), json.dumps(holder | changes).encode())


def test_a_term_is_superseded_by_the_next_one_or_by_its_receipt(lease: Lease) -> None:
    """Its process stops when it sees that, since another one does the same rows."""
    for leg in (1, 2, 3):
        lease.take(leg)
    lease.write_receipt(3, {"ended_by": "killed"})

    assert [lease.is_superseded(leg) for leg in (2, 3)] == [True, True]
    lease.take(4)
    assert not lease.is_superseded(4)


def test_a_leg_that_ends_while_it_is_listened_to_is_not_active(lease: Lease, clock: Clock) -> None:
    held_by_another(lease, machine="another")
    clock.jump(3_600)
    clock.meanwhile = lambda: lease.write_receipt(1, {"ended_by": "quota"}) if clock.uptime_seconds == 105 else None

    assert not lease.is_held(1)
    assert clock.uptime_seconds == 105


def gone_process() -> int:
    """Return the number of a process of this machine that has ended."""
    process = multiprocessing.get_context("spawn").Process(target=int)
    process.start()
    process.join()
    return process.pid or 0


ELSEWHERE = ({"host": "another-host", "machine": "another-host boot"}, {"machine": "host another-boot"})
"""What a lease says of a process whose number means nothing here: containers may share a host name."""


@pytest.mark.parametrize(
    ("changes", "seconds", "is_alive"),
    [
        ({}, 0, True),
        ({}, 30, True),
        ({}, 31, False),
        ({}, -3_600, False),  # from the future: a clock is wrong
        ({"mood": "good"}, 0, True),  # what is not known here is ignored
        ({"pid": None}, 0, False),  # gone from this machine, at once
        ({"process_started": "1"}, 0, False),  # the number is another process's by now
        *(({"pid": 2**22 + 1} | elsewhere, seconds, seconds == 0) for elsewhere in ELSEWHERE for seconds in (0, 31)),
    ],
)
def test_a_holder_is_alive_by_its_heartbeat_and_its_process(
    lease: Lease, clock: Clock, changes: dict[str, object], seconds: int, *, is_alive: bool
) -> None:
    """Of a process elsewhere the heartbeat alone tells."""
    held_by_another(lease, **changes | ({"pid": gone_process()} if "pid" in changes and not changes["pid"] else {}))
    clock.jump(seconds)

    opened = lease.open_term(1)
    assert opened is not None
    assert opened.is_alive is is_alive


@pytest.mark.parametrize("seconds", [-3 * 3_600, 0, 3 * 3_600])
@pytest.mark.parametrize("where", [{}, *ELSEWHERE])
def test_a_live_leg_is_heard_and_a_killed_one_is_taken_over(
    lease: Lease, clock: Clock, where: dict[str, str], seconds: int
) -> None:
    """Whatever the clocks say, its next heartbeat tells. If none comes, the wait is bounded."""
    held_by_another(lease, **where)
    lease.beat(1)
    clock.jump(seconds)
    clock.meanwhile = lambda: lease.beat(1) if clock.uptime_seconds >= 110 else None
    assert lease.is_held(1)

    clock.meanwhile = lambda: None
    clock.move(31)
    since = clock.uptime_seconds
    assert not lease.is_held(1)
    assert clock.uptime_seconds <= since + STALE_SECONDS + 1


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff"])
def test_a_lease_or_heartbeat_that_cannot_be_read_holds_nothing(lease: Lease, clock: Clock, content: bytes) -> None:
    """Somebody else may take the run over; a power cut may leave either empty."""
    lease.store.create("_runs/r/legs/001/lease.json", content)
    lease.take(2)
    lease.store.create("_runs/r/legs/002/heartbeat.json", content)
    clock.move(31)

    assert (lease.holder(1), lease.is_held(1)) == (None, False)
    opened = lease.open_term(2)
    assert opened is not None
    assert not opened.is_alive


def test_who_comes_while_a_lease_is_held_is_told_by_whom(lease: Lease) -> None:
    """The lease says what that means; a term that is over is taken over."""
    busy = replace(lease, busy="The shop is kept by {holder}.")

    with sole_process(busy):
        with pytest.raises(RunIsActive, match=rf"The shop is kept by process {os.getpid()} on "), sole_process(busy):
            pass
        with pytest.raises(RunIsActive, match="The shop is kept by process"):
            busy.take(1)
    assert busy.last_ended() == 1


def test_a_term_that_is_released_while_another_machine_waits_leaves_no_hole(lease: Lease, clock: Clock) -> None:
    """That machine takes its number: of a term without a lease nothing could be settled."""
    lease.take(1)
    lease.write_receipt(1, {})
    held_by_another(lease, number=2, machine="another")
    clock.meanwhile = lambda: lease.release(2)

    assert lease.last_ended() == 1


def test_old_terms_are_forgotten_and_a_process_that_held_one_has_lost_it(lease: Lease) -> None:
    """A folder that is looked at every ten minutes would have a listing of thousands."""
    for _ in range(102):
        with sole_process(lease):
            pass

    there = [number for number in range(1, 104) if lease.is_taken(number)]
    assert (there, lease.last_ended()) == ([*range(3, 103)], 102)
    assert lease.is_superseded(1)


@pytest.mark.parametrize("content", [b"[]", b"null", b"{"])
def test_a_receipt_that_is_no_object_is_damaged(lease: Lease, content: bytes) -> None:
    """It is not taken for none: the leg would seem to last."""
    lease.store.create(layout.receipt_name(lease.name, 1), content)

    with pytest.raises(ResultsError, match="it is not whole"):
        lease.receipt(1)


class OldListing(FolderStore):
    """A store whose listings show only the first term."""

    def folders(self, folder: str) -> list[str]:
        return super().folders(folder)[:1]


@pytest.mark.parametrize("kind", [FolderStore, OldListing])
@pytest.mark.parametrize("last", [0, 1, 3])
def test_the_last_term_is_the_last_that_was_taken(tmp_path: Path, kind: type[FolderStore], last: int) -> None:
    """Also where the listing does not show it yet."""
    store = kind(tmp_path)
    for number in range(1, last + 1):
        store.create(layout.lease_name("r", number), b"{}")
    (tmp_path / layout.leg_folder("r", last + 1)).mkdir(parents=True)  # no term yet: its process is about to take it

    assert Lease(store, "r").last() == last
    assert not Lease(store, "r").is_taken(last + 1)


A, B, C = (f"20261120T12000{number}Z_000aa" for number in range(3))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store with a run whose first leg was taken."""
    store = FolderStore(tmp_path)
    Legs(store, A).take(1)
    return store


@pytest.fixture
def catalog(store: Store) -> CatalogLease:
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

    assert catalog.last_ended() == f"{catalog._folder}/000000003.json"
    assert store.names(catalog._folder) == [catalog.last_ended()]


def test_what_a_file_server_leaves_beside_a_term_is_none(store: Store, catalog: CatalogLease) -> None:
    store.create(f"{catalog._folder}/Thumbs.db", b"")

    catalog.take(plan_of_run(A, 1), 1)

    assert store.names(catalog._folder) == [f"{catalog._folder}/{name}" for name in ("000000001.json", "Thumbs.db")]


def test_catalogs_and_environments_do_not_meet(store: Store, catalog: CatalogLease) -> None:
    catalog.take(plan_of_run(A, 1), 1)

    assert CatalogLease(store, "beta", "/other").last_ended() == ""
    assert CatalogLease(store, "production", "/music").last_ended() == ""


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


class LaggingStore(FolderStore):
    """A store whose listings stay as they were, as long as it is told so."""

    listed: "list[str] | None" = None

    def names(self, folder: str) -> list[str]:
        """Tell the old listing once, and then the true one."""
        listed, self.listed = self.listed, None
        return super().names(folder) if listed is None else listed


@pytest.fixture
def lagging(store: Store) -> LaggingStore:
    return LaggingStore(Path(store.url))


def test_partitions_that_begin_together_do_not_take_each_other_for_another_run(
    store: Store, catalog: CatalogLease, lagging: LaggingStore
) -> None:
    """One lists a term, which another leg of the run replaces and deletes before it is read."""
    plan = replace(plan_of_run(B, 900), partitions=3)
    for legs in legs_of(store, plan):
        legs.take(legs.first)
    catalog.take(plan, 1, "")
    lagging.listed = store.names(catalog._folder)
    catalog.take(plan, 2, "")

    CatalogLease(lagging, "beta", "/music").take(plan, 3, "")

    assert store.names(catalog._folder) == [f"{catalog._folder}/000000003.json"]


def test_a_leg_knows_its_own_term_though_no_listing_has_it_yet(store: Store, catalog: CatalogLease) -> None:
    """Else it would take the one before, of another run, for a newer one."""
    catalog.take(plan_of_run(A, 1), 1)
    end(store, A)
    Legs(store, B).take(1)
    before = store.names(catalog._folder)

    class Late(LaggingStore):
        def create(self, name: str, content: bytes) -> None:
            super().create(name, content)
            self.listed = before

    CatalogLease(Late(Path(store.url)), "beta", "/music").take(plan_of_run(B, 1), 1)

    assert store.names(catalog._folder) == [f"{catalog._folder}/000000002.json"]


@pytest.mark.parametrize("content", [b"", b"[]", b"{}"])
def test_a_term_that_cannot_be_read_keeps_nobody_out(catalog: CatalogLease, content: bytes) -> None:
    """A catalog must not be locked for ever."""
    catalog.store.create(f"{catalog._folder}/000000001.json", content)

    catalog.take(plan_of_run(A, 1), 1)


PROGRESS = LegProgress(rows=5_000, finished_before=1_200, counts={"accepted": 30}, rate=1.2345, waiting="a pause")


def progress_of(legs: Legs) -> LegProgress | None:
    opened = legs.open_leg()
    assert opened is not None
    assert opened.beaten_at > opened.holder.taken_at
    return opened.progress


@pytest.mark.parametrize(
    "document",
    [None, "text", {"rows": 5}, {"rows": 5, "counts": {"accepted": "x"}}, asdict(PROGRESS) | {"waiting": 3}],
)
def test_progress_that_cannot_be_understood_is_none(store: Store, document: object) -> None:
    """A display then says that nothing is known, and the sign of life still counts."""
    sign = {"at": datetime.now(UTC).isoformat(), "progress": document}
    store.create(layout.heartbeat_name(A, 1), json.dumps(sign).encode())

    assert progress_of(Legs(store, A)) is None
