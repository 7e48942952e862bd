"""Manifests are read in the formats and dialects that people have."""

import bz2
import gzip
import hashlib
import io
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from proofsweep.config.sections import CatalogSettings
from proofsweep.domain.errors import CatalogError
from proofsweep.files.files import Files
from proofsweep.sources.readers import ManifestFile


def manifest_at(path: str, **said: Any) -> ManifestFile:  # noqa: ANN401 - as settings are
    return ManifestFile(path, Files(), CatalogSettings(**said))


def written(folder: Path, name: str, content: bytes | str) -> str:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def cells_of(path: str) -> list[list[str]]:
    return [list(cells) for _, _, cells in manifest_at(path).records()]


def parquet(columns: dict[str, list[object]]) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        "audio;id\na.wav;1\nb.wav;2\n",
        "audio\tid\na.wav\t1\nb.wav\t2\n",
        "audio,id\r\na.wav,1\r\nb.wav,2\r\n",
        "\ufeffaudio,id\na.wav,1\nb.wav,2\n",
        "\n\naudio,id\n\na.wav,1\n   \nb.wav,2\n\n",
        '"audio";"id"\n"a.wav";"1"\n"b.wav";"2"\n',
        'audio;"id"\na.wav;1\nb.wav;2\n',
        "audio,id\na.wav,1,\nb.wav,2, ,\n",
        "audio|id\na.wav|1\nb.wav|2\n",
        "sep=|\naudio|id\na.wav|1\nb.wav|2\n",
        '"sep=^"\r\naudio^id\r\na.wav^1\r\nb.wav^2\r\n',
        "sep=\t\naudio\tid\na.wav\t1\nb.wav\t2\n",
    ],
)
def test_every_dialect_of_csv_gives_the_same_records(tmp_path: Path, content: str) -> None:
    """Delimiters, line ends, marks and blank lines differ from one spreadsheet to another."""
    assert cells_of(written(tmp_path, "m.csv", content)) == [["a.wav", "1"], ["b.wav", "2"]]


@pytest.mark.parametrize(
    ("name", "content", "cells"),
    [
        ("m.csv", 'audio;"label, year, place"\na.wav;x\n', ["a.wav", "x"]),  # what stands between the names counts
        ("m.csv", 'audio,tag\n"a\nb, ""c"".wav", x \n', ['a\nb, "c".wav', " x "]),
        ("m.csv", b"audio,x\ncaf\xe9.wav,k\xc3\xa4se\n", ["caf\udce9.wav", "käse"]),  # a name is bytes
        (
            "m.csv",
            b"audio\n" + (b" " * 100_000 + b"\n") * 30 + b"\xe4.wav",
            ["ä.wav"],
        ),  # all of a list says how it is encoded
        ("m.csv", "audio\nGrün.wav\n".encode("cp850"), ["Gr\udc81n.wav"]),
        ("m.csv", "audio,lyrics\na.wav," + "la " * 50_000, ["a.wav", "la " * 50_000]),
        ("m.csv", "audio,sidecar,id\na.wav\n", ["a.wav", "", ""]),  # as spreadsheets leave out what is empty
        (
            "m.jsonl",
            '{"audio": "ü.wav", "n": 7, "on": true, "x": null, "l": ["ü"]}\n\n',
            ["ü.wav", "7", "true", "", '["ü"]'],
        ),
        (
            "m.parquet",
            parquet({"audio": [b"caf\xe9.wav"], "n": [1.5], "x": [None], "t": pa.array([0], pa.timestamp("s", "UTC"))}),
            ["caf\udce9.wav", "1.5", "", "1970-01-01T00:00:00+00:00"],
        ),
    ],
)
def test_cells_are_text_whatever_holds_them(tmp_path: Path, name: str, content: bytes | str, cells: list[str]) -> None:
    """Quoted cells hold anything, spaces belong to all; null is empty, bytes are names, all else is spelled out."""
    assert cells_of(written(tmp_path, name, content)) == [cells]


@pytest.mark.parametrize(("name", "text"), [("m.csv", "audio\r\nkäse.wav\r\n"), ("m.jsonl", '{"audio": "käse.wav"}\n')])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
def test_text_is_read_as_it_is_encoded(tmp_path: Path, name: str, text: str, encoding: str) -> None:
    assert cells_of(written(tmp_path, name, text.encode(encoding))) == [["käse.wav"]]


def test_a_given_encoding_goes_before_what_the_bytes_seem_to_be(tmp_path: Path) -> None:
    """A byte that it does not have stops the reading, in one line; a table that is no text has no encoding."""
    path = written(tmp_path, "m.csv", "audio\nжюл.wav\n".encode("cp1251"))
    table = written(tmp_path, "m.parquet", parquet({"audio": ["a.wav"]}))
    given = manifest_at(path, encoding="windows-1251")

    assert [list(cells) for _, _, cells in given.records()] == [["жюл.wav"]]
    assert manifest_at(table, encoding="cp1251").encoding is None
    with pytest.raises(CatalogError, match="can't decode byte"):
        list(manifest_at(path, encoding="ascii").records())


OLD_MARK = bytes.fromhex("d0cf11e0a1b11ae1")


def archive(name: str, content: bytes = b"") -> bytes:
    file = io.BytesIO()
    with ZipFile(file, "w") as packed:
        packed.writestr(name, content)
    return file.getvalue()


FORMATS = {
    **dict.fromkeys(("m.csv", "m.tsv"), b"audio\na.wav\n"),
    **dict.fromkeys(("m.jsonl", "m.ndjson"), b'{"audio": "a.wav"}'),
    "m.parquet": parquet({"audio": ["a.wav"]}),
}


@pytest.mark.parametrize(("name", "content"), FORMATS.items())
def test_every_format_may_be_packed(tmp_path: Path, name: str, content: bytes) -> None:
    """Gzip is seen by its mark, whether or not the name says it; a name alone packs nothing."""
    paths = [written(tmp_path, each, gzip.compress(content)) for each in (name, f"{name}.gz")]
    paths.append(written(tmp_path, f"plain-{name}.gz", content))

    assert [*map(cells_of, paths)] == [[["a.wav"]]] * 3


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("m.csv", b"audio,id\na.wav,1\nb.wav,2,3\n", "line 3 has 3 cells, the header 2"),
        ("m.csv", b'audio\n"never closed\n', "line 2: "),
        ("m.csv", b"audio\n" + b"x" * 4_200_000, "line 2: a cell of this row is longer than 4,194,304 characters"),
        ("m.jsonl", b'{"audio": "a.wav"}\n{"audio": \n', "line 2 is no JSON: "),
        ("m.jsonl", b"[" * 100_000, "cannot be read as a manifest"),
        ("m.csv.gz", gzip.compress(b"audio\na.wav\n", mtime=0)[:-9], "cannot be read as a manifest"),
        ("m.csv", b"PK\x03\x04\x14\0\6\0" + bytes(90), "it is no text"),
        ("m.csv", parquet({"audio": ["a.wav"]}), "it is Parquet: let its name end in .parquet"),
        ("m.jsonl", bz2.compress(b"{}"), "it is packed with bzip2: unpack it"),
        ("m.csv", b"<!DOCTYPE html><title>Sign in</title>", "it is a web page"),
        ("m.xlsx", OLD_MARK + bytes(600) + "EncryptedPackage".encode("utf-16-le"), "a password: save it as .xlsx"),
        ("m.xlsx", OLD_MARK + bytes(600) + "Workbook".encode("utf-16-le"), r"of the old kind \(.xls\): .*save it as"),
        ("m.xlsx", OLD_MARK + bytes(600), "of the old kind .* or one with a password: save it"),
        ("m.xlsx", archive("xl/workbook.bin"), r"a binary Excel workbook \(.xlsb\): .*save it as"),
        ("m.xlsx", archive("Index/Document.iwa"), "a table of Apple Numbers: .*save it as"),
        ("m.xlsx", archive("mimetype", b"application/vnd.oasis.opendocument.spreadsheet"), "a table of LibreOffice"),
        ("m.csv", archive("xl/workbook.xml"), "an Excel workbook: let its name end in .xlsx"),
        ("m.xlsx", b"audio;title\n", "it is no Excel workbook that can be read"),
        ("m.xlsx", b"\xd0\xcf\x11\xe0 locked", "it is no Excel workbook that can be read"),
        ("m.parquet", parquet({"audio": ["a.wav"]})[:-20], "cannot be read as a manifest"),
    ],
)
def test_a_broken_manifest_is_told_in_one_line(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    """The message names the file, and the line where there are lines."""
    path = written(tmp_path, name, content)

    with pytest.raises(CatalogError, match=words) as broken:
        cells_of(path)

    assert broken.value.message.startswith(f"{path}: ")
    assert "\n" not in broken.value.message


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("m.csv", b'audio,id\n\na.wav,1\n"b\n.wav",2\nc.wav,3\n', [3, 4, 6]),
        ("m.jsonl", b'\n{"audio": "a.wav"}\n\n{}\n', [2, 4]),
        ("m.parquet", parquet({"audio": ["a.wav", "b.wav"]}), [1, 2]),
    ],
)
def test_each_record_knows_its_line(tmp_path: Path, name: str, content: bytes, lines: list[int]) -> None:
    path = written(tmp_path, name, content)

    assert [line for line, _, _ in manifest_at(path).records()] == lines
    assert manifest_at("/d/caf\udce9\n.csv").words.isprintable()
    assert manifest_at(path).words == ("m.parquet, row" if name == "m.parquet" else f"{name}, line")


@pytest.mark.parametrize("name", ["m.csv", "m.jsonl", "m.parquet"])
def test_a_digest_is_of_the_file_that_was_read(tmp_path: Path, name: str) -> None:
    """Somebody puts another file in its place meanwhile: the records and the digest are those of the first one."""
    content = gzip.compress(FORMATS[name])
    path, digest = written(tmp_path, name, content), hashlib.sha256()
    records = manifest_at(path).records(digest.update)
    first = next(records)
    written(tmp_path, "other", content + b"x")

    (tmp_path / "other").rename(path)

    assert [list(cells) for _, _, cells in [first, *records]] == [["a.wav"]]
    assert digest.hexdigest() == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize(
    ("name", "content", "more"),
    [
        ("m.csv", b"audio\na.wav\nb.wav\n", b"c.wav\n"),
        ("m.jsonl", b'{"audio": "a.wav"}\n{}\n', b'{"audi'),
        ("m.parquet", parquet({"audio": ["a.wav", "b.wav"]}), b"more"),
    ],
)
def test_a_manifest_that_changes_meanwhile_is_refused(tmp_path: Path, name: str, content: bytes, more: bytes) -> None:
    """A half-written list is no catalog, also if its last line is torn."""
    path = written(tmp_path, name, content)
    records = manifest_at(path).records()
    next(records)

    with Path(path).open("ab") as file:
        file.write(more)

    with pytest.raises(CatalogError, match="It changed while it was read: let its delivery finish"):
        list(records)
