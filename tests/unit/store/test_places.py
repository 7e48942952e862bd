"""A name that is not UTF-8 is text in the tables, and leads to its file all the same."""

from pathlib import Path

import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import WorkItem, utf8_text
from proofsweep.store.known_rows import PastAnswers
from proofsweep.store.latest import refresh
from proofsweep.store.listings import Listing
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results
from proofsweep.store.places import with_locations

from ...worlds.ended_runs import answered, end_leg, plan_of_run

# A raw byte; the letters that stand for it in the tables; both; and plain UTF-8.
NAMES = ("/c/sch\udcf6n", "/c/sch\\xf6n", "/c/\\xf6\udcf6", "/c/schön")
PLAN = plan_of_run("20261120T120000Z_000aa", len(NAMES), batch_items=2)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """Return a store in which each of the names was accepted, with a sidecar."""
    results = Results(FolderStore(tmp_path))
    listing = Listing()
    rows = []
    for number, name in enumerate(NAMES):
        item = WorkItem(manifest_row=number, item_id=str(number), audio=name, sidecar=f"{name}.proof")
        listing.add(item)
        cells = {"audio": utf8_text(name), "sidecar": utf8_text(f"{name}.proof"), "mode": "legacy_pair"}
        cells |= {"audio_sha256": f"{number:064}", "audio_bytes": 8}
        rows.append(answered(PLAN, number, str(number), **cells))
    listing.write(results, PLAN.run_id, "items", PLAN.batch_items)
    end_leg(results, PLAN, rows)
    return results


@pytest.mark.parametrize("is_in_base", [False, True])
def test_what_was_accepted_or_read_is_found_by_its_location(results: Results, *, is_in_base: bool) -> None:
    """Else no refusal of such files is ever checked, and one file that is missing is a catalog that is away."""
    if is_in_base:
        refresh(results)
    past = PastAnswers(results, PLAN)

    assert {(item.audio, item.sidecar) for item in past.accepted()} == {(name, f"{name}.proof") for name in NAMES}
    assert past.files_read(9) == [*reversed(NAMES)]


def test_a_place_that_nobody_knows_any_more_is_left_out(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that fails now has forgotten nothing."""
    rows = results.table("verdicts", results.parts_of("verdicts", PLAN)).to_pylist()
    for file in Path(results.store.url, f"_runs/{PLAN.run_id}/items").iterdir():
        file.unlink()

    assert [row["audio"] for row in with_locations(results, rows)] == ["/c/schön"]

    def fail(name: str) -> bytes:
        raise ResultsError(name)

    monkeypatch.setattr(results.store, "read", fail)
    with pytest.raises(ResultsError):
        with_locations(results, rows)
