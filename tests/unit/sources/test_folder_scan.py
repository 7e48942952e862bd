"""A folder becomes rows: its audio, each with the sidecar beside it."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import obstore
import pytest
from obstore.store import MemoryStore

from proofsweep.config.sections import CatalogSettings
from proofsweep.domain.errors import CatalogError
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.files.bucket_files import BucketFiles
from proofsweep.files.files import Files
from proofsweep.files.folder_listing import Cause
from proofsweep.sources.folder import FolderScan
from proofsweep.sources.open_catalog import open_catalog

WAVE = b"RIFF\x24\x00\x00\x00WAVEfmt "
FRAME = b"\xff\xfb\x90\x00" + bytes(413)
"""Of an MP3 with 128 kbit/s at 44.1 kHz."""


def scan(folder: Path) -> FolderScan:
    return FolderScan(str(folder), Files())


def fill(folder: Path, *names: str, content: bytes = WAVE) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def test_an_audio_name_is_a_row_whatever_the_file_holds(tmp_path: Path) -> None:
    """A broken delivery must show as a row with a reason, so its name is enough to count."""
    fill(tmp_path, "a.WAV", "b.flac", "c.opus", content=b"no audio")
    fill(tmp_path, "empty.mp3", content=b"")
    (tmp_path / "dangling.aiff").symlink_to("gone.aiff")
    (tmp_path / "circle.wav").symlink_to("circle.wav")

    sizes = {row.named_audio: row.audio_facts and row.audio_facts.size_bytes for row in scan(tmp_path).rows()}

    there = {"a.WAV": 8, "b.flac": 8, "c.opus": 8, "empty.mp3": 0}
    assert sizes == there | {"dangling.aiff": None, "circle.wav": None}


def test_what_is_ignored_is_counted_by_cause(tmp_path: Path) -> None:
    """Nothing in the folder is left out unsaid; audio under any name is found by its content."""
    fill(tmp_path, "take.001")
    fill(tmp_path, "a.wav", "sub/cover.jpg", ".DS_Store", "._a.wav", "sub/lost.sidecar", content=b"x")
    os.mkfifo(tmp_path / "fifo")
    os.mkfifo(tmp_path / "fifo.wav")
    (tmp_path / "lost link").symlink_to("gone")
    (tmp_path / "sub" / "circle").symlink_to(tmp_path)

    catalog = scan(tmp_path)

    rows = {row.named_audio: row.refused and row.refused.reason for row in catalog.rows()}
    assert rows == {"a.wav": None, "fifo.wav": Reason.UNREADABLE_FILE, "take.001": None}
    once = dict.fromkeys([Cause.NOT_AUDIO, Cause.ORPHAN_SIDECARS, Cause.REPEATED_FOLDERS], 1)
    assert +catalog.ignored == once | {Cause.UNREADABLE: 2, Cause.HIDDEN: 2}


def test_links_out_of_the_catalog_are_rows_or_counted(tmp_path: Path) -> None:
    """Audio, sidecars and folders are ineligible; what lies behind other names is not read, and is counted."""
    fill(tmp_path, "else/key", "else/a.wav", "else/proof")
    fill(tmp_path, "drop/b.wav")
    for name, target in {"a.wav": "a.wav", "b.wav.sidecar": "proof", "disc": ".", "notes": "key"}.items():
        (tmp_path / "drop" / name).symlink_to(tmp_path / "else" / target)

    catalog = FolderScan(str(tmp_path / "drop"), Files(os.path.realpath(tmp_path / "drop")))
    rows = {row.named_audio: row.refused for row in catalog.rows()}

    assert {name: refused and refused.reason for name, refused in rows.items()} == dict.fromkeys(
        ["a.wav", "b.wav", "disc/"], Reason.OUTSIDE_CATALOG
    )
    assert +catalog.ignored == {Cause.UNREADABLE: 1}


def make_too_deep(folder: Path) -> None:
    """Make folders in folders until the innermost one has a path of more than 4,096 bytes."""
    folder.mkdir()
    here = os.open(folder, os.O_RDONLY)
    for _ in range(17):
        os.mkdir("x" * 250, dir_fd=here)
        above, here = here, os.open("x" * 250, os.O_RDONLY, dir_fd=here)
        os.close(above)
    os.close(here)


def test_a_folder_that_cannot_be_read_is_a_row_and_the_walk_goes_on(tmp_path: Path) -> None:
    """Here its path is longer than the system allows; a folder without permission, or on a failing disk, is alike."""
    fill(tmp_path, "a.wav", "next/b.wav")
    before = scan(tmp_path).digest()
    make_too_deep(tmp_path / "deep")
    catalog = scan(tmp_path)

    first, deep, last = catalog.rows()

    assert (first.named_audio, last.named_audio) == ("a.wav", "next/b.wav")
    assert (deep.number, deep.named_audio[-1]) == (1, "/")
    assert deep.refused == Ineligible(Reason.UNREADABLE_FOLDER, "The folder cannot be read: File name too long.")
    assert catalog.digest() != before


def test_a_sidecar_is_never_a_row(tmp_path: Path) -> None:
    """Even one that holds audio stays what its name says; the same name in another folder is of another release."""
    fill(tmp_path, "a.wav", "b.sidecar", "two/a.wav.sidecar")

    catalog = scan(tmp_path)

    for _ in range(2):  # the counts are those of one pass
        assert [(row.named_audio, row.sidecar) for row in catalog.rows()] == [("a.wav", None)]
        assert catalog.ignored[Cause.ORPHAN_SIDECARS] == 2


CHANGES: dict[str, Callable[[Path], object]] = {
    "new file": lambda folder: fill(folder, "b.wav"),
    "contested sidecar": lambda folder: fill(folder, "a.mp3", "a.sidecar"),
    "other time": lambda folder: os.utime(folder / "a.wav", ns=(0, 0)),
    "other name": lambda folder: (folder / "a.wav").rename(folder / "a.wave"),
    "sidecar gone": lambda folder: (folder / "a.wav.sidecar").unlink(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_digest_changes_with_the_listing(tmp_path: Path, change: Callable[[Path], object]) -> None:
    """Names, sizes and times tell whether the folder is the one that was planned; files that are no rows do not."""
    fill(tmp_path, "a.wav", "a.wav.sidecar")
    before = (planned := scan(tmp_path)).digest()
    fill(tmp_path, "report.txt", content=b"x")
    assert scan(tmp_path).digest() == before

    change(tmp_path)

    assert scan(tmp_path).digest() != before == planned.digest()


@pytest.mark.parametrize("other", ["song.flac", "song.wav", "gone.wav"])
def test_only_who_may_need_a_sidecar_claims_it(tmp_path: Path, other: str) -> None:
    """Not a FLAC, which cannot be sent as a pair, nor a file that lies outside; one that cannot be read may."""
    fill(tmp_path, "else.wav")
    fill(tmp_path, "drop/song.mp3", content=FRAME * 3)
    fill(tmp_path, "drop/song.sidecar", content=b"proof")
    if other == "song.flac":
        fill(tmp_path, "drop/song.flac", content=b"fLaC" + bytes(60))
    else:
        (tmp_path / "drop" / "song.wav").symlink_to("../else.wav" if other == "song.wav" else other)
    files = Files(os.path.realpath(tmp_path / "drop"))

    found = {(row.named_sidecar, row.contested_sidecar) for row in FolderScan(str(tmp_path / "drop"), files).rows()}

    assert found == {("", "song.sidecar")} if other == "gone.wav" else {("", None), ("song.sidecar", None)}


@pytest.mark.parametrize("ending", ["aria2", "crdownload", "part", "PARTIAL", "!ut", "lftp-pget-status", "st"])
def test_a_mark_of_a_downloader_keeps_its_file_back(tmp_path: Path, ending: str) -> None:
    """A file may have its full name and size before it is whole; a copy for safety (`~`, `.tmp`) marks nothing."""
    fill(tmp_path, "song.wav", "other.wav", "kept.wav")
    fill(tmp_path, f"song.wav.{ending}", "other.wav~", "kept.wav.tmp", content=b"x")

    catalog = scan(tmp_path)

    assert [row.named_audio for row in catalog.rows()] == ["kept.wav", "other.wav"]
    assert str(tmp_path / "song.wav") in catalog.unfinished


def test_audio_that_a_cloud_has_not_downloaded_is_a_row(tmp_path: Path) -> None:
    """Its placeholders are hidden files, or files with another ending; nobody takes an album of three for one of one.

    Those of other files, and of what would be left out if it were there, are counted.
    """
    fill(tmp_path, "a.wav", "b.wav.sidecar", "there.wav")
    fill(tmp_path, ".b.wav.icloud", "c.wav.cloud", "d.wav.nextcloud", ".hidden", "there.wav.cloud", content=b"x")
    fill(tmp_path, ".cover.jpg.icloud", "..secret.wav.icloud", ".e_preview.wav.icloud", content=b"x")

    catalog = open_catalog(str(tmp_path), CatalogSettings(exclude=("*_preview.wav",)))
    rows = {row.named_audio: row for row in catalog.rows()}

    reasons = {name: row.refused and row.refused.reason for name, row in rows.items()}
    away = dict.fromkeys(("b.wav", "c.wav", "d.wav"), Reason.STAND_IN)
    assert reasons == {"a.wav": None, "there.wav": None} | away
    assert rows["b.wav"].named_sidecar == "b.wav.sidecar"
    assert rows["b.wav"].refused is not None
    assert ".b.wav.icloud" in rows["b.wav"].refused.detail
    assert +catalog.ignored == {Cause.NOT_DOWNLOADED: 2, Cause.HIDDEN: 2, Cause.EXCLUDED: 1}


def test_a_link_of_git_annex_without_its_content_stands_for_its_file(tmp_path: Path) -> None:
    """Of the audio or of its sidecar; another link that leads nowhere is no file."""
    fill(tmp_path, "a.wav", "b.wav.sidecar")
    for name in ("a.wav.sidecar", "b.wav"):
        (tmp_path / name).unlink(missing_ok=True)
        (tmp_path / name).symlink_to(f".git/annex/objects/xx/yy/KEY/{name}")
    (tmp_path / "c.wav").symlink_to("nowhere")

    reasons = {row.named_audio: row.refused and row.refused.reason for row in scan(tmp_path).rows()}

    assert reasons == {"a.wav": Reason.STAND_IN, "b.wav": Reason.STAND_IN, "c.wav": None}


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_folder_that_goes_while_it_is_listed_is_refused(tmp_path: Path, *, is_gone: bool) -> None:
    """What was not listed would be left out of the catalog without a word; its mount point may go too."""
    catalog, _ = tmp_path / "catalog", (tmp_path / "another.txt").write_text("beside it")
    catalog.mkdir()
    for name in ("a.wav", "b.wav"):
        (catalog / name).write_bytes(b"RIFF")
    rows = open_catalog(str(catalog)).rows()
    next(rows)
    for path in [*catalog.iterdir()]:
        path.unlink()
    if is_gone:
        catalog.rmdir()

    with pytest.raises(CatalogError, match="went away while it was listed"):
        list(rows)


def test_objects_are_looked_into_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those without an ending of audio, in one folder or in many; an empty one is not requested."""
    store = MemoryStore()
    for number in range(4):
        obstore.put(store, f"in/one/{number}.bin", b"no audio")
        obstore.put(store, f"in/many/{number}/x.xml", b"<a/>")
    obstore.put(store, "in/empty.bin", b"")
    both, asked = threading.Barrier(2, timeout=20), list[str]()
    get = obstore.get

    def in_pairs(store: MemoryStore, key: str, **options: Any) -> Any:  # noqa: ANN401 - as obstore has them
        asked.append(key)
        both.wait()
        return get(store, key, **options)

    monkeypatch.setattr(obstore, "get", in_pairs)
    catalog = FolderScan("s3://bucket/in", Files(buckets=BucketFiles(lambda _root: store)))

    with pytest.raises(CatalogError, match="no audio"):
        list(catalog.rows())

    assert sorted(asked) == [f"in/many/{number}/x.xml" for number in range(4)] + [
        f"in/one/{number}.bin" for number in range(4)
    ]
