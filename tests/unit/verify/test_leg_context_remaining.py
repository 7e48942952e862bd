"""What remains of a run is what stands in no part of any leg."""

from pathlib import Path

import pytest

from proofsweep.domain.runs import Slice
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results
from proofsweep.verify.session import RemainingItems

from ..conftest import LegBuilder
from ..left_behind import write_journal, write_part


class ListeningStore(FolderStore):
    """A store that notes which shards are read."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.shards: list[str] = []

    def read(self, name: str) -> bytes | None:
        self.shards += [Path(name).stem] if "/shards/" in name else []
        return super().read(name)


def numbers(remaining: RemainingItems, piece: Slice) -> list[int]:
    return [item.manifest_row for item in remaining.items(piece)]


def test_rows_in_parts_of_any_leg_are_left_out(results: Results, new_leg: LegBuilder) -> None:
    """Whichever leg finished them, and in whichever order."""
    plan = new_leg.plan(6, shard_items=3)
    write_part(results, plan, 1, 0, [1])
    write_part(results, plan, 2, 0, [0])
    write_part(results, plan, 2, 1, [5])

    remaining = RemainingItems(results, plan)

    assert numbers(remaining, Slice(0, 0, 3)) == [2]
    assert numbers(remaining, Slice(1, 0, 3)) == [3, 4]
    assert numbers(remaining, Slice(1, 1, 2)) == [4]


def test_what_is_in_a_journal_alone_remains(results: Results, new_leg: LegBuilder) -> None:
    """A leg that ends makes parts of it; until then nothing is certain."""
    plan = new_leg.plan(2)
    write_journal(results, plan, 1, [0])

    assert numbers(RemainingItems(results, plan), Slice(0, 0, 2)) == [0, 1]


def test_a_large_run_is_cut_into_shards(results: Results, new_leg: LegBuilder) -> None:
    """A shard that lacks a single row is a slice; a whole one is none."""
    plan = new_leg.plan(205, shard_items=101)
    write_part(results, plan, 1, 0, range(100))
    write_part(results, plan, 1, 1, range(101, 202))

    assert RemainingItems(results, plan).slices() == [Slice(0, 0, 101), Slice(2, 0, 3)]


@pytest.mark.parametrize(("shard_items", "read"), [(3, ["00000"]), (2, ["00000", "00000", "00001"])])
def test_only_a_run_of_one_shard_keeps_its_items(
    new_leg: LegBuilder, tmp_path: Path, shard_items: int, read: list[str]
) -> None:
    """It is read once for all its slices; of many shards none is kept in memory."""
    plan = new_leg.plan(3, shard_items=shard_items)
    store = ListeningStore(tmp_path / "results")
    remaining = RemainingItems(Results(store), plan)

    found = [numbers(remaining, piece) for piece in remaining.slices()]

    assert found == [[0], [1], [2]]
    assert store.shards == read
