"""Lists, messages and folders write the name of one file in different ways: which file is meant, and what is said."""

import json
from collections.abc import Callable
from pathlib import Path
from unicodedata import normalize

import pytest

from ..worlds.ddex_messages import Sending, Track, put_release
from .conftest import Command, Planned

WAV = b"RIFF\x24\x00\x00\x00WAVEfmt "
NAMES = ("Björk/Jóga Änderung.wav", "Björk/Café.mp3", "Björk/Café.mp3.sidecar")


@pytest.fixture
def unsent(proofsweep: Command) -> Callable[[Path], list[dict[str, str]]]:
    """List what is wrong with each row of a catalog that is not sent."""

    def unsent(catalog: Path) -> list[dict[str, str]]:
        found: list[dict[str, str]] = json.loads(proofsweep("plan", catalog, "--list", "--json").stdout)
        return found

    return unsent


def write(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"proof" if name.lower().endswith("sidecar") else WAV)
    return folder


@pytest.mark.parametrize("there", ["NFC", "NFD"])
@pytest.mark.parametrize("listed", ["NFC", "NFD"])
def test_a_list_and_its_files_may_have_other_forms_of_unicode(
    planned: Planned, workdir: Path, there: str, listed: str
) -> None:
    """In each part of a path by itself, also with the slashes of Windows."""
    write(workdir, *(normalize(there, name) for name in NAMES))
    wav, mp3, sidecar = (normalize(listed, name) for name in NAMES)
    rows = f"{wav},\n{mp3},{sidecar}\n"
    (workdir / "list.csv").write_text("audio,sidecar\n" + rows + rows.replace("/", "\\"))

    found = planned(workdir / "list.csv")

    assert (found["eligible"], found["pairs"]) == (4, 2)


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_message_may_have_another_form_of_unicode_than_its_folders(
    planned: Planned, workdir: Path, form: str
) -> None:
    """In the file's name, and in its folder's."""
    other = {"NFC": "NFD", "NFD": "NFC"}[form]
    paths = [normalize(other, name) for name in ("resources/Jóga.wav", "resources/Björk/01.wav")]
    tracks = [Track(isrc=f"QZABC260000{number}", files=[path]) for number, path in enumerate(paths)]
    put_release(workdir / "batch" / "r1", Sending(version="43", tracks=tracks))
    write(workdir / "batch" / "r1", *(normalize(form, path) for path in paths))

    found = planned(workdir / "batch")

    assert (found["items"], found["eligible"]) == (2, 2)


def test_a_path_of_windows_is_shown_as_it_is_written(
    unsent: Callable[[Path], list[dict[str, str]]], proofsweep: Command, workdir: Path
) -> None:
    """It names the setting that helps, for sidecars too, and is never joined to a folder of ours."""
    write(workdir, "Alba/Song.wav", "Alba/song.mp3")
    (workdir / "list.csv").write_text(
        "audio,sidecar\nD:\\Musik\\Alba\\Song.wav,\n\\\\nas\\audio\\x.wav,\nAlba/song.mp3,E:\\p\\song.sidecar\n"
    )

    rows = unsent(workdir / "list.csv")
    refused = [proofsweep(*command, "D:\\Musik") for command in (["plan"], ["verify"], ["ingest"])]

    assert [row["file"] for row in rows[:2]] == ["D:\\Musik\\Alba\\Song.wav", "\\\\nas\\audio\\x.wav"]
    assert all("catalog.path_map" in row["detail"] for row in rows)
    assert not any(f"{workdir}/{drive}" in json.dumps(rows) for drive in ("D:", "E:", "\\"))
    for done in refused:
        assert (done.returncode, str(workdir) in done.stderr) == (2, False)
        assert done.stderr.startswith("proofsweep: D:\\Musik: there is no such ")
