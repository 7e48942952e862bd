"""A folder becomes rows: its audio, each with the sidecar beside it."""

import os
from collections.abc import Iterator
from pathlib import Path
from unicodedata import normalize

import pytest

from proofsweep.config.sections import CatalogSettings
from proofsweep.domain.errors import CatalogError
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.sources.catalog import Cause
from proofsweep.sources.folder import FolderScan
from proofsweep.sources.local import LocalFiles
from proofsweep.sources.open_catalog import open_catalog
from proofsweep.sources.source import Folder

WAVE = b"RIFF\x24\x00\x00\x00WAVEfmt "
FRAME = b"\xff\xfb\x90\x00" + bytes(413)
"""Of an MP3 with 128 kbit/s at 44.1 kHz."""

ODD_NAMES = [
    "two words.wav",
    " leading and trailing .wav",
    "#1 100% 'q' \"Q\".wav",
    "line\nbreak.wav",
    "-rf.wav",
    "$(x);&|*?[a].wav",
    normalize("NFC", "Für Élise.wav"),
    normalize("NFD", "Für Élise.wav"),
    b"caf\xe9.wav".decode("utf-8", "surrogateescape"),
    "日本語.wav",
    "x" * 240 + ".wav",
]


def scan(folder: Path) -> FolderScan:
    """Take a folder as a catalog."""
    return FolderScan(str(folder), LocalFiles())


def fill(folder: Path, *names: str, content: bytes = WAVE) -> None:
    """Put files into a folder."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def test_no_name_is_too_odd(tmp_path: Path) -> None:
    """Every name a file can have comes back as that very file, paired with its sidecar."""
    fill(tmp_path, *ODD_NAMES, *(f"{name}.sidecar" for name in ODD_NAMES))

    rows = list(scan(tmp_path).rows())

    assert sorted(row.named_audio for row in rows) == sorted(ODD_NAMES)
    assert [row.named_sidecar for row in rows] == [f"{row.named_audio}.sidecar" for row in rows]
    assert all(row.audio_facts and row.sidecar_facts for row in rows)


def test_an_audio_name_is_a_row_whatever_the_file_holds(tmp_path: Path) -> None:
    """A broken delivery must show as a row with a reason, so its name is enough to count."""
    fill(tmp_path, "a.WAV", "b.flac", "c.opus", content=b"no audio")
    fill(tmp_path, "empty.mp3", content=b"")
    (tmp_path / "dangling.aiff").symlink_to("gone.aiff")
    (tmp_path / "circle.wav").symlink_to("circle.wav")

    rows = {row.named_audio: row.audio_facts for row in scan(tmp_path).rows()}

    assert set(rows) == {"a.WAV", "b.flac", "c.opus", "empty.mp3", "dangling.aiff", "circle.wav"}
    assert rows["dangling.aiff"] is None
    assert rows["empty.mp3"] is not None
    assert rows["empty.mp3"].size_bytes == 0


def test_other_names_are_looked_into(tmp_path: Path) -> None:
    """Audio under any name is found by its content; also what the service does not take was meant as audio."""
    fill(tmp_path, "master", "take.001")
    fill(tmp_path, "cover.jpg", "notes.txt", "empty", content=b"")
    fill(tmp_path, "stereo master", content=b"DSD \x1c\0\0\0" + bytes(80))
    fill(tmp_path, "take.002", content=b"wvpk\x80\1\0\0" + bytes(80))
    fill(tmp_path, "DSD notes.txt", content=b"DSD masters come later\n")

    catalog = scan(tmp_path)

    assert [row.named_audio for row in catalog.rows()] == ["master", "stereo master", "take.001", "take.002"]
    assert catalog.ignored[Cause.NOT_AUDIO] == 4


def test_what_is_ignored_is_counted_by_cause(tmp_path: Path) -> None:
    """Nothing in the folder is left out unsaid."""
    fill(tmp_path, "a.wav", "sub/cover.jpg", ".DS_Store", "._a.wav", "sub/lost.sidecar", content=b"x")
    os.mkfifo(tmp_path / "fifo.wav")
    (tmp_path / "lost link").symlink_to("gone")
    (tmp_path / "sub" / "circle").symlink_to(tmp_path)

    catalog = scan(tmp_path)
    rows = [row.named_audio for row in catalog.rows()]
    ignored = catalog.ignored

    assert rows == ["a.wav"]
    assert (ignored[Cause.NOT_AUDIO], ignored[Cause.ORPHAN_SIDECARS], ignored[Cause.UNREADABLE]) == (1, 1, 2)
    assert ignored[Cause.HIDDEN] == 2
    assert ignored[Cause.REPEATED_FOLDERS] == 1


def confined(folder: Path) -> FolderScan:
    """Take a folder as a catalog that may not lead out of it."""
    return FolderScan(str(folder), LocalFiles(os.path.realpath(folder)))


def test_links_out_of_the_catalog_are_rows_or_counted(tmp_path: Path) -> None:
    """Audio, sidecars and folders are ineligible; what lies behind other names is not read, and is counted."""
    fill(tmp_path, "else/key", "else/a.wav", "else/proof")
    fill(tmp_path, "drop/b.wav")
    for name, target in {"a.wav": "a.wav", "b.wav.sidecar": "proof", "disc": ".", "notes": "key"}.items():
        (tmp_path / "drop" / name).symlink_to(tmp_path / "else" / target)

    catalog = confined(tmp_path / "drop")
    rows = {row.named_audio: row.refused for row in catalog.rows()}

    assert {name: refused and refused.reason for name, refused in rows.items()} == dict.fromkeys(
        ["a.wav", "b.wav", "disc/"], Reason.OUTSIDE_CATALOG
    )
    assert +catalog.ignored == {Cause.OUTSIDE: 1}


def test_a_file_outside_claims_no_sidecar_of_others(tmp_path: Path) -> None:
    """It is not looked into, and it cannot be sent."""
    fill(tmp_path, "else.wav")
    fill(tmp_path, "drop/song.mp3", content=FRAME * 3)
    fill(tmp_path, "drop/song.sidecar", content=b"proof")
    (tmp_path / "drop" / "song.wav").symlink_to("../else.wav")
    files = LocalFiles(os.path.realpath(tmp_path / "drop"))

    rows = FolderScan(str(tmp_path / "drop"), files).rows()

    assert {row.named_audio: row.named_sidecar for row in rows} == {"song.mp3": "song.sidecar", "song.wav": ""}


def test_a_folder_that_cannot_be_read_is_a_row(tmp_path: Path) -> None:
    """Whoever reads the results sees that files may be missing, and where."""
    fill(tmp_path, "a.wav")

    class ClosedFolder(LocalFiles):
        """Files of which one folder is closed."""

        def walk(self, location: str) -> Iterator[Folder]:
            """Yield it after the others."""
            yield from super().walk(location)
            closed = Ineligible(Reason.UNREADABLE_FOLDER, "The folder cannot be read: Permission denied.")
            yield Folder(location=f"{location}/disc 2", files=[], refused=closed)

    catalog = FolderScan(str(tmp_path), ClosedFolder())
    _, row = catalog.rows()

    assert (row.number, row.audio, row.named_audio) == (1, f"{tmp_path}/disc 2/", "disc 2/")
    assert row.refused is not None
    assert row.refused.reason is Reason.UNREADABLE_FOLDER
    assert catalog.digest() != scan(tmp_path).digest()


def test_a_sidecar_is_never_a_row(tmp_path: Path) -> None:
    """Even one that holds audio stays what its name says; the same name in another folder is of another release."""
    fill(tmp_path, "a.wav", "b.sidecar", "two/a.wav.sidecar")

    catalog = scan(tmp_path)

    assert [(row.named_audio, row.sidecar) for row in catalog.rows()] == [("a.wav", None)]
    assert catalog.ignored[Cause.ORPHAN_SIDECARS] == 2
    assert [row.named_audio for row in catalog.rows()] == ["a.wav"]
    assert catalog.ignored[Cause.ORPHAN_SIDECARS] == 2, "the counts are those of one pass"


@pytest.mark.parametrize("change", ["new file", "contested sidecar", "other time", "other name", "sidecar gone"])
def test_the_digest_changes_with_the_listing(tmp_path: Path, change: str) -> None:
    """Names, sizes and times tell whether the folder is the one that was planned."""
    fill(tmp_path, "a.wav", "a.wav.sidecar")
    before = scan(tmp_path).digest()

    match change:
        case "new file":
            fill(tmp_path, "b.wav")
        case "other time":
            os.utime(tmp_path / "a.wav", ns=(0, 0))
        case "contested sidecar":
            fill(tmp_path, "a.mp3", "a.sidecar")
        case "other name":
            (tmp_path / "a.wav").rename(tmp_path / "a.wave")
        case _:
            (tmp_path / "a.wav.sidecar").unlink()

    assert scan(tmp_path).digest() != before


def test_the_digest_is_that_of_the_last_pass(tmp_path: Path) -> None:
    """What was planned is what is remembered, and files that are no part of the catalog do not matter."""
    fill(tmp_path, "a.wav")
    catalog = scan(tmp_path)
    list(catalog.rows())
    planned = catalog.digest()

    fill(tmp_path, "report.txt", content=b"x")

    assert catalog.digest() == planned == scan(tmp_path).digest()


def test_a_folder_without_audio_is_no_catalog(tmp_path: Path) -> None:
    """The message says what was there instead."""
    fill(tmp_path, "cover.jpg", content=b"x")

    ignored = "1 not audio, 0 orphan sidecars, 0 unreadable, 0 outside, 0 repeated folders"

    with pytest.raises(CatalogError, match=f"no audio in this folder; ignored: {ignored}"):
        list(scan(tmp_path).rows())


def paired(folder: Path) -> dict[str, tuple[str, str | None]]:
    """Return each row's sidecar, and the one that is contested."""
    return {row.named_audio: (row.named_sidecar, row.contested_sidecar) for row in scan(folder).rows()}


def test_a_file_that_the_service_does_not_take_claims_no_sidecar_of_others(tmp_path: Path) -> None:
    """A FLAC cannot be sent as a pair, so the sidecar was not made for it."""
    fill(tmp_path, "song.flac", content=b"fLaC" + bytes(60))
    fill(tmp_path, "song.mp3", content=FRAME * 3)
    fill(tmp_path, "song.sidecar", content=b"proof")

    assert paired(tmp_path) == {"song.flac": ("", None), "song.mp3": ("song.sidecar", None)}


@pytest.mark.parametrize("wav", [WAVE, None])
def test_a_sidecar_that_may_be_of_either_is_contested(tmp_path: Path, wav: bytes | None) -> None:
    """A WAV without a credential may need it, and so may a file that cannot be read."""
    fill(tmp_path, "song.mp3", content=FRAME * 3)
    fill(tmp_path, "song.sidecar", content=b"proof")
    if wav is None:
        (tmp_path / "song.wav").symlink_to("gone.wav")
    else:
        fill(tmp_path, "song.wav", content=wav)
    catalog = scan(tmp_path)

    assert paired(tmp_path) == {"song.mp3": ("", "song.sidecar"), "song.wav": ("", "song.sidecar")}
    assert catalog.ignored[Cause.ORPHAN_SIDECARS] == 0


def test_the_first_folder_below_the_root_is_the_supplier(tmp_path: Path) -> None:
    """Its tag is known, so that conditions may name it; the digest is that of the files."""
    (tmp_path / "Alba").mkdir()
    for name in ("a.wav", "Alba/b.wav"):
        (tmp_path / name).write_bytes(b"abc")

    plain, tagged = (open_catalog(str(tmp_path), CatalogSettings(supplier_from=number)) for number in (None, 1))

    assert [dict(row.tags) for row in tagged.rows()] == [{}, {"supplier": "Alba"}]
    assert (plain.tag_names(), tagged.tag_names()) == ([], ["supplier"])
    assert plain.digest() == tagged.digest()
