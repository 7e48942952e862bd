"""Lists, messages and folders write names in different ways, and hold more than deliveries: which file is meant."""

import json
import os
import subprocess
import sys
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


def write_message(release: Path, paths: list[str]) -> None:
    tracks = [Track(isrc=f"QZABC260000{number}", files=[path]) for number, path in enumerate(paths)]
    put_release(release, Sending(version="43", tracks=tracks))


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
    write_message(workdir / "batch" / "r1", paths)
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


DOTS = ("...And Loud For All/01.wav", "..Hits/01.wav", "Album/...Baby.wav", ".hack/01.wav", ".hack/02.mp3", ".DS_Store")
DOTS_IGNORED = {"hidden": 2}
NAS = (
    *("acme/song.wav", "#recycle/acme/gone.wav", "$RECYCLE.BIN/S-1-5/$R1.wav", "@Recently-Snapshot/GMT/acme/song.wav"),
    *(".snapshot/daily/song.wav", "acme/@eaDir/song.wav/SYNOAUDIO.wav", "lost+found/1.wav", ".Trash-1000/files/x.wav"),
)
DOWNLOADS = (
    *("b.wav.part", "c.WAV.CRDOWNLOAD", "d.wav.!ut", "e.wav.filepart", "big.wav.partial", "f.mp3.sidecar.part"),
    "whole.wav",
)


def test_only_one_dot_hides_a_name(planned: Planned, workdir: Path, proofsweep: Command) -> None:
    """Albums begin with two dots and more; what is hidden is counted, on the screen as well."""
    write(workdir / "folder", *DOTS)

    found = planned(workdir / "folder")

    assert (found["eligible"], found["ignored"]) == (3, DOTS_IGNORED)
    assert "ignored: 2 hidden" in proofsweep("plan", workdir / "folder").stdout


def test_a_person_excludes_more(planned: Planned, workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By names and by paths, in any case and form of Unicode; also what a message names."""
    write(workdir / "folder", "a.wav", "a_Preview.WAV", "Démos/b.wav", "x/old/c.wav", "old/d.wav")
    named = ["resources/01.wav", "resources/01_preview.wav"]
    write_message(workdir / "folder" / "r1", named)
    write(workdir / "folder" / "r1", *named)
    monkeypatch.setenv("PROOFSWEEP_CATALOG__EXCLUDE", '["*_preview.wav", "DE\u0301MOS", "x/old/"]')

    found = planned(workdir / "folder")

    assert (found["items"], found["eligible"], found["ignored"]) == (3, 3, {"excluded": 4})


def test_a_message_names_what_a_folder_leaves_out(planned: Planned, workdir: Path) -> None:
    """A hidden file that is named is sent; one that is still written is missing; none of both vanishes."""
    named = ["resources/.01.wav", "resources/02.wav", "resources/...Baby.wav"]
    write_message(workdir / "folder" / "r1", named)
    write(workdir / "folder" / "r1", named[0], named[2], "resources/02.wav.part")

    found = planned(workdir / "folder")

    assert (found["items"], found["eligible"], found["reasons"]) == (3, 2, {"missing_audio": 1})


def test_a_pass_says_what_it_leaves_out(proofsweep: Command, workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of it is verified or moved: not what lies in a recycle bin, and not a download that goes on."""
    monkeypatch.setenv("PROOFSWEEP_INGEST__SETTLE_SECONDS", "0")
    left = [name for name in (*NAS, *DOWNLOADS) if name not in {"acme/song.wav", "whole.wav"}]
    write(workdir / "drop", *left, ".hack/01.wav")

    told = proofsweep("ingest", workdir / "drop")
    document = json.loads(proofsweep("ingest", workdir / "drop", "--json").stdout)

    assert (told.returncode, told.stderr) == (0, f"proofsweep: New results store: {workdir / 'results'}\n")
    assert "nothing new; ignored: 1 hidden, 7 system folders, 6 unfinished" in told.stdout
    assert document["ignored"] == {"hidden": 1, "system_folders": 7, "unfinished": 6}
    assert not (workdir / "results" / "verdicts").exists()


def test_names_are_utf_8_whatever_the_locale(workdir: Path) -> None:
    """The same files are the same items on each machine; Python would read names as the locale says."""
    write(workdir / "in", "Björk/Jóga.wav", "Björk/gone.wav")
    (workdir / "in" / "list.csv").write_text("audio\nBjörk/Jóga.wav\nBjörk/none.wav\n", encoding="utf-8")
    odd = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "proofsweep_cli", "plan", str(workdir / "in" / "list.csv"), "--list", "--json"]

    usual, other = (
        subprocess.run(command, check=True, capture_output=True, env=os.environ | more, cwd=workdir).stdout
        for more in ({}, odd)
    )

    assert json.loads(other) == json.loads(usual)
    assert json.loads(other)[0]["file"] == "Björk/none.wav"
