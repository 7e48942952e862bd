"""A manifest's columns become rows."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from proofsweep.catalog.manifests import Columns, Manifests
from proofsweep.catalog.open_catalog import open_catalog
from proofsweep.catalog.preflight import SizeLimits, work_item_of
from proofsweep.errors import CatalogError
from proofsweep.files.files import Files
from proofsweep.model.items import ManifestRow, Mode
from proofsweep.model.reasons import Ineligible, Reason


def manifest(folder: Path, *contents: str, name: str = "m.csv") -> Manifests:
    """Write manifests into a folder and take them as one catalog."""
    paths = [folder / f"{number}-{name}" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_text(content)
    return Manifests(str(paths[0]), str(folder), [str(path) for path in paths], Files())


def rows_of(folder: Path, content: str, name: str = "m.csv") -> list[ManifestRow]:
    """Read one manifest to its end."""
    return list(manifest(folder, content, name=name).rows())


def test_a_row_has_its_files_facts_and_its_tags(tmp_path: Path) -> None:
    """Audio, sidecar and id are ours; every further column that is not empty is a tag."""
    (tmp_path / "a.wav").write_bytes(b"abc")
    (tmp_path / "a.sidecar").write_bytes(b"p")

    (row,) = rows_of(tmp_path, " Audio ,SIDECAR,Id,ISRC,note\na.wav,a.sidecar,x-1,GB123,\n")

    assert (row.number, row.item_id, dict(row.tags)) == (0, "x-1", {"ISRC": "GB123"})
    assert (row.audio, row.named_audio) == (str(tmp_path / "a.wav"), "a.wav")
    assert (row.sidecar, row.named_sidecar) == (str(tmp_path / "a.sidecar"), "a.sidecar")
    assert row.audio_facts is not None
    assert row.sidecar_facts is not None
    assert (row.audio_facts.size_bytes, row.sidecar_facts.size_bytes) == (3, 1)


@pytest.mark.parametrize(
    ("header", "audio", "tags"),
    [
        (["audio", "isrc"], 0, {"isrc": 1}),
        (["isrc", "path"], 1, {"isrc": 0}),
        (["path", "audio"], 1, {"path": 0}),
        (["audio", "", "x"], 0, {"column (2)": 1, "x": 2}),
        (["audio", "x", "x"], 0, {"x": 1, "x (3)": 2}),
        (["audio", "X", "x"], 0, {"X": 1, "x (3)": 2}),
        (["audio", "Audio"], 0, {"Audio": 1}),
        (["title"], None, {"title": 0}),
    ],
)
def test_a_header_says_what_each_column_is(header: Sequence[str], audio: int | None, tags: dict[str, int]) -> None:
    """`audio` wins over `path`; columns without a name, or with one that is taken, are told apart by their place."""
    columns = Columns.of(header)

    assert (columns.audio, columns.tags) == (audio, tags)


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
    (row,) = rows_of(tmp_path, content, name)

    item = work_item_of(row, "m", SizeLimits())
    assert (row.audio, row.item_id, dict(row.tags)) == ("proof:p-1", "x", {"sha256": "aa"})
    assert (item.ineligible, item.mode, item.relative_path) == (None, Mode.ONE_FILE, None)


def test_a_column_of_audio_goes_before_one_of_proofs(tmp_path: Path) -> None:
    """A report has both, and is verified by its files."""
    (row,) = rows_of(tmp_path, "audio,proof_id\na.wav,p-1\n")

    assert (row.audio, dict(row.tags)) == (str(tmp_path / "a.wav"), {"proof_id": "p-1"})


@pytest.mark.parametrize(
    "content",
    ["audio\nproof:\n", "proof_id\n..\n", 'audio\n"proof: "\n', "proof_id,sidecar\np-1,a.sidecar\n"],
)
def test_what_is_no_proof_is_ineligible(tmp_path: Path, content: str) -> None:
    """An ID of dots would call another endpoint; a sidecar has no place beside the asset."""
    (row,) = rows_of(tmp_path, content)

    assert isinstance(row.refused, Ineligible)


@pytest.mark.parametrize("cell", ["", "   ", '""'])
def test_an_empty_audio_cell_is_still_a_row(tmp_path: Path, cell: str) -> None:
    """Rows in are rows out: a row that names nothing is kept."""
    (row,) = rows_of(tmp_path, f"audio,id\n{cell},x\n")

    assert (row.audio, row.item_id) == (None, "x")


def test_a_json_line_without_audio_is_still_a_row(tmp_path: Path) -> None:
    """Lines may have keys of their own; null and absent are the same."""
    lines = '{"audio": "a.wav", "isrc": "1"}\n{"upc": "2"}\n{"audio": null}\n'

    rows = rows_of(tmp_path, lines, name="m.jsonl")

    assert [(row.named_audio, dict(row.tags)) for row in rows] == [
        ("a.wav", {"isrc": "1"}),
        ("", {"upc": "2"}),
        ("", {}),
    ]


@pytest.mark.parametrize("cell", ["gone.wav", "0-m.csv/a.wav", "x" * 300, r"\ud800.wav", r"n\u0000l.wav"])
def test_a_location_where_nothing_can_be_is_simply_missing(tmp_path: Path, cell: str) -> None:
    """An impossible name is like any other missing file."""
    (row,) = rows_of(tmp_path, f'{{"audio": "{cell}"}}', name="m.jsonl")

    assert row.audio is not None
    assert (row.audio_facts, row.refused) == (None, None)


def test_what_is_no_file_says_so(tmp_path: Path) -> None:
    """A folder in the audio column is there, and is no audio."""
    (tmp_path / "folder").mkdir()

    (row,) = rows_of(tmp_path, "audio\nfolder\n")

    assert row.refused == Ineligible(Reason.UNREADABLE_FILE, "0-m.csv, line 2, audio: This is no regular file.")


def test_several_manifests_are_one_catalog(tmp_path: Path) -> None:
    """Numbers run through, an empty one among them does no harm, and each has columns of its own."""
    catalog = manifest(tmp_path, "audio\na.wav\n", "audio\n", "id,path\nx,b.wav\n")

    rows = [(row.number, row.named_audio, row.item_id) for row in catalog.rows()]

    assert rows == [(0, "a.wav", None), (1, "b.wav", "x")]


def test_a_manifest_without_audio_column_lists_what_it_has(tmp_path: Path) -> None:
    """The person sees which column was meant."""
    with pytest.raises(CatalogError, match="no column is named audio or path; the columns are: file, isrc"):
        manifest(tmp_path, "file,isrc\na.wav,1\n").check()


@pytest.mark.parametrize("content", ["", "\n\n", "audio,id\n"])
def test_a_manifest_without_rows_is_no_catalog(tmp_path: Path, content: str) -> None:
    """There is nothing to verify, and that is not a success."""
    with pytest.raises(CatalogError, match="there is no row in it"):
        rows_of(tmp_path, content)


def test_the_digest_is_that_of_the_manifests_bytes(tmp_path: Path) -> None:
    """Anybody can compute it with sha256sum."""
    catalog = manifest(tmp_path, "audio\na.wav\n", "audio\nb.wav\n")

    assert catalog.digest() == hashlib.sha256(b"audio\na.wav\naudio\nb.wav\n").hexdigest()


def test_a_manifest_is_read_as_often_as_wanted(tmp_path: Path) -> None:
    """Each pass begins at the first row, also when the one before was left early."""
    catalog = manifest(tmp_path, "audio\na.wav\nb.wav\n")
    next(catalog.rows())

    assert list(catalog.rows()) == list(catalog.rows())


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
def test_a_location_that_cannot_be_read_is_the_fault_of_its_row(
    tmp_path: Path, cell: str, shown: str, words: str
) -> None:
    """The other rows go on; the row says where it stands, and shows no secret."""
    (tmp_path / "a.wav").touch()

    good, audio, sidecar = rows_of(tmp_path, f"audio,sidecar\na.wav,\n{cell},\na.wav,{cell}\n")

    assert good.refused is None
    assert audio.refused is not None
    assert sidecar.refused is not None
    assert (audio.refused.reason, sidecar.refused.reason) == (Reason.MISSING_AUDIO, Reason.MISSING_SIDECAR)
    assert audio.refused.detail.startswith("0-m.csv, line 3: ")
    assert sidecar.refused.detail.startswith("0-m.csv, line 4: ")
    assert words in audio.refused.detail
    assert (audio.audio, audio.named_audio, sidecar.sidecar) == (shown, shown, shown)
    assert "hunter2" not in repr((audio, sidecar))


def test_the_digest_is_that_of_the_last_pass(tmp_path: Path) -> None:
    """A plan remembers the list that it was made of, not what lies there when it is written."""
    content = "audio\na.wav\n"
    catalog = manifest(tmp_path, content)
    list(catalog.rows())

    (tmp_path / "0-m.csv").write_text("audio\nb.wav\n")

    assert catalog.digest() == hashlib.sha256(content.encode()).hexdigest()


def test_a_cell_that_names_nothing_is_explained(tmp_path: Path) -> None:
    """A file that exists under such a name is fine."""
    (tmp_path / "b.wav ").touch()
    (tmp_path / "list.csv").write_text("audio\nC:\\a.wav\na.wav \nb.wav \nc.wav\n")

    rows = list(open_catalog(str(tmp_path / "list.csv"), sidecar_names=()).rows())

    details = [row.refused.detail if row.refused else None for row in rows]
    assert details[0] is not None
    assert "list.csv, line 2: There is no audio at this location (this looks like a Windows path" in details[0]
    assert details[1] is not None
    assert "begins or ends with a space" in details[1]
    assert details[2:] == [None, None]
