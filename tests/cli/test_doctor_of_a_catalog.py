"""`doctor CATALOG` says on one screen how a catalog is read, before anything of it is sent."""

import json
import time
from pathlib import Path

import pytest

from .conftest import Command

MOST_LINES = 40


def said(proofsweep: Command, *arguments: str | Path) -> tuple[int, dict[str, list[str]]]:
    """Return the exit code and what the doctor says, by what it is about."""
    done = proofsweep("doctor", *arguments)
    by_subject: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        by_subject.setdefault(line[7:16].strip(), []).append(line[16:])
    assert done.stdout.count("\n") <= MOST_LINES
    assert done.stderr == ""
    return done.returncode, by_subject


def test_a_list_of_a_label_is_explained(
    proofsweep: Command, catalog: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns, encoding, root, pairs and zone; a row that will not be sent has its line and what to do."""
    pair = next(path for path in sorted(catalog.rglob("*.mp3")) if Path(f"{path}.sidecar").exists())
    lines = ["Titel;Pfad;Beweis;ISRC;Prüfsumme", f"a;{pair};{pair}.sidecar;DE1;", "b;nowhere.wav;;DE2;"]
    (workdir / "liste.csv").write_text("\r\n".join(lines), encoding="cp1252")
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    options = ["--column", "audio=Pfad", "--column", "sidecar=Beweis", "--id-column", "ISRC", "--root", "/"]

    code, found = said(proofsweep, "liste.csv", *options, "--checksums", "column:Prüfsumme:md5")

    assert code == 0
    assert found["columns"] == ["audio: Pfad", "sidecar: Beweis", "id: ISRC", "tag: Titel", "md5: Prüfsumme"]
    assert found["catalog"][0].startswith(f"{workdir}/liste.csv: 2 rows, 1 to send, ")
    assert found["encoding"] == ["Windows-1252, cut by semicolons; if letters are wrong, give --encoding NAME"]
    assert found["root"] == ["/, and no file outside it"]
    assert found["sidecars"] == ["1 pair"]
    assert found["rows"][0].startswith(
        "1 not sent · missing_audio: have the file delivered, or correct its name in the manifest"
    )
    assert "liste.csv, line 3" in found["rows"][0] or "no audio at this location" in found["rows"][0]
    assert found["left out"] == ["nothing"]
    assert found["zone"][0].startswith(("CET, UTC+0100", "CEST, UTC+0200"))
    monkeypatch.delenv("TZ")
    time.tzset()


def test_a_folder_is_explained(proofsweep: Command, catalog: Path, workdir: Path) -> None:
    """Lone sidecars and what is left out are counted as `plan` counts them; nothing is written."""
    code, found = said(proofsweep, catalog)
    planned = json.loads(proofsweep("plan", catalog, "--json").stdout)

    assert code == 0
    assert f"{planned['items']} rows, {planned['eligible']} to send" in found["catalog"][0]
    lone = planned["ignored"]["orphan_sidecars"]
    assert found["sidecars"] == [f"{planned['pairs']} pairs; {lone} sidecar{'s' * (lone != 1)} without audio"]
    assert f"{planned['ignored']['not_audio']} not audio" in found["left out"][0]
    assert "columns" not in found
    assert list(workdir.iterdir()) == []


def test_a_catalog_that_cannot_be_read_is_the_doctors_finding(proofsweep: Command, workdir: Path) -> None:
    """The exit code is that of the command that would read it; of a wide list the screen has a part."""
    (workdir / "other.csv").write_text("Titel;Pfad\na;song.wav\n")
    (workdir / "wide.csv").write_text(",".join(["audio", *(f"tag{n}" for n in range(80))]) + "\nsong.wav\n")

    missing, unnamed, wide = (proofsweep("doctor", name) for name in ("none.csv", "other.csv", "wide.csv"))

    assert (missing.returncode, unnamed.returncode, wide.returncode) == (2, 2, 3)
    assert "failed catalog  " in missing.stdout
    assert "--column audio=Pfad" in unnamed.stdout
    assert "tag18, tag19 and 60 more" in wide.stdout
    assert "failed catalog  " in wide.stdout


def test_findings_are_an_object_too(proofsweep: Command, catalog: Path) -> None:
    """With --json each finding has its code."""
    done = json.loads(proofsweep("doctor", catalog, "--json").stdout)

    assert done["ok"] is True
    assert {"catalog", "root", "sidecars", "left out", "zone"} <= {each["about"] for each in done["findings"]}
