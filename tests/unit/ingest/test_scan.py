"""A watched folder: one process watches it, and sees what is complete and what is waited for."""

import errno
import os
import posixpath
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path
from typing import NoReturn

import pytest

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import CatalogError, ConfigError, ResultsError, RunIsActive, RunMustStop
from proofsweep.domain.items import FileFacts, ManifestRow
from proofsweep.domain.runs import AnyRun
from proofsweep.files.local_files import LocalFiles
from proofsweep.files.moving import Moves
from proofsweep.ingest.one_pass import IngestPass
from proofsweep.ingest.rules import Decision, Disposition
from proofsweep.ingest.scan import Scan
from proofsweep.ingest.watched_folder import WatchedFolder, watched_folder
from proofsweep.sources.catalog import Catalog, PartOfCatalog
from proofsweep.store import layout
from proofsweep.store.holder import this_process
from proofsweep.store.objects import json_bytes
from proofsweep.store.parts import Results

from ...worlds.command_world import mounted_disk, unmount
from .conftest import WAV, Watched

CREDENTIALED = WAV[:4] + (60).to_bytes(4, "little") + WAV[8:] + bytes(8) + b"C2PA\x08\0\0\0" + bytes(8)
MP3 = b"ID3\x03\0\0\0\0\0\0" + bytes(64)


def scan(
    one: IngestPass, before: Scan | None = None, seconds: float = 0, kind: Callable[[Catalog], Catalog] = PartOfCatalog
) -> Scan:
    """Scan the folder of a pass, so many seconds after its clock; nothing has an answer."""
    now = one.context.clock() + timedelta(seconds=seconds)
    found = Scan(one.context, one.folder.disposal, now)
    found.read(kind(one.folder.catalog()), before.sightings if before else {}, lambda _ids: {})
    return found


@pytest.mark.parametrize(
    ("name", "content", "sidecar", "is_taken"),
    [
        ("a.wav", CREDENTIALED, None, True),
        ("a.wav", WAV + bytes(8), None, False),
        ("a.wav", WAV + bytes(8), b"proof", True),
        ("a.wav", WAV + bytes(8), b"", False),
        ("a.wav", WAV, b"proof", False),
        ("a.wav", b"", None, False),
        ("a.mp3", MP3, None, False),
        ("a.mp3", MP3, b"proof", True),
        ("a.flac", b"fLaC" + bytes(64), None, True),
    ],
)
def test_only_a_complete_file_is_taken_before_its_time(
    watched: Watched, name: str, content: bytes, sidecar: bytes | None, *, is_taken: bool
) -> None:
    """A file that may still get its sidecar, or its end, is waited for, and then taken as it is."""
    watched.deliver(name, content)
    if sidecar is not None:
        watched.deliver(f"{name}.sidecar", sidecar)
    watched.settings = watched.settings.model_copy(update={"pair_seconds": 900})
    one = watched.new_pass()

    first = scan(one)
    later = scan(one, first, seconds=10)
    last = scan(one, first, seconds=900)

    assert first.decisions == {Decision.SETTLING: 1}
    assert later.decisions == {(Decision.TAKE if is_taken else Decision.INCOMPLETE): 1}
    assert last.decisions == {Decision.TAKE: 1}


def test_a_file_that_may_not_be_sent_is_not_opened(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a link that leads out of the folder: it is a finding at once, however young it is."""
    (watched.root / "else.wav").touch()
    (watched.folder / "a.wav").symlink_to(watched.root / "else.wav")
    watched.settings = watched.settings.model_copy(update={"pair_seconds": 900})
    one = watched.new_pass()
    first = scan(one)
    monkeypatch.delattr("proofsweep.ingest.scan.open_audio")

    assert scan(one, first, seconds=10).decisions == {Decision.TAKE: 1}


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.EACCES])
def test_a_file_that_cannot_be_read_while_it_is_scanned_is_not_complete(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """It may be half of a pair, and readable when its turn comes: then it would be sent without its sidecar."""
    watched.deliver("a.wav", WAV + bytes(8))
    watched.settings = watched.settings.model_copy(update={"pair_seconds": 900})
    one = watched.new_pass()
    first = scan(one)

    def fail(*_: object, **__: object) -> NoReturn:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", fail)
        of_open = scan(one, first, seconds=10).decisions
    with monkeypatch.context() as patch:
        patch.setattr(LocalFiles, "_stat", fail)
        without_facts = scan(one, first, seconds=10)
        of_facts = scan(one, without_facts, seconds=20).decisions

    assert of_open == {Decision.INCOMPLETE: 1}
    assert of_facts == {Decision.TAKE if number == errno.EACCES else Decision.INCOMPLETE: 1}
    assert scan(one, first, seconds=20).decisions == {Decision.INCOMPLETE: 1}
    assert scan(one, first, seconds=900).decisions == {Decision.TAKE: 1}


def test_what_waits_in_a_folder_that_cannot_be_read_goes_on_waiting(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scan concludes nothing of what it could not list."""
    watched.deliver("acme/a.wav")
    watched.deliver("b.wav")
    one = watched.new_pass()
    first = scan(one)
    list_entries = os.scandir

    def fail_in_acme(path: str = ".") -> Iterator[os.DirEntry[str]]:
        if path.endswith("acme"):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return list_entries(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", fail_in_acme)
        second = scan(one, first, seconds=5)
    (watched.folder / "b.wav").unlink()
    third = scan(one, second, seconds=10)

    assert {*first.sightings} < {*second.sightings}
    assert (third.decisions, {*third.sightings} < {*first.sightings}) == ({Decision.TAKE: 1}, True)


class _Twins(PartOfCatalog):
    """A folder of which two files are one item."""

    def rows(self) -> Iterator[ManifestRow]:
        return (replace(row, item_id="one") for row in super().rows())


def test_a_file_that_cannot_be_told_from_another_waits_for_it(watched: Watched) -> None:
    """Else it would have the other one's answer."""
    watched.deliver("a.wav")
    watched.deliver("b.wav", WAV + b"another.")
    one = watched.new_pass()

    first = scan(one, kind=_Twins)
    later = scan(one, first, seconds=10, kind=_Twins)

    assert later.decisions == {Decision.TAKE: 1, Decision.INCOMPLETE_BATCH: 1}
    assert [row.named_audio for row in later.ready] == ["a.wav"]


def test_files_that_a_bag_names_and_that_are_not_there_are_not_looked_at(watched: Watched) -> None:
    """They are still on their way, or were moved by an earlier pass; neither is a fault of the delivery."""
    watched.deliver("bag/data/a.wav")
    watched.deliver("bag/bagit.txt", b"BagIt-Version: 1.0\n")
    watched.deliver("bag/manifest-md5.txt", f"{'0' * 32}  data/a.wav\n{'0' * 32}  data/gone.wav\n".encode())

    first = watched.run_pass()
    watched.later(3_600)
    second = watched.run_pass()

    assert len(first.report.rows) == 1
    assert (watched.root / "ok" / "bag" / "data" / "a.wav").is_file()
    assert (second.report.run_ids, second.report.rows) == ([], [])


@pytest.fixture(autouse=True)
def here(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(watched.root)


def opened(watched: Watched, location: str = "in", **settings: object) -> AbstractContextManager[WatchedFolder]:
    watched.settings = watched.settings.model_copy(update=settings)
    return watched_folder(watched.context(), location)


def test_a_folder_is_the_same_one_however_it_is_spelled(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files are found below it, and another process that spells it otherwise does not watch it too."""
    (watched.root / "work").mkdir()
    monkeypatch.chdir(watched.root / "work")

    with opened(watched, "../in", accepted="../ok") as first:
        assert first.path == str(watched.folder)
        assert first.disposal.targets[Disposition.ACCEPTED] == str(watched.root / "ok")
        with pytest.raises(RunIsActive), opened(watched, str(watched.folder)):
            pass


def test_a_link_to_a_folder_is_the_same_folder(watched: Watched) -> None:
    (watched.root / "link").symlink_to(watched.folder)

    with opened(watched, "in"), pytest.raises(RunIsActive), opened(watched, "link"):
        pass


def test_a_run_whose_plan_may_be_there_is_not_forgotten(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store has the plan, and its answer was lost: the next pass goes on with that run, and pays for no other."""
    watched.deliver("a.wav")
    write = Results.write_plan

    def lose_answer(results: Results, plan: AnyRun) -> None:
        write(results, plan)
        raise ResultsError("The store does not answer.")

    with opened(watched, accepted="ok") as first:
        with monkeypatch.context() as losing:
            losing.setattr(Results, "write_plan", lose_answer)
            with pytest.raises(ResultsError):
                list(map(watched.play_leg, IngestPass(first).runs()))
        list(map(watched.play_leg, IngestPass(first).runs()))

    assert len(watched.results.log.runs().records) == 1
    assert (watched.root / "ok/a.wav").exists()


def take_over(first: WatchedFolder) -> None:
    """Take the next term, as a process does that has seen no sign of life of this one."""
    name = layout.lease_name(first.lease.name, first.term.number + 1)
    first.lease.store.create(name, json_bytes(asdict(this_process(first.context.clock(), {}))))


def test_an_empty_folder_is_watched_by_one_process(watched: Watched) -> None:
    """However it is spelled; a pass over it finds nothing. One that was taken over may only have slept."""
    with opened(watched, "in/") as first:
        assert first.path == str(watched.folder)
        assert list(IngestPass(first).runs()) == []
        with pytest.raises(RunIsActive), opened(watched, str(watched.folder)):
            pass
        first.refuse_if_lost([])
        take_over(first)
        with pytest.raises(RunIsActive):
            list(IngestPass(first).runs())


def test_a_process_that_is_taken_over_while_a_run_is_verified_moves_nothing(watched: Watched) -> None:
    """The one that works on the folder now does."""
    watched.deliver("a.wav")
    with opened(watched, accepted="ok") as first:
        runs = IngestPass(first).runs()
        watched.play_leg(next(runs))
        take_over(first)
        with pytest.raises(RunIsActive):
            next(runs)

    assert [path.name for path in watched.root.rglob("a.wav")] == ["a.wav"]
    assert not (watched.root / "ok").exists()


@pytest.mark.parametrize("share", ["in", "archive"])
def test_nothing_is_done_while_a_share_is_away(watched: Watched, monkeypatch: pytest.MonkeyPatch, share: str) -> None:
    """Files would fill the disk below, and be hidden when the share is back."""
    mounted = {str(watched.root / share)}
    monkeypatch.setattr(posixpath, "ismount", lambda path: path == "/" or path in mounted)
    (watched.root / "archive/ok").mkdir(parents=True)
    with opened(watched, accepted="archive/ok") as first:
        assert list(IngestPass(first).runs()) == []
        mounted.clear()
        with pytest.raises(RunMustStop, match="is empty or gone, and a share was mounted there: is it mounted"):
            next(IngestPass(first).runs(), None)
    (watched.root / "archive/ok").rmdir()
    with pytest.raises(RunMustStop, match="is empty or gone, and a share was"), opened(watched):
        pass

    mounted.add(str(watched.root / share))
    with opened(watched, accepted="archive/ok") as first:
        assert list(IngestPass(first).runs()) == []
    mounted.clear()
    (watched.root / "in/a.txt").write_text("there")
    with opened(watched, accepted="elsewhere") as first:
        assert list(IngestPass(first).runs()) == []


def test_nothing_is_moved_below_a_mount_point_that_holds_what_was_begun(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A share that goes in a move may leave the copy in the folder below it, which is not empty then."""
    target = watched.root / "ok"
    target.mkdir()
    mounted = {str(target)}
    monkeypatch.setattr(posixpath, "ismount", lambda path: path == "/" or path in mounted)
    audio = watched.deliver("a.wav")
    with opened(watched, accepted="ok") as first:
        runs = IngestPass(first).runs()
        watched.play_leg(next(runs))
        copy = Moves.copy

        def go(moves: Moves, source: str, to: str, sha256: str) -> FileFacts | None:
            mounted.clear()
            return copy(moves, source, to, sha256)

        monkeypatch.setattr(Moves, "copy", go)
        with pytest.raises(RunMustStop, match="ok: the share is away to which a move was begun: is it mounted"):
            next(runs, None)
    (below,) = target.iterdir()
    assert (audio.exists(), below.name) == (True, "a.wav")
    with opened(watched, accepted="ok") as second, pytest.raises(RunMustStop, match="is away to which a move was"):
        next(IngestPass(second).runs(), None)
    assert audio.exists()

    # Whoever gives the files another place has them moved there.
    with opened(watched, accepted="elsewhere") as third:
        assert list(IngestPass(third).runs()) == []
    assert (audio.exists(), (watched.root / "elsewhere/a.wav").exists()) == (False, True)


def test_a_target_whose_mount_point_is_gone_is_not_made_again(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An automounter takes the mount point away too, and other folders lie beside it."""
    mounted = {str(watched.root / "ok")}
    monkeypatch.setattr(posixpath, "ismount", lambda path: path == "/" or path in mounted)
    (watched.root / "ok").mkdir()
    with opened(watched, accepted="ok") as first:
        assert list(IngestPass(first).runs()) == []
    mounted.clear()
    (watched.root / "ok").rmdir()

    with pytest.raises(RunMustStop, match="ok: the folder is empty or gone"), opened(watched, accepted="ok"):
        pass


def test_a_pass_waits_for_the_share_of_one_supplier(watched: Watched) -> None:
    """What waits there goes on waiting, and is not called gone; whoever deletes its empty folder wants it no more."""
    place = watched.folder / "acme"
    with mounted_disk(place):
        watched.deliver("acme/a.wav")
        watched.outcomes["a.wav"] = None
        with opened(watched) as first:
            list(map(watched.play_leg, IngestPass(first).runs()))
            unmount(place)
            with pytest.raises(RunMustStop, match="acme: a share was mounted there, and the folder is empty"):
                next(IngestPass(first).runs(), None)
        with pytest.raises(RunMustStop, match="delete it if none will come there again"), opened(watched):
            pass
        place.rmdir()
        with opened(watched) as second:
            list(IngestPass(second).runs())


@pytest.mark.parametrize("other", ["acme", "..", "../elsewhere"])
def test_of_folders_that_lie_in_one_another_one_is_watched(watched: Watched, other: str) -> None:
    """Each file would be verified, and paid, by both."""
    location = posixpath.normpath(watched.folder / other)
    Path(location).mkdir(exist_ok=True)
    with opened(watched):
        if "elsewhere" in other:
            with opened(watched, location):
                pass
        else:
            with pytest.raises(RunIsActive, match="lie in one another"):
                opened(watched, location).__enter__()
    with opened(watched, location):
        pass  # the other process has ended


def fail_to_list(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def fail(path: str = ".") -> NoReturn:
        raise OSError(number, os.strerror(number), path)

    monkeypatch.setattr(os, "scandir", fail)


@pytest.mark.parametrize("number", [errno.ENOENT, errno.ENOTCONN, errno.ESTALE, errno.EIO, errno.EACCES, errno.EMFILE])
def test_a_watched_folder_that_cannot_be_listed_is_an_outage(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Also before its first file; a watch that begins while it is away says the same."""
    with opened(watched) as first:
        with monkeypatch.context() as patch:
            fail_to_list(patch, number)
            with pytest.raises(RunMustStop, match="cannot be listed") as stop:
                next(IngestPass(first).runs(), None)
        watched.deliver("a.wav")
        runs = list(map(watched.play_leg, IngestPass(first).runs()))
    fail_to_list(monkeypatch, number)
    with pytest.raises(RunMustStop, match="is it mounted"), opened(watched):
        pass

    assert (stop.value.ended_by, stop.value.catalog, len(runs)) == (EndedBy.BREAKER, str(watched.folder), 1)


def test_a_folder_that_goes_away_while_it_is_scanned_is_an_outage(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the scan has seen until then changes nothing of what passes remember."""
    watched.deliver("a.wav")
    one = watched.new_pass()
    list(map(watched.play_leg, one.runs()))
    watched.deliver("b.wav")

    def go_away(*_: object) -> NoReturn:
        raise CatalogError("in: cannot be listed. It is away.", catalog="in")

    monkeypatch.setattr(Scan, "read", go_away)
    with pytest.raises(RunMustStop, match=r"It is away: is it mounted\?"):
        list(watched.new_pass().runs())

    assert watched.state == one.state


@pytest.mark.parametrize("target", ["in/ok", "in", "."])
def test_files_are_not_moved_to_where_they_are_found_again(watched: Watched, target: str) -> None:
    """Neither of the two places may lie in the other."""
    with (
        pytest.raises(ConfigError, match=r"ingest.quarantine: .* lie in one another"),
        opened(watched, quarantine=target),
    ):
        pass


@pytest.mark.parametrize("location", ["nowhere", "list.csv"])
def test_what_cannot_be_watched_is_one_line(watched: Watched, location: str) -> None:
    Path("list.csv").write_text("audio\na.wav\n")

    with pytest.raises(CatalogError, match="no such folder"), opened(watched, location):
        pass
