"""A manifest's columns become rows."""

import errno
import hashlib
import os
from functools import partial
from pathlib import Path

import pytest

from proofsweep.config.sections import USUAL_CATALOG, CatalogSettings
from proofsweep.domain.errors import CatalogError
from proofsweep.domain.items import ManifestRow, Mode
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.files.files import Files
from proofsweep.sources.catalog import CatalogBase
from proofsweep.sources.manifest import Manifests
from proofsweep.sources.open_catalog import open_catalog
from proofsweep.sources.preflight import work_item_of

ID_NAMES_FILES = CatalogSettings(columns={"id": "id"})


def manifest(folder: Path, *contents: str, name: str = "m.csv", settings: CatalogSettings = USUAL_CATALOG) -> Manifests:
    paths = [folder / f"{number}-{name}" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_text(content)
    return Manifests(str(paths[0]), [str(path) for path in paths], Files(), CatalogBase(str(folder)), settings=settings)


def rows_of(
    folder: Path, content: str, name: str = "m.csv", settings: CatalogSettings = USUAL_CATALOG
) -> list[ManifestRow]:
    return list(manifest(folder, content, name=name, settings=settings).rows())


def test_a_row_has_its_files_facts_and_its_tags(tmp_path: Path) -> None:
    """Audio, sidecar and the id that was chosen are ours; every further column that is not empty is a tag."""
    (tmp_path / "a.wav").write_bytes(b"abc")
    (tmp_path / "a.sidecar").write_bytes(b"p")

    (row,) = rows_of(tmp_path, " Audio ,SIDECAR,Id,ISRC,note\na.wav,a.sidecar,x-1,GB123,\n", settings=ID_NAMES_FILES)

    assert (row.number, row.item_id, dict(row.tags)) == (0, "x-1", {"ISRC": "GB123"})
    assert (row.audio, row.named_audio) == (str(tmp_path / "a.wav"), "a.wav")
    assert (row.sidecar, row.named_sidecar) == (str(tmp_path / "a.sidecar"), "a.sidecar")
    assert [facts and facts.size_bytes for facts in (row.audio_facts, row.sidecar_facts)] == [3, 1]


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("proof_id,id,sha256\n p-1 ,x,aa\n", "m.csv"),
        ("audio,id,sha256\nproof:p-1,x,aa\n", "m.csv"),
        ('{"PROOF_ID": "p-1", "id": "x", "sha256": "aa"}\n', "m.jsonl"),
    ],
)
def test_a_row_may_name_a_proof_in_place_of_a_file(tmp_path: Path, content: str, name: str) -> None:
    """Nothing is looked for on this machine; it lies in no folder, so it has no path within one."""
    settings = ID_NAMES_FILES if content.startswith("audio") else USUAL_CATALOG
    (row,) = rows_of(tmp_path, content, name, settings)

    item = work_item_of(row, "m", "sidecar")
    assert (row.audio, row.item_id, dict(row.tags)) == ("proof:p-1", "x", {"sha256": "aa"})
    assert (item.ineligible, item.mode, item.relative_path) == (None, Mode.ONE_FILE, None)
    (row,) = rows_of(tmp_path, "audio,proof_id\na.wav,p-1\n")
    assert (row.named_audio, dict(row.tags)) == ("a.wav", {"proof_id": "p-1"})


def test_what_is_said_of_a_label_s_own_lists_is_not_about_a_list_of_proofs(tmp_path: Path) -> None:
    """A list of proofs is read with the config that names the columns of the label's manifests."""
    (tmp_path / "proofs.csv").write_text("proof_id,id\np-1,x\n")
    settings = CatalogSettings(columns={"audio": "Dateipfad", "id": "none"}, checksums=["column:md5"])

    (row,) = open_catalog(str(tmp_path / "proofs.csv"), settings).rows()

    assert (row.named_audio, row.item_id) == ("proof:p-1", "x")


@pytest.mark.parametrize("content", ["audio\nproof:\n", "proof_id\n..\n", "proof_id,sidecar\np-1,a.sidecar\n"])
def test_what_is_no_proof_is_ineligible(tmp_path: Path, content: str) -> None:
    """An ID of dots would call another endpoint; a sidecar has no place beside the asset."""
    (row,) = rows_of(tmp_path, content)

    assert isinstance(row.refused, Ineligible)


@pytest.mark.parametrize("content", ["", "\n\n", "audio,id\n"])
def test_a_manifest_without_rows_is_no_catalog(tmp_path: Path, content: str) -> None:
    """There is nothing to verify, and that is not a success."""
    with pytest.raises(CatalogError, match="there is no row in it"):
        rows_of(tmp_path, content)


@pytest.mark.parametrize(
    ("cell", "shown", "words"),
    [
        ("https://host/a.wav?token=hunter2", "https://host/a.wav", "https URLs are not read"),
        ("s3:///a.wav", "s3:///a.wav", "names no bucket"),
        ("s3://me:hunter2@bucket/a.wav", "s3://bucket/a.wav", "holds a user name or password"),
        ("az://c/a.wav?sv=2&sig=hunter2", "az://c/a.wav", "the URL holds a signature"),
        ("file://host/a.wav", "file://host/a.wav", "names another machine"),
    ],
)
def test_a_location_that_is_not_read_is_the_fault_of_its_row(tmp_path: Path, cell: str, shown: str, words: str) -> None:
    """The other rows go on; the row says where it stands, and shows no secret."""
    (tmp_path / "a.wav").touch()

    good, audio, sidecar = rows_of(tmp_path, f"audio,sidecar\na.wav,\n{cell},\na.wav,{cell}\n")

    assert good.refused is None
    for row, reason, line in ((audio, Reason.MISSING_AUDIO, 3), (sidecar, Reason.MISSING_SIDECAR, 4)):
        assert row.refused is not None
        assert row.refused.reason == reason
        assert row.refused.detail.startswith(f"0-m.csv, line {line}: ")
        assert words in row.refused.detail
    assert (audio.audio, audio.named_audio, sidecar.sidecar) == (shown, shown, shown)
    assert "hunter2" not in repr((audio, sidecar))


def test_the_digest_is_that_of_the_last_pass(tmp_path: Path) -> None:
    """A plan remembers the bytes that it was made of, as sha256sum would, not what lies there when it is written."""
    catalog = manifest(tmp_path, "audio\na.wav\n", "audio\nb.wav\n")
    list(catalog.rows())

    (tmp_path / "0-m.csv").write_text("audio\nc.wav\n")

    assert catalog.digest() == hashlib.sha256(b"audio\na.wav\naudio\nb.wav\n").hexdigest()


def test_two_rows_of_one_id_and_different_audio_are_refused(tmp_path: Path) -> None:
    """Both are named, with what to do; the rows before are given, but whoever plans writes nothing before the end."""
    lists = ("audio,ID\na.wav,R1\n", "audio,ID\nb.wav,R2\na.wav,R1\nc.wav,R1\n")
    read = manifest(tmp_path, *lists, settings=ID_NAMES_FILES).rows()

    with pytest.raises(CatalogError) as refused:
        list(read)

    assert "0-m.csv, line 2, and 1-m.csv, line 4, have the same id 'R1' and different audio" in refused.value.message
    assert "so one answer would hide the other: set catalog.columns.id to 'none' if" in refused.value.message
    with pytest.raises(CatalogError, match="have the same id 'R1'"):
        rows_of(tmp_path, "audio,id\n,R1\n,R1\n")


@pytest.mark.parametrize("rows", ["a.wav,R1\n./a.wav,R1\n", "a.wav,\nb.wav,\n", "a.wav,R1\nb.wav,r1\n"])
def test_one_id_may_name_one_file_twice(tmp_path: Path, rows: str) -> None:
    """However it is spelled; rows without an id are told apart by their files."""
    assert len(rows_of(tmp_path, f"audio,ID\n{rows}")) == 2


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("m.csv", "audio,title,upc\n,x,\na.wav,,2\n,x,\n", (2, 4)),
        ("m.jsonl", '{"audio": null, "title": "x"}\n{"audio": "a.wav", "upc": "2"}\n{"title": "x"}\n', (1, 3)),
    ],
)
def test_rows_without_audio_are_one_item_each(tmp_path: Path, name: str, content: str, lines: tuple[int, int]) -> None:
    """They are told apart by their number, and shown by their line; null, absent and empty are the same."""
    rows = rows_of(tmp_path, content, name)

    first, _, last = (work_item_of(row, "m", "sidecar") for row in rows)
    shown = [f"0-{name}, line {line}" for line in lines]
    assert [row.named_audio for row in rows] == ["", "a.wav", ""]
    assert [dict(row.tags) for row in rows] == [{"title": "x"}, {"upc": "2"}, {"title": "x"}]
    assert first.item_id != last.item_id
    assert [first.relative_path, last.relative_path] == shown
    assert last.ineligible == Ineligible(Reason.MISSING_AUDIO, f"{shown[1]}: the manifest names no audio in this row.")


def test_a_column_that_was_named_must_be_there(tmp_path: Path) -> None:
    """JSON lines may leave out what is not the audio."""
    (tmp_path / "m.jsonl").write_text('{"Datei": "a.wav"}\n{"Datei": "b.wav", "Nr": "2"}\n')
    (tmp_path / "m.csv").write_text("Datei,x\na.wav,1\n")
    settings = CatalogSettings(columns={"audio": "Datei", "id": "Nr"})

    rows = open_catalog(str(tmp_path / "m.jsonl"), settings).rows()

    assert [row.item_id for row in rows] == [None, "2"]
    with pytest.raises(CatalogError, match=r"no column is named Nr; the columns are: Datei, x"):
        open_catalog(str(tmp_path / "m.csv"), settings)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("Titel,Pfad\nLied.wav,D:\\Musik\\Lied.wav\n", "the columns are: Titel, Pfad .*columns.audio = 'Pfad'"),
        ("name,type,title\na.wav,audio,One\nb.wav,audio,Two\n", "the columns are: name, .*columns.audio = 'name'"),
    ],
)
def test_a_header_without_audio_is_refused_with_a_way_out(tmp_path: Path, content: str, words: str) -> None:
    """The one of the longer paths; a cell of a data row is no name of a column, else the rows above would be titles."""
    (tmp_path / "m.csv").write_text(content)

    with pytest.raises(CatalogError, match=words):
        open_catalog(str(tmp_path / "m.csv"))


def test_windows_paths_lead_to_the_folder_that_they_stand_for(tmp_path: Path) -> None:
    """Names and ids are as seen from the root; sidecars are mapped too."""
    music, lists = tmp_path / "musik", tmp_path / "lists"
    for folder in (music / "Alba", lists):
        folder.mkdir(parents=True)
    (music / "Alba" / "a.wav").write_bytes(b"abc")
    (music / "Alba" / "a.sidecar").write_bytes(b"p")
    (lists / "m.csv").write_text("audio,sidecar\nD:\\Musik\\Alba\\a.wav,d:/musik/Alba/a.sidecar\n")
    settings = CatalogSettings(path_map=(f"D:\\Musik={music}",), root=str(music))

    catalog = open_catalog(str(lists / "m.csv"), settings)

    (row,) = catalog.rows()
    assert (row.named_audio, row.named_sidecar, row.refused) == ("Alba/a.wav", "Alba/a.sidecar", None)
    assert catalog.root == str(music)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
def test_what_lies_in_a_folder_that_cannot_be_listed_is_not_sent_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """It may be half of a pair. A folder may be entered and not listed (0711); its disk may fail.

    While this process can open too few files, no row is planned.
    """
    for name in ("a.wav", "closed/b.wav", "closed/c.wav"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"abc")
    (tmp_path / "m.csv").write_text("audio\na.wav\nclosed/b.wav\nclosed/none.wav\nclosed/c.wav\n../d.wav\n")
    listdir = os.listdir

    def refuse_one(number: int, path: str) -> list[str]:
        if path.endswith("/closed"):
            raise OSError(number, os.strerror(number))
        return listdir(path)

    monkeypatch.setattr(os, "listdir", partial(refuse_one, number))

    rows = list(open_catalog(str(tmp_path / "m.csv")).rows())

    reasons = [row.refused and row.refused.reason for row in rows]
    assert reasons == [None, *[Reason.UNREADABLE_FOLDER] * 3, Reason.OUTSIDE_CATALOG]
    assert rows[1].refused is not None
    assert rows[1].refused.detail == (
        f"m.csv, line 3: its folder cannot be listed for sidecars. The folder cannot be read: {os.strerror(number)}."
        " If no audio has one, set catalog.columns.sidecar to 'none'."
    )
    settings = CatalogSettings(columns={"sidecar": "none"})
    alone = [row.refused and row.refused.reason for row in open_catalog(str(tmp_path / "m.csv"), settings).rows()]
    assert alone == [None] * 4 + [Reason.OUTSIDE_CATALOG]
    monkeypatch.setattr(os, "listdir", partial(refuse_one, errno.EMFILE))
    with pytest.raises(CatalogError, match=r"This process cannot read more files now: Too many open files\.$"):
        list(open_catalog(str(tmp_path / "m.csv")).rows())


def test_a_sidecar_beside_audio_of_any_name_is_sent_with_it(tmp_path: Path) -> None:
    """Content says what is audio where a name does not; a cover, a text or a folder claims no sidecar."""
    for name in ("0001", "0001.sidecar", "s.wav", "s.jpg", "s.txt", "s.sidecar"):
        (tmp_path / name).write_bytes(b"\xff\xd8" if name in {"s.jpg", "s.txt"} else b"RIFF\x24\0\0\0WAVEfmt ")
    (tmp_path / "s").mkdir()
    (tmp_path / "m.csv").write_text("audio\n0001\ns.wav\n")

    sidecars = [row.named_sidecar for row in open_catalog(str(tmp_path / "m.csv")).rows()]

    assert sidecars == ["0001.sidecar", "s.sidecar"]


def test_a_very_deep_path_is_a_row(tmp_path: Path) -> None:
    """However its letters are written; functions cannot call themselves for each folder."""
    (tmp_path / "a.wav").write_bytes(b"abc")
    deep = "d/" * 1_500
    (tmp_path / "m.csv").write_text(f"audio\na.wav\n{deep}b.wav\n{deep.replace('d', 'é')}c.wav\n")

    rows = list(open_catalog(str(tmp_path / "m.csv")).rows())

    assert [row.audio_facts is not None for row in rows] == [True, False, False]


@pytest.mark.parametrize(("number", "suppliers"), [(1, ["Alba", "Bela"]), (2, ["x", None]), (3, [None, None])])
def test_a_folder_is_the_supplier_where_no_column_is(tmp_path: Path, number: int, suppliers: list[str | None]) -> None:
    """As seen from the root; a file that lies less deep or outside has none. A column of that name goes before it."""
    settings = CatalogSettings(supplier_from=number)
    (tmp_path / "m.csv").write_text("audio,isrc\nAlba/x/a.wav,X\nBela/b.wav,\ns3://b/c/d/e.wav,\nproof:p-1,\n")
    (tmp_path / "n.csv").write_text("audio,Supplier\nAlba/x/a.wav,acme\nBela/b.wav,\n")

    catalog, named = (open_catalog(str(tmp_path / name), settings) for name in ("m.csv", "n.csv"))

    assert [row.tags.get("supplier") for row in catalog.rows()] == [*suppliers, None, None]
    assert catalog.tag_names() == ["isrc", "supplier"]
    assert [dict(row.tags) for row in named.rows()] == [{"Supplier": "acme"}, {}]
