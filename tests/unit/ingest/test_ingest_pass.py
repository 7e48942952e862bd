"""One pass over a watched folder: what is ready becomes a run, and its files are moved by their outcomes."""

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import FileFacts
from proofsweep.domain.reasons import Reason
from proofsweep.domain.runs import INGEST
from proofsweep.files.moving import Moves
from proofsweep.ingest.rules import Decision
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results

from ...worlds.killed_passes import (
    KilledMove,
    LocalSite,
    Site,
    check_every_line,
    deliver_anew,
    nothing,
    take_back,
    take_name,
)
from .conftest import WAV, Watched


def names_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_pass_waits_once_for_new_files_to_settle(watched: Watched) -> None:
    """A file that changes meanwhile is left for the next pass."""
    watched.deliver("acme/a.wav")
    changing = watched.deliver("acme/b.wav")
    watched.meanwhile = lambda: changing.write_bytes(WAV + b"12345678 and more")

    one = watched.run_pass()

    assert watched.rested == [10]
    assert names_in(watched.root / "ok") == ["acme/a.wav"]
    assert names_in(watched.folder) == ["acme/b.wav"]
    assert one.report.decisions == {Decision.TAKE: 1, Decision.SETTLING: 1}


@pytest.mark.parametrize("ahead", [timedelta(), timedelta(hours=23, minutes=59), -timedelta(days=2), timedelta(days=2)])
def test_a_rejection_that_may_end_is_asked_about_once_a_day(watched: Watched, ahead: timedelta) -> None:
    """Whatever the difference between this machine's clock and the service's, by which the answer was given."""
    watched.service_ahead = ahead
    watched.deliver("a.wav")
    watched.outcomes["a.wav"] = "rejected unregistered"

    for _ in range(30):  # passes of an hour
        watched.run_pass(moves=False)
        watched.later(3_600)

    assert watched.sent == ["a.wav"] * 2


def test_a_run_holds_only_what_is_ready_and_names_the_supplier(watched: Watched) -> None:
    """It is an ordinary run of another kind of catalog; the note of a pass that was killed before its plan goes."""
    watched.state.open_run("20261121T120000Z_000aa")
    watched.deliver("acme/a.wav")
    watched.deliver("c.wav.part")
    one = watched.run_pass(moves=False)

    (run_id,) = one.report.run_ids
    plan = watched.results.plan(run_id)
    (item,) = watched.results.items(plan)
    assert (plan.catalog, plan.catalog_kind, plan.items) == (str(watched.folder), INGEST, 1)
    assert item.tags_json == '{"supplier": "acme"}'
    assert watched.state.runs == []


def test_an_outcome_is_counted_by_the_pass_that_verified_it(watched: Watched) -> None:
    """The one that moves the file later says only that."""
    watched.deliver("a.wav")

    lines = [watched.run_pass(moves=moves).report.line("in") for moves in (False, True)]

    assert lines == ["in: 1 accepted", "in: 1 moved (accepted)"]


def test_what_failed_comes_back_after_longer_and_longer_waits(watched: Watched) -> None:
    """A new version begins anew."""
    watched.outcomes["a.wav"] = "failed"
    path = watched.deliver("a.wav")
    watched.run_pass()
    assert watched.run_pass().report.decisions == {Decision.RESTING: 1}

    watched.later(300)
    watched.run_pass()
    watched.later(300)
    assert watched.run_pass().report.decisions == {Decision.RESTING: 1}
    assert len(watched.planned) == 2
    assert names_in(watched.folder) == ["a.wav"]

    watched.outcomes["a.wav"] = "accepted"
    path.write_bytes(WAV + b"version2")
    watched.run_pass()
    assert names_in(watched.root / "ok") == ["a.wav"]
    rows = watched.results.table("ingest", sorted(watched.results.all_parts("ingest"))).to_pylist()
    assert [(row["outcome"], row["tries"], row["retry_at"] is None) for row in rows] == [
        ("failed", 1, False),
        ("failed", 2, False),
        ("accepted", 1, True),
    ]


def test_a_run_that_did_not_end_is_taken_up_first(watched: Watched) -> None:
    """Its answered files are moved at once; new files wait until it is finished."""
    watched.outcomes |= {"a.wav": "accepted", "b.wav": None}
    for name in ("a.wav", "b.wav"):
        watched.deliver(name, WAV + name.encode() + b"...")
    first = watched.run_pass()
    assert not first.report.is_whole
    assert names_in(watched.root / "ok") == ["a.wav"]
    assert watched.state.runs == first.report.run_ids

    watched.outcomes["b.wav"] = "rejected"
    watched.deliver("c.wav", WAV + b"c.wav...")
    second = watched.run_pass()

    assert second.report.run_ids == [*first.report.run_ids, watched.planned[1]]
    assert [row["audio"].rpartition("/")[2] for row in second.report.rows] == ["b.wav", "c.wav"]
    assert (names_in(watched.root / "ok"), names_in(watched.root / "bad")) == (["a.wav", "c.wav"], ["b.wav"])
    assert watched.state.runs == []


def test_a_pass_that_is_asked_to_stop_plans_nothing_more(watched: Watched) -> None:
    """What it has verified by then is moved, also if nothing remains of the run that it took up."""
    watched.outcomes["a.wav"] = None
    watched.deliver("a.wav")
    watched.run_pass()

    watched.outcomes["a.wav"] = "accepted"
    watched.deliver("b.wav")
    watched.is_stopped = True
    watched.run_pass()

    assert len(watched.planned) == 1
    assert names_in(watched.root / "ok") == ["a.wav"]
    assert names_in(watched.folder) == ["b.wav"]


def test_a_move_that_is_not_finished_is_tried_by_each_pass(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is noted and reported once, however often it fails."""
    remove = Moves.remove

    def failed(moves: Moves, location: str, facts: FileFacts) -> bool:
        if location.endswith(".sidecar"):
            raise SourceError("No.", reason=Reason.UNREADABLE_FILE)
        return remove(moves, location, facts)

    watched.deliver("a.wav")
    watched.deliver("a.wav.sidecar", b"proof")
    with monkeypatch.context() as moment:
        moment.setattr(Moves, "remove", failed)
        reports = [watched.run_pass().report for _ in range(3)]
        assert len(watched.state.moves) == 1
        assert [len(report.not_moved) for report in reports] == [1, 1, 1]

    (row,) = watched.run_pass().report.rows

    assert (row["disposition"], list(watched.folder.iterdir()), watched.state.moves) == ("accepted", [], ())


@pytest.mark.parametrize("target", ["ok", "new", None])
@pytest.mark.parametrize("name", ["a.wav", "B1/r1/resources/a.wav"])
def test_a_target_that_is_away_is_waited_for_or_left(watched: Watched, name: str, target: str | None) -> None:
    """What was copied there nobody can say; but nothing was removed, so the file goes where it goes now."""
    if "/" in name:
        watched.deliver_release("B1/r1", a=WAV + bytes(8))
        watched.deliver("B1/BatchComplete.txt", b"")
    else:
        watched.deliver(name)
    delivered = names_in(watched.folder)
    (watched.root / "ok").write_bytes(b"no folder")
    reports = [watched.run_pass().report for _ in range(2)]
    assert names_in(watched.folder) == delivered
    if target == "ok":
        (watched.root / "ok").unlink()
    watched.accepted = target

    reports += [watched.run_pass().report for _ in range(2)]

    assert [len(report.not_moved) for report in reports] == [1, 1, 0, 0]
    assert (reports[1].rows, len(watched.planned), watched.state.moves) == ([], 1, ())
    assert names_in(watched.root / (target or "in")) == delivered


def test_a_hidden_folder_that_cannot_be_emptied_is_told_and_stops_nothing(watched: Watched) -> None:
    """A killed pass renames into such folders; what lies in this one has lost its name to another folder."""
    watched.deliver("acme/.proofsweep-moving-aa/scans/1.jpg")
    watched.deliver("acme/scans/2.jpg")
    watched.deliver("acme/a.wav")

    report = watched.run_pass().report

    (line,) = report.unmoved_lines()
    assert line.endswith(f"It lies in {watched.folder}/acme/.proofsweep-moving-aa.")
    assert "acme/a.wav" in names_in(watched.root / "ok")


@pytest.mark.parametrize(
    ("reason", "seconds", "is_asked_again"),
    [("local_seal", 86_300, False), ("local_seal", 86_400, True), ("tampered", 86_400, False)],
)
def test_a_rejected_file_that_is_delivered_again_is_asked_for_again_after_a_day(
    watched: Watched, reason: str, seconds: float, *, is_asked_again: bool
) -> None:
    """If its rejection may end at the service: the seal was registered meanwhile, the bytes are the same."""
    watched.outcomes["a.wav"] = f"rejected {reason}"
    watched.deliver("a.wav")
    watched.run_pass()
    watched.later(seconds)
    watched.outcomes["a.wav"] = "accepted"
    watched.deliver("a.wav")

    watched.run_pass()

    assert (len(watched.sent), names_in(watched.root / "bad")) == (1 + is_asked_again, ["a.wav"])
    assert names_in(watched.root / "ok") == ["a.wav"] * is_asked_again


@pytest.mark.parametrize("is_taken", [False, True])
def test_another_file_with_the_size_and_time_of_one_that_was_moved_is_verified(
    watched: Watched, *, is_taken: bool
) -> None:
    """Some tools set all times alike. Whether the first one still lies at the target or was taken from there."""
    os.utime(watched.deliver("a.wav", WAV + b"11111111"), (1e9, 1e9))
    watched.run_pass()
    watched.later(4_000)
    if is_taken:
        (watched.root / "ok/a.wav").unlink()
    os.utime(watched.deliver("a.wav", WAV + b"22222222"), (1e9, 1e9))

    for _ in range(3):
        watched.later(100)
        watched.run_pass()

    moved = {path.read_bytes()[-8:] for path in (watched.root / "ok").rglob("a.wav")}
    assert moved == {b"22222222"} | (set() if is_taken else {b"11111111"})
    assert names_in(watched.folder) == []
    assert len(watched.planned) == 2


def test_a_rejected_file_that_is_delivered_again_is_moved_again(watched: Watched) -> None:
    """Also if it could not be moved at first; it is a run of its own, which sends nothing."""
    watched.outcomes["a.wav"] = "rejected"
    watched.deliver("a.wav")
    watched.run_pass()
    watched.deliver("a.wav")
    (watched.root / "bad").rename(watched.root / "kept")
    (watched.root / "bad").write_bytes(b"no folder")
    stuck = watched.run_pass()
    (watched.root / "bad").unlink()

    late = watched.run_pass()

    assert [len(stuck.report.not_moved), len(late.report.not_moved)] == [1, 0]
    assert watched.sent == ["a.wav"]
    assert names_in(watched.root / "bad") == ["a.wav"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the killed one leaves its files open
@pytest.mark.parametrize("meanwhile", [nothing, deliver_anew, take_back, take_name])
def test_a_pair_is_moved_whole_or_not_at_all_wherever_a_pass_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[Site], None]
) -> None:
    """Also if its files, or its names at the target, are others by then; what was moved has one row."""
    monkeypatch.setattr(os, "fsync", lambda _file: None)  # a process that is killed loses nothing that was written

    def make(line: int) -> KilledMove:
        folder = tmp_path / str(line)
        return KilledMove(LocalSite(folder / "files"), Results(FolderStore(folder / "results")))

    assert check_every_line(make, meanwhile) > 100


def test_what_is_still_written_is_named_and_waits(watched: Watched) -> None:
    """A mark beside a file of full size, or in place of its sidecar; nothing is sent without the rest."""
    for name in ("acme/a.wav", "acme/a.wav.aria2", "acme/b.wav", "acme/b.wav.sidecar.part", "acme/c.wav"):
        watched.deliver(name)
    watched.deliver("acme/.d.wav.icloud", b"bplist00")

    one = watched.run_pass()

    waiting = {(Path(str(row["file"])).name, row["why"]) for row in one.report.waiting}
    assert waiting >= {("a.wav", "unfinished"), ("b.wav", "unfinished"), ("d.wav", "not_downloaded")}
    said = "\n".join(one.report.messages())
    assert f"{watched.folder}/acme/a.wav: it is still being written" in said
    assert f"{watched.folder}/acme/d.wav: Only its placeholder .d.wav.icloud lies there" in said
    assert names_in(watched.root / "ok") == ["acme/c.wav"]
    (watched.folder / "acme" / "a.wav.aria2").unlink()
    watched.run_pass()
    assert names_in(watched.root / "ok") == ["acme/a.wav", "acme/c.wav"]


def test_pairs_whose_wire_name_is_not_set_end_no_pass(watched: Watched) -> None:
    """One supplier's pairs stop nobody else's files, and each row says what is missing."""
    watched.sidecar_field = None
    watched.deliver("acme/a.wav")
    watched.deliver("acme/a.wav.sidecar", b"proof")

    (row,) = watched.run_pass().report.rows

    assert (row["outcome"], row["reason"]) == ("ineligible", "sidecar_field_unknown")
