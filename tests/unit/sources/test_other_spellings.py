"""A list finds its files under other spellings, uses them by what they are called there, and tells what is nearest."""

import os
from collections.abc import Mapping
from pathlib import Path
from unicodedata import normalize

import pytest

from proofsweep.config.sections import CatalogSettings
from proofsweep.domain.items import FileFacts, ManifestRow, WorkItem
from proofsweep.domain.reasons import Reason
from proofsweep.files.files import Files
from proofsweep.files.names import composed
from proofsweep.sources.catalog import CatalogBase
from proofsweep.sources.manifest import Manifests
from proofsweep.sources.open_catalog import open_catalog
from proofsweep.sources.preflight import work_item_of

WAVE = b"RIFF\x24\x00\x00\x00WAVEfmt "
FRAME = b"\xff\xfb\x90\x00" + bytes(413)


def put(folder: Path, *names: str, content: bytes = WAVE) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def rows_of(folder: Path, *lines: str, header: str = "audio,sidecar") -> list[ManifestRow]:
    (folder / "list.csv").write_text("\n".join([header, *lines]))
    return [*open_catalog(str(folder / "list.csv")).rows()]


def items_of(folder: Path, *lines: str, header: str = "audio,sidecar") -> list[WorkItem]:
    return [work_item_of(row, "c", "sidecar") for row in rows_of(folder, *lines, header=header)]


@pytest.mark.parametrize("written", ["alba/lied eins.WAV", "Alba /Lied Eins.wav\u00a0", "Alba\\LIED EINS.wav"])
def test_a_file_is_the_same_item_however_it_is_listed(tmp_path: Path, written: str) -> None:
    """Its ID and its path follow the name that is there; its sidecar is found as the file is."""
    put(tmp_path, "Alba/Lied Eins.wav", "Alba/Lied Eins.wav.sidecar")

    exact, other = items_of(tmp_path, "Alba/Lied Eins.wav,", f"{written},{written.strip()}.sidecar")
    (beside,) = items_of(tmp_path, written, header="audio")

    assert (other.relative_path, beside.relative_path) == ("Alba/Lied Eins.wav",) * 2
    assert beside.item_id == items_of(tmp_path, "Alba/Lied Eins.wav", header="audio")[0].item_id
    assert [item.sidecar for item in (other, beside)] == [str(tmp_path / "Alba/Lied Eins.wav.sidecar")] * 2
    assert exact.ineligible is None


def test_two_spellings_of_a_pair_are_one_item(tmp_path: Path) -> None:
    """Two rows that name the same audio and the same sidecar have one ID, and so one answer."""
    put(tmp_path, "a.wav", "s.sidecar")

    first, second = items_of(tmp_path, "a.wav,s.sidecar", "A.WAV,S.sidecar")

    assert (first.item_id, first.sidecar) == (second.item_id, second.sidecar)


def test_what_is_not_there_names_what_is_nearest(tmp_path: Path) -> None:
    """Also of a sidecar; several that differ in case alone are all told, and none is taken."""
    put(tmp_path, "Alba/Lied 01.wav", "b.wav", "B.wav", "a.wav", "a.proof")

    found = items_of(tmp_path, "Alba/Lied 1.wav,", "b.WAV,", "a.wav,a.prof", "zzz.wav,")

    details = [item.ineligible and item.ineligible.detail for item in found]
    several = "Several names differ from it in case or in letters that nobody sees: 'B.wav', 'b.wav'."
    assert [item.ineligible and item.ineligible.reason for item in found] == [
        *(Reason.MISSING_AUDIO, Reason.MISSING_AUDIO, Reason.MISSING_SIDECAR, Reason.MISSING_AUDIO)
    ]
    assert details == [
        "There is no audio at this location. There is no 'Lied 1.wav'; the nearest is 'Lied 01.wav'.",
        f"There is no audio at this location. {several}",
        "There is no sidecar at this location. There is no 'a.prof'; the nearest is 'a.proof'.",
        "There is no audio at this location.",
    ]


def test_nothing_outside_the_root_is_found_or_told(tmp_path: Path) -> None:
    """Not above it, not behind a link, and not by a name that is nearly one of there."""
    put(tmp_path, "Secret.wav", "drop/a.wav", "far/Secret.wav")
    (tmp_path / "drop" / "link").symlink_to(tmp_path / "far")

    found = items_of(tmp_path / "drop", "../secret.wav,", "link/secret.wav,", f"{tmp_path}/secrets.wav,")

    reasons = [item.ineligible and item.ineligible.reason for item in found]
    assert reasons == [Reason.OUTSIDE_CATALOG] * 3
    assert not [item for item in found if "ecret.wav'" in str(item.ineligible)]


def test_a_catalog_behind_a_link_is_searched(tmp_path: Path) -> None:
    """The root has no links in its path, and a person gives the link."""
    put(tmp_path, "disk/Alba/a.wav")
    (tmp_path / "link").symlink_to(tmp_path / "disk")

    (item,) = items_of(tmp_path / "link", "ALBA/A.wav,")

    assert (item.relative_path, item.ineligible) == ("Alba/a.wav", None)


class CaselessShare(Files):
    """A share that opens a file by its name in any case and form of Unicode, as SMB, APFS and ZFS do."""

    def facts(self, location: str) -> FileFacts | None:
        return super().facts(self._there(location))

    def in_folder(self, folder: str) -> Mapping[str, FileFacts | None]:
        return super().in_folder(self._there(folder))

    @staticmethod
    def _there(location: str) -> str:
        path = "/"
        for part in location.strip("/").split("/"):
            names = {composed(name).casefold(): name for name in os.listdir(path)}  # noqa: PTH208 - of text
            path = f"{path.rstrip('/')}/{names.get(composed(part).casefold(), part)}"
        return path


@pytest.mark.parametrize(
    "written", ["alba/LIED.wav", "alba/Lied.wav", "Alba/lied.WAV", normalize("NFD", "Alba/Größe.wav")]
)
def test_a_share_that_finds_any_spelling_hides_no_sidecar(tmp_path: Path, written: str) -> None:
    """What lies beside a file is known by the spelling of the listing."""
    put(tmp_path, "Alba/Lied.wav", "Alba/Lied.wav.sidecar", "Alba/Größe.wav", "Alba/Größe.wav.sidecar")
    (tmp_path / "list.csv").write_text(f"audio\n{written}\n")
    base = CatalogBase(str(tmp_path))
    catalog = Manifests(f"{tmp_path}/list.csv", [f"{tmp_path}/list.csv"], CaselessShare(base.boundary), base)

    (row,) = catalog.rows()

    assert row.named_audio in {"Alba/Lied.wav", "Alba/Größe.wav"}
    assert row.named_sidecar == f"{row.named_audio}.sidecar"


def test_a_list_pairs_files_as_a_scan_of_their_folder_does(tmp_path: Path) -> None:
    """A sidecar that two files share is nobody's; one that is still on its way keeps its audio back."""
    put(tmp_path, "song.wav", "song.sidecar", "a.wav", "A.wav", "a.wav.sidecar", "late.wav", "late.wav.sidecar.part")
    put(tmp_path, "song.mp3", content=FRAME)
    put(tmp_path, "half.wav", "half.wav.aria2", "away.wav", ".away.wav.sidecar.icloud", ".far.wav.icloud")

    def told(location: str) -> dict[str, str]:
        rows = (work_item_of(row, "c", "sidecar") for row in open_catalog(location, CatalogSettings()).rows())
        return {
            item.relative_path or "": str(item.ineligible.reason) if item.ineligible else item.mode for item in rows
        }

    scanned = told(str(tmp_path))
    (tmp_path / "list.csv").write_text("\n".join(["audio", *scanned, "half.wav"]))

    assert scanned == {
        "A.wav": "one_file",
        "a.wav": "legacy_pair",
        "away.wav": "stand_in",
        "far.wav": "stand_in",
        "late.wav": "unfinished",
        "song.mp3": "ambiguous_sidecar",
        "song.wav": "ambiguous_sidecar",
    }
    assert told(str(tmp_path / "list.csv")) == {**scanned, "half.wav": "unfinished"}
