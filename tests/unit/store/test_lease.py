"""One process at a time makes passes over a watched folder, and one that was frozen learns that it lost it."""

import json
import os
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.domain.errors import RunIsActive
from proofsweep.store import layout
from proofsweep.store.holder import this_process
from proofsweep.store.lease import Lease, sole_process
from proofsweep.store.objects import FolderStore

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def lease(tmp_path: Path) -> Lease:
    return Lease(FolderStore(tmp_path), "r", "The shop is kept by {holder}.", lambda: NOW, lambda _: None)


def take_for_another(lease: Lease, number: int = 1, **changes: object) -> None:
    """Give a term a holder that is this process but for some changes."""
    holder = asdict(this_process(NOW, {})) | changes
    lease.store.create(layout.lease_name("r", number), json.dumps(holder, default=str).encode())


def test_who_comes_while_a_lease_is_held_is_told_by_whom(lease: Lease) -> None:
    with sole_process(lease, {}) as term:
        with pytest.raises(RunIsActive, match=rf"The shop is kept by process {os.getpid()} on "):
            lease.acquire({})
        assert not term.is_lost()
    assert lease.acquire({}).number == 2


@pytest.mark.parametrize("changes", [{"process_started": "earlier"}, {"machine": "another"}])
def test_the_term_of_a_process_that_is_gone_is_followed_by_the_next(lease: Lease, changes: dict[str, object]) -> None:
    """On this machine that is known at once, of another one after a silence."""
    take_for_another(lease, **changes)

    assert lease.acquire({}).number == 2


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff"])
def test_a_lease_that_cannot_be_read_keeps_nobody_out(lease: Lease, content: bytes) -> None:
    """A folder must not be locked for ever."""
    lease.store.create(layout.lease_name("r", 1), content)

    assert lease.acquire({}).number == 2


def test_a_process_that_was_frozen_learns_that_it_lost_the_folder(lease: Lease) -> None:
    """By the next term; also if a gateway let another process write over its own."""
    frozen = lease.acquire({})
    late = replace(lease, clock=lambda: NOW + timedelta(minutes=5))
    next_one = late.acquire({})

    assert (frozen.is_lost(), next_one.is_lost()) == (True, False)
    assert "The shop is kept by process" in str(frozen.lost_error())

    lease.store.delete(layout.lease_name("r", 2))
    take_for_another(lease, 2)
    assert next_one.is_lost()


def test_old_terms_are_forgotten_and_a_process_that_held_one_has_lost_it(lease: Lease) -> None:
    """A folder that is looked at every ten minutes would have a listing of thousands."""
    with sole_process(lease, {}) as first:
        pass
    for _ in range(101):
        with sole_process(lease, {}):
            pass

    there = [number for number in range(1, 104) if lease.holder(number) is not None]
    assert (there, lease.last()) == ([*range(3, 103)], 102)
    assert first.is_lost()


class OldListing(FolderStore):
    """A store whose listings show only the first term."""

    def folders(self, folder: str, after: str = "") -> list[str]:
        return super().folders(folder, after)[:1]


@pytest.mark.parametrize("kind", [FolderStore, OldListing])
@pytest.mark.parametrize("last", [0, 1, 3])
def test_the_last_term_is_the_last_that_was_taken(tmp_path: Path, kind: type[FolderStore], last: int) -> None:
    """Also where the listing does not show it yet."""
    lease = Lease(kind(tmp_path), "r", "", lambda: NOW)
    for number in range(1, last + 1):
        take_for_another(lease, number)
    (tmp_path / layout.leg_folder("r", last + 1)).mkdir(parents=True)  # no term yet: its process is about to take it

    assert lease.last() == last
