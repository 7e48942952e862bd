"""A store that is only looked at."""

from collections.abc import Callable
from pathlib import Path

import pytest

from proofsweep.errors import ResultsError
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.read_only import read_only
from proofsweep.store.run_index import RunIndex
from proofsweep.store.store import Store

from ..ended_runs import end_leg, plan_of_run

WRITES: dict[str, Callable[[Store], None]] = {
    "create": lambda store: store.create("a/b.json", b"{}"),
    "replace": lambda store: store.replace("a/b.json", b"{}"),
    "delete": lambda store: store.delete("a/b.json"),
    "within": lambda store: store.within("a").create("b.json", b"{}"),
}


def files_in(folder: Path) -> dict[str, bytes]:
    """Return what lies below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("write", WRITES)
def test_nothing_can_be_written(tmp_path: Path, write: str) -> None:
    """Each write is refused, also below a folder of the store; what is there stays, and can be read."""
    whole = FolderStore(tmp_path)
    whole.create("a/b.json", b"old")

    with pytest.raises(ResultsError, match="reading alone"):
        WRITES[write](read_only(whole))

    assert read_only(whole).read("a/b.json") == b"old"


def test_a_reader_that_would_keep_an_index_for_others_writes_nothing(tmp_path: Path) -> None:
    """The index of runs is derived: a view works without writing it."""
    results = Results(FolderStore(tmp_path))
    plan = plan_of_run("20261120T020000Z_000aa", items=1, catalog="/c")
    end_leg(results, plan, [])
    before = files_in(tmp_path)

    index = RunIndex(Results(read_only(results.store))).refreshed()

    assert list(index.records) == [plan.run_id]
    assert files_in(tmp_path) == before
