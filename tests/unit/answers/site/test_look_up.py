"""The look-up shows what the view `catalog` has, however often and after however many nights it is updated."""

from datetime import timedelta
from pathlib import Path

from proofsweep.store.folder_store import FolderStore
from proofsweep.store.plans_and_parts import Results

from ..views.nights import ACCEPTED, MONDAY, REJECTED, THURSDAY, TUESDAY, WEDNESDAY, night
from .read_site import NOW, LookUps, files_below

ALL = ("a", "b", "c")


def test_a_night_after_which_nothing_is_new_writes_nothing(results: Results, look_ups: LookUps) -> None:
    """Each level is written once, so a folder that is copied elsewhere is copied in a moment."""
    night(results, MONDAY, dict.fromkeys(ALL, ACCEPTED))
    look_ups.update()
    before = files_below(look_ups.site)

    found = look_ups.update()

    assert (found.files, found.changed) == (3, 0)
    assert files_below(look_ups.site) == before


def test_only_what_a_night_has_changed_is_written(results: Results, look_ups: LookUps) -> None:
    """The level of the first night stays as it is; the newest record of a file counts."""
    night(results, MONDAY, dict.fromkeys(ALL, ACCEPTED))
    look_ups.update()
    before = files_below(look_ups.site)
    night(results, TUESDAY, {"b": REJECTED}, catalog_kind="redrive")

    found = look_ups.update()

    assert found.changed == 1
    assert before.items() <= files_below(look_ups.site).items()
    assert {name: record["state"] for name, record in look_ups.records.items()} == {
        "a": "accepted",
        "b": "rejected",
        "c": "accepted",
    }


def test_updates_after_each_night_leave_what_one_update_would(
    results: Results, look_ups: LookUps, tmp_path: Path
) -> None:
    """With history, through all merges of levels; what an update missed is in the next one."""
    nights = [ACCEPTED, REJECTED, REJECTED, ACCEPTED]
    for number, (run_id, cells) in enumerate(zip((MONDAY, TUESDAY, WEDNESDAY, THURSDAY), nights, strict=True)):
        night(results, run_id, {"a": cells, "b": ACCEPTED, f"new{number}": ACCEPTED})
        if run_id != WEDNESDAY:
            look_ups.update(NOW + timedelta(minutes=number))
    for minute in range(10, 14):
        night(results, f"20261120T02{minute}00Z_000aaaaaa", {"b": ACCEPTED}, catalog_kind="redrive")
        look_ups.update(NOW + timedelta(minutes=minute))

    once = LookUps(results, FolderStore(tmp_path / "another"))
    once.update()

    assert look_ups.records == once.records
    assert len(look_ups.state.levels) <= 4
    assert [entry[0] for entry in look_ups.records["a"]["history"]] == [MONDAY, TUESDAY, THURSDAY]


def test_levels_that_were_replaced_stay_for_one_update(results: Results, look_ups: LookUps) -> None:
    """A page that is open reads them still."""
    for minute in range(10, 15):
        night(results, f"20261116T02{minute}00Z_000aaaaaa", {f"f{minute}": ACCEPTED}, catalog_kind="redrive")
        look_ups.update()
    replaced = set(look_ups.state.replaced)

    folders = set(look_ups.site.folders("files"))
    look_ups.update()

    assert replaced
    assert replaced < folders
    assert not replaced & {*look_ups.site.folders("files"), *look_ups.site.folders("_state")}


def test_what_a_killed_update_has_written_is_deleted_a_day_later(results: Results, look_ups: LookUps) -> None:
    """Until then it may be another update that is at work."""
    night(results, MONDAY, {"a": ACCEPTED})
    look_ups.update()
    look_ups.site.replace("files/20261124T040000Z_000aa/r0.js", b"")

    look_ups.update()
    soon = look_ups.site.folders("files")
    look_ups.update(NOW + timedelta(days=2))

    assert "20261124T040000Z_000aa" in soon
    assert "20261124T040000Z_000aa" not in look_ups.site.folders("files")
    assert set(look_ups.records) == {"a"}
