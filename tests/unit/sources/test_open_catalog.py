"""One location, whatever it names, becomes a catalog or a clear refusal."""

import glob
import os
from hashlib import sha256
from pathlib import Path

import obstore
import pytest
from obstore.store import MemoryStore

from proofsweep.domain.errors import CatalogError
from proofsweep.files.bucket_files import BucketFiles
from proofsweep.files.files import Files
from proofsweep.sources.open_catalog import open_catalog

WAVE = b"RIFF\x24\x00\x00\x00WAVEfmt "


@pytest.fixture
def drop(tmp_path: Path) -> Path:
    """A folder that holds two manifests, and audio for both."""
    folder = tmp_path / "drop 1"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.csv").write_text(f"audio\n{name}.wav\n")
        (folder / f"{name}.wav").write_bytes(WAVE)
    return folder


@pytest.mark.parametrize(
    ("base", "kind_and_name", "rows"),
    [
        ("a.csv", ("manifest", "drop 1"), ["a.wav"]),
        ("*.csv", ("manifest", "drop 1"), ["a.wav", "b.wav"]),
        (".", ("folder", "drop 1"), ["a.wav", "b.wav"]),
    ],
)
def test_a_location_names_a_manifest_a_glob_or_a_folder(
    drop: Path, monkeypatch: pytest.MonkeyPatch, base: str, kind_and_name: tuple[str, str], rows: list[str]
) -> None:
    """Relative to the working folder, as a URL or as an absolute path: it is the same catalog."""
    monkeypatch.chdir(drop)

    for location in (base, f"{drop}/{base}", f"file://{str(drop).replace(' ', '%20')}/{base}"):
        catalog = open_catalog(location)

        assert (catalog.kind, catalog.name) == kind_and_name
        assert [row.named_audio for row in catalog.rows()] == rows
        assert catalog.location.startswith(str(drop))


def test_a_list_is_read_once_however_many_ways_lead_to_it(drop: Path) -> None:
    """Else all its files are in the run as often, and each is a row."""
    (drop / "1/2").mkdir(parents=True)
    (drop / "a.csv").rename(drop / "1/2/a.csv")
    (drop / "b.csv").unlink()

    assert [row.named_audio for row in open_catalog(f"{drop}/**/**/*.csv").rows()] == ["1/2/a.wav"]


@pytest.mark.parametrize(
    ("base", "words"),
    [
        ("gone.csv", "there is no such file or folder"),
        ("gone/*.csv", "no manifest matches"),
        ("*", "this is one audio file"),
        ("fold*", "no regular file"),
        ("a.wav", "verify it with: proofsweep check"),
        ("list.zip", "no manifest: this is a ZIP archive: unpack it"),
        ("list.doc", "no manifest; these end in"),
        ("list.XLS", "no manifest: this is an Excel workbook of the old kind .*save it as .xlsx or CSV"),
        ("list.ods", "no manifest: this is a table of LibreOffice"),
        ("fifo.csv", "no regular file"),
        ("dangling.csv", "the link leads to nothing"),
    ],
)
def test_what_is_no_catalog_is_refused_with_a_way_out(drop: Path, base: str, words: str) -> None:
    """One line that names the base and says what is the matter; nothing is opened that would block."""
    (drop / "folder").mkdir()
    (drop / "list.zip").write_bytes(b"PK\x03\x04" + bytes(9))
    for name in ("list.doc", "list.XLS", "list.ods"):
        (drop / name).write_bytes(b"\0other")
    (drop / "dangling.csv").symlink_to("gone.csv")
    os.mkfifo(drop / "fifo.csv")

    with pytest.raises(CatalogError, match=words) as refused:
        open_catalog(f"{drop}/{base}")

    assert str(drop) in refused.value.message
    assert "\n" not in refused.value.message


def test_an_empty_location_is_not_the_working_folder(drop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell variable that is not set must not start a run over whatever lies about."""
    monkeypatch.chdir(drop)

    with pytest.raises(CatalogError, match="location is empty"):
        open_catalog("")


def test_a_digest_needs_no_columns(tmp_path: Path) -> None:
    """A run that goes on compares bytes; how the columns are named was said when it was planned."""
    (tmp_path / "m.csv").write_text("Datei\na.wav,too,many\n")

    catalog = open_catalog(str(tmp_path / "m.csv"), is_checked=False)

    assert catalog.digest() == sha256((tmp_path / "m.csv").read_bytes()).hexdigest()


@pytest.mark.parametrize("pattern", ["?.csv", "[ab].csv", "[!a].csv", ".*.csv", "x/*.csv"])
def test_a_pattern_matches_as_in_a_folder(tmp_path: Path, pattern: str) -> None:
    """The shell's rules hold for the last part of a URL: hidden names need a dot in the pattern."""
    store = MemoryStore()
    files = Files(buckets=BucketFiles(lambda _root: store))
    for key in ("a.csv", "b.csv", "B.csv", "c.txt", ".hidden.csv", "x/a.csv"):
        obstore.put(store, f"drop/{key}", b"x")
        (tmp_path / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / key).touch()
    matches = glob.glob(pattern, root_dir=tmp_path, recursive=True)  # noqa: PTH207 - a Path has other rules
    expected = {name for name in matches if (tmp_path / name).is_file()}

    matched = files.matches(f"s3://bucket/drop/{pattern}")
    assert matched is not None
    folder, found = matched
    urls = [url for url, _ in found]

    assert urls == sorted(f"s3://bucket/drop/{name}" for name in expected)
    assert f"s3://bucket/drop/{pattern}".startswith(f"{folder}/")
    assert urls
    assert files.matches("s3://bucket/drop/*.parquet") == ("s3://bucket/drop", [])
