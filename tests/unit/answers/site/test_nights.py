"""Pages of nights are written when their run has changed, and deleted when it is gone."""

from proofsweep.answers.site.nights import NightPages, chosen_nights
from proofsweep.model.run_records import LegRecord, RunRecord
from proofsweep.store.folder_store import FolderStore

from ...ended_runs import plan_of_run
from ..views.nights import MONDAY, TUESDAY, WEDNESDAY


def run_of(run_id: str, legs: int = 1, **cells: object) -> RunRecord:
    """Make the record of a run with so many ended legs."""
    ended = [LegRecord(leg=leg, receipt={"ended_by": "complete", "counts": {}}) for leg in range(1, legs + 1)]
    return RunRecord(plan=plan_of_run(run_id, **cells), legs=ended)


def test_a_run_has_a_page_when_a_leg_of_it_has_ended() -> None:
    """In its own environment's site; of passes over folders, only the newest have one."""
    passes = [
        run_of(f"20261115T{each // 60:02}{each % 60:02}00Z_000aaaaaa", catalog_kind="ingest") for each in range(200)
    ]
    others = [run_of(WEDNESDAY, environment="production"), run_of(TUESDAY, legs=0), run_of(MONDAY)]

    chosen = chosen_nights([*others, *reversed(passes)], "beta")

    assert [each.plan.run_id for each in chosen[:2]] == [MONDAY, passes[-1].plan.run_id]
    assert len(chosen) == 101


def test_only_pages_of_changed_runs_are_written(site: FolderStore) -> None:
    """That of the newest run tells how the catalog stands, so it is written again when there is a newer one."""
    made: list[str] = []

    def page(run_id: str) -> str:
        made.append(run_id)
        return run_id

    pages = NightPages(site, page)
    first = pages.written([run_of(TUESDAY), run_of(MONDAY)], {})
    second = pages.written([run_of(WEDNESDAY), run_of(TUESDAY), run_of(MONDAY)], first)
    pages.written([run_of(WEDNESDAY, legs=2), run_of(TUESDAY), run_of(MONDAY)], second)

    assert made == [TUESDAY, MONDAY, WEDNESDAY, TUESDAY, WEDNESDAY]
    assert site.read(f"nights/{MONDAY}.html") == MONDAY.encode()


def test_the_page_of_a_run_that_is_gone_is_deleted(site: FolderStore) -> None:
    """As when all of it was pruned."""
    pages = NightPages(site, str)
    first = pages.written([run_of(TUESDAY), run_of(MONDAY)], {})

    assert pages.written([run_of(TUESDAY)], first) == {TUESDAY: first[TUESDAY]}
    assert site.names("nights") == [f"nights/{TUESDAY}.html"]


def test_an_update_that_may_write_few_pages_leaves_the_older_ones_to_the_next(site: FolderStore) -> None:
    """So a new site of many nights does not hold up a run."""
    runs = [run_of(WEDNESDAY), run_of(TUESDAY), run_of(MONDAY)]
    pages = NightPages(site, str, most=2)

    first = pages.written(runs, {})
    second = pages.written(runs, first)

    assert set(first) == {WEDNESDAY, TUESDAY}
    assert set(second) == {WEDNESDAY, TUESDAY, MONDAY}
