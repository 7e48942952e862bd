"""Lists and bags of a folder meet its rows: what is declared, what is missing, and what cannot be compared."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import obstore
import pytest
from obstore.store import MemoryStore

from proofsweep.config.sections import CatalogSettings
from proofsweep.domain.errors import CatalogError
from proofsweep.domain.items import Declared, ManifestRow
from proofsweep.domain.reasons import Reason
from proofsweep.domain.tags import checksums_of
from proofsweep.sources.bucket import BucketFiles
from proofsweep.sources.catalog import Catalog, Cause
from proofsweep.sources.checksums import path_in_bag
from proofsweep.sources.folder import FolderScan
from proofsweep.sources.open_catalog import open_catalog
from tests.worlds.ddex_messages import Sending, Sent, Track

A, B = b"RIFF a", b"RIFF b"


def digest(algorithm: str, content: bytes) -> str:
    """The hex digest of some bytes."""
    return hashlib.new(algorithm, content).hexdigest()


MD5_A, MD5_B = digest("md5", A), digest("md5", B)
WRONG = "0" * 32


def written(folder: Path, files: Mapping[str, bytes | str]) -> Path:
    """Write files below a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def opened(location: Path | str, *checksums: str, root: Path | None = None, is_confined: bool = True) -> Catalog:
    """Open a catalog with the usual names of sidecars."""
    return open_catalog(
        str(location),
        CatalogSettings(
            root=None if root is None else str(root),
            outside="deny" if is_confined else "allow",
            checksums=checksums_of(checksums),
        ),
    )


def declared(catalog: Catalog) -> dict[str, Declared | None]:
    """Read a catalog's rows, and what is declared of each."""
    return {row.named_audio: row.declared for row in catalog.rows()}


def digests(catalog: Catalog) -> dict[str, dict[str, str]]:
    """The same as plain digests."""
    return {name: dict(each.digests) if each else {} for name, each in declared(catalog).items()}


def refused(rows: list[ManifestRow]) -> dict[str, tuple[str, str]]:
    """The rows that cannot be sent, and why."""
    return {row.named_audio: (row.refused.reason, row.refused.detail) for row in rows if row.refused}


@pytest.mark.parametrize(
    "files",
    [
        {"MD5SUMS": f"{MD5_A}  a.wav\n{MD5_B} *sub/b.wav\n"},
        {"checksums.md5": f"{MD5_A}  ./a.wav\r\n{MD5_B}  sub\\b.wav\r\n"},
        {"album.md5": f"MD5 (a.wav) = {MD5_A}\nMD5 (sub/b.wav) = {MD5_B}\n"},
        {"a.wav.md5": MD5_A, "sub/b.wav.md5": f"{MD5_B}  b.wav"},
        {"a.wav.md5": f"{MD5_A} */home/of/the/sender/a.wav", "sub/b.wav.MD5": f"{MD5_B}\n"},
        {"a.wav.md5": f"{MD5_A}  a.wav", "sub/MD5SUMS": f"{MD5_B}  b.wav"},
    ],
)
def test_lists_beside_the_audio_are_found(tmp_path: Path, files: Mapping[str, str]) -> None:
    """A list names files in its folder and below; a checksum of one file, that file."""
    catalog = opened(written(tmp_path, {"a.wav": A, "sub/b.wav": B, **files}))

    assert digests(catalog) == {"a.wav": {"md5": MD5_A}, "sub/b.wav": {"md5": MD5_B}}
    assert dict(+catalog.ignored) == {Cause.CHECKSUM_LISTS: len(files)}


def test_what_cannot_be_compared_is_counted_and_never_damage(tmp_path: Path) -> None:
    """Algorithms that are not known, digests that are none, paths that lead away, and lists that disagree."""
    lines = [
        f"{MD5_A[:-1]}  a.wav",
        f"BLAKE2b (a.wav) = {MD5_A}",
        f"{MD5_A}  ../a.wav",
        f"{MD5_A}  /etc/passwd",
        f"{MD5_A}  https://example.org/a.wav",
        rf"{MD5_A}  C:\a.wav",
        "# a comment",
        "",
    ]
    files = {
        "a.wav": A,
        "b.wav": B,
        "MD5SUMS": "\n".join(lines),
        "x.md5": f"{MD5_B}  b.wav",
        "y.md5": f"{WRONG}  b.wav",
    }
    catalog = opened(written(tmp_path / "drop", files))

    assert digests(catalog) == {"a.wav": {}, "b.wav": {}}
    assert catalog.ignored[Cause.UNUSED_CHECKSUMS] == 6 + 1
    assert (catalog.ignored[Cause.CHECKSUM_LISTS], catalog.ignored[Cause.UNREADABLE_LISTS]) == (3, 0)


@pytest.mark.parametrize(
    ("content", "unused"),
    [
        (b"\xff\xfe\x00\xd8\x00", 0),
        ("x\n" * 2_000 + f"{MD5_A}  a.wav\n", 1_001),  # a supplier may send 250 MiB of anything under such a name
        (f"{MD5_A}  a.wav\n" * 3_000 + "x" * 10_000, 0),  # its last line may be cut, and its end is not known
        (Path("nowhere"), 0),
        (Path("MD5SUMS"), 0),  # a link cannot make us read other files of this machine
    ],
)
def test_a_list_that_was_found_and_cannot_be_read_stops_nothing(
    tmp_path: Path, content: bytes | str | Path, unused: int
) -> None:
    """It is counted, and nothing of it is kept."""
    written(tmp_path, {"drop/a.wav": A, "MD5SUMS": f"{MD5_A}  a.wav"})
    if isinstance(content, Path):
        (tmp_path / "drop" / "MD5SUMS").symlink_to(tmp_path / content)
    else:
        written(tmp_path, {"drop/MD5SUMS": content})
    catalog = opened(tmp_path / "drop")

    assert digests(catalog) == {"a.wav": {}}
    assert catalog.ignored[Cause.UNREADABLE_LISTS] == 1
    assert catalog.ignored[Cause.UNUSED_CHECKSUMS] == unused


@pytest.mark.parametrize("place", ["drop/sub/list", "list"])
def test_a_named_list_is_relative_to_itself_or_to_the_root(tmp_path: Path, place: str) -> None:
    """To the root if it lies elsewhere; its algorithm is known by the length. It goes before lists that were found."""
    path = "../a.wav" if place.startswith("drop") else "a.wav"
    written(
        tmp_path,
        {
            "drop/a.wav": A,
            "drop/MD5SUMS": f"{WRONG}  a.wav",
            place: f"{digest('sha1', A)}  {path}\n{MD5_A}  {tmp_path}/drop/a.wav",
        },
    )

    catalog = opened(tmp_path / "drop", str(tmp_path / place))

    assert digests(catalog) == {"a.wav": {"sha1": digest("sha1", A), "md5": MD5_A}}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "There is no such file."),
        ("<html>\n", "there is no checksum in it"),
        ("", "there is no checksum in it"),
        (f"{MD5_A}  /elsewhere/a.wav", "all of its paths lead out of the catalog's root"),
    ],
)
def test_a_named_list_that_says_nothing_is_refused(tmp_path: Path, content: str | None, words: str) -> None:
    """In one line, which names it."""
    written(tmp_path, {"drop/a.wav": A} | ({} if content is None else {"mine": content}))

    with pytest.raises(CatalogError) as raised:
        list(opened(tmp_path / "drop", str(tmp_path / "mine")).rows())

    assert words in raised.value.message
    assert raised.value.message.startswith(f"{tmp_path}/mine: ")


def test_a_manifest_has_the_lists_beside_its_audio(tmp_path: Path) -> None:
    """Of the folders of its rows, each once, and of those above them up to the root."""
    written(tmp_path, {"MD5SUMS": f"{WRONG}  drop/b.wav"})
    files = {"cd/1/a.wav": A, "cd/1/a.wav.md5": MD5_A, "b.wav": B, "MD5SUMS": f"{MD5_B}  b.wav\n{MD5_A}  cd/1/a.wav"}
    files |= {"m.csv": "audio\ncd/1/a.wav\nb.wav\nnowhere/c.wav\n"}
    catalog = opened(written(tmp_path / "drop", files) / "m.csv")

    assert digests(catalog) == {"cd/1/a.wav": {"md5": MD5_A}, "b.wav": {"md5": MD5_B}, "nowhere/c.wav": {}}
    assert dict(+catalog.ignored) == {Cause.CHECKSUM_LISTS: 2}


def test_a_named_column_of_a_manifest_holds_digests(tmp_path: Path) -> None:
    """It is no tag then, as others are; a cell that holds none is counted, and an empty one says nothing."""
    content = f"audio,MD5,Pruefsumme,sha1\na.wav,{MD5_A},{digest('sha256', A)},x\nb.wav,broken,,\n"
    written(tmp_path, {"a.wav": A, "b.wav": B, "m.csv": content})
    catalog = opened(tmp_path / "m.csv", "column:md5", "column:Pruefsumme:sha-256")

    assert digests(catalog) == {"a.wav": {"md5": MD5_A, "sha256": digest("sha256", A)}, "b.wav": {}}
    assert [dict(row.tags) for row in catalog.rows()] == [{"sha1": "x"}, {}]
    assert catalog.tag_names() == ["sha1"]
    assert dict(+catalog.ignored) == {Cause.UNUSED_CHECKSUMS: 1}


def test_a_named_column_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """The line names the columns that there are."""
    with pytest.raises(CatalogError) as raised:
        opened(written(tmp_path, {"a.wav": A, "m.csv": "audio,title\na.wav,x\n"}) / "m.csv", "column:md5")

    assert "no column is named md5; the columns are: audio, title" in raised.value.message


def test_lists_of_a_bucket_are_read_as_those_of_a_folder() -> None:
    """Through the same port; the ETag of an object is never its MD5."""
    store = MemoryStore()
    for key, content in {
        "drop/a.wav": A,
        "drop/cd/b.wav": B,
        "drop/c.wav": B,
        "drop/MD5SUMS": f"{WRONG}  cd/b.wav\n{MD5_A}  ../drop/c.wav\n".encode(),
        "drop/a.wav.md5": f"{MD5_A} *a.wav".encode(),
        "drop/bag/bagit.txt": b"BagIt-Version: 1.0\n",
        "drop/bag/manifest-md5.txt": f"{MD5_B}  data/gone.wav\n".encode(),
    }.items():
        obstore.put(store, key, content)
    catalog = FolderScan("s3://b/drop", BucketFiles(lambda _root: store))

    rows = list(catalog.rows())

    assert {row.named_audio: row.declared for row in rows} == {
        "a.wav": Declared(digests={"md5": MD5_A}),
        "c.wav": None,
        "cd/b.wav": Declared(digests={"md5": WRONG}),
        "bag/data/gone.wav": Declared(digests={"md5": MD5_B}),
    }
    assert [*refused(rows)] == ["bag/data/gone.wav"]
    assert rows[-1].audio == "s3://b/drop/bag/data/gone.wav"
    assert catalog.ignored[Cause.UNUSED_CHECKSUMS] == 1


@pytest.mark.parametrize("name", ["checksums.txt", "1/resources/checksums.txt"])
def test_a_list_beside_a_delivery_says_what_its_message_does_not(tmp_path: Path, name: str) -> None:
    """A message goes first; the list is no audio that nobody named."""
    folder = tmp_path / "1" / "resources"
    written(folder, {"a.wav": A, "b.wav": B})
    files = [Sent(location="resources/a.wav", algorithm="MD5", digest=MD5_A), "resources/b.wav"]
    tracks = [Track(isrc=f"QZAAA260000{number}", files=[file]) for number, file in enumerate(files)]
    (tmp_path / "1" / "1.xml").write_text(Sending(tracks=tracks).text())
    prefix = "" if "/" in name else "1/resources/"
    written(tmp_path, {name: f"{WRONG}  {prefix}a.wav\n{digest('sha1', B)} *{prefix}b.wav\n"})

    catalog = opened(tmp_path)

    assert [*digests(catalog).values()] == [{"md5": MD5_A}, {"sha1": digest("sha1", B)}]
    assert catalog.ignored[Cause.CHECKSUM_LISTS] == 1
    assert catalog.ignored[Cause.NOT_AUDIO] == 0


BAG = {
    "bagit.txt": "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n",
    "bag-info.txt": "Source-Organization: x\n",
    "tagmanifest-md5.txt": f"{WRONG}  bagit.txt\n",
    "manifest-md5.txt": f"{MD5_A}  data/a.wav\n{MD5_B}  data/cd/50%25.wav\n{WRONG}  data/cover.jpg\n",
    "manifest-sha256.txt": f"{digest('sha256', A)}  data/a.wav\n{digest('sha256', B)}  data/cd/50%25.wav\n",
    "data/a.wav": A,
    "data/cd/50%.wav": B,
    "data/cover.jpg": b"\xff\xd8",
}


def bag(folder: Path, **changes: bytes | str | None) -> Path:
    """Write a complete bag, with changes; None leaves a file out."""
    files = {**BAG, **{name.replace("__", "/"): content for name, content in changes.items()}}
    return written(folder, {name: content for name, content in files.items() if content is not None})


@pytest.mark.parametrize("place", ["", "2026/bag"])
def test_a_bag_declares_its_payload(tmp_path: Path, place: str) -> None:
    """With each of its manifests; its tag files are no audio."""
    bag(tmp_path / "drop" / place)
    catalog = opened(tmp_path / "drop")

    assert [*digests(catalog).values()] == [
        {"md5": MD5_A, "sha256": digest("sha256", A)},
        {"md5": MD5_B, "sha256": digest("sha256", B)},
    ]
    assert dict(+catalog.ignored) == {Cause.CHECKSUM_LISTS: 2, Cause.NOT_AUDIO: 4}


def test_what_a_bag_names_and_nobody_delivered_is_missing(tmp_path: Path) -> None:
    """After the rows that are there, in the order of names; what is no audio gives no row."""
    files = {name: content for name, content in BAG.items() if not name.startswith("data/")} | {"data/x.wav": A}
    catalog = opened(written(tmp_path, {f"b/{name}": content for name, content in files.items()}))

    rows = list(catalog.rows())

    assert [row.named_audio for row in rows] == ["b/data/x.wav", "b/data/a.wav", "b/data/cd/50%.wav"]
    assert [row.number for row in rows] == [0, 1, 2]
    assert refused(rows) == {
        f"b/data/{name}": (Reason.MISSING_AUDIO, "The manifest of the bag b names this file, and it was not delivered.")
        for name in ("a.wav", "cd/50%.wav")
    }
    assert rows[1].audio == str(tmp_path / "b/data/a.wav")
    assert catalog.ignored[Cause.NOT_IN_BAG] == 1


def test_files_that_a_bag_leaves_for_others_to_fetch_are_missing(tmp_path: Path) -> None:
    """Their addresses are neither asked nor shown; one that was fetched already is complete."""
    lines = "https://secret.example/a.wav 6 data/a.wav\nhttps://secret.example/b.wav - data/cd/50%25.wav\n"
    (tmp_path / "data").mkdir()
    folder = written(tmp_path, {name: content for name, content in BAG.items() if name != "data/a.wav"})
    written(folder, {"fetch.txt": lines})

    found = refused(list(opened(folder).rows()))

    assert [*found] == ["data/a.wav"]
    assert "leaves it at an address, which is never asked: the bag is incomplete" in found["data/a.wav"][1]
    assert "secret" not in str(found)


def test_a_catalog_that_is_reached_through_a_link_has_its_digests(tmp_path: Path) -> None:
    """However its folder, and its list, are spelled."""
    written(tmp_path, {"real/cd/a.wav": A, "real/MD5SUMS": f"{MD5_A}  cd/a.wav", "real/mine": f"{MD5_B}  cd/b.wav"})
    written(tmp_path, {"real/cd/b.wav": B})
    os.symlink(tmp_path / "real", tmp_path / "link")  # noqa: PTH211 - as short

    catalog = opened(tmp_path / "link", str(tmp_path / "real" / "mine"))

    assert [*digests(catalog).values()] == [{"md5": MD5_A}, {"md5": MD5_B}]


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("data/a.wav", "data/a.wav"),
        ("./data/a.wav", "data/a.wav"),
        ("data/100%25%0A%0d.wav", "data/100%\n\r.wav"),
        ("data/50%20off.wav", "data/50%20off.wav"),
        ("a.wav", None),
        ("data/../a.wav", None),
        ("data//a.wav", None),
        ("/data/a.wav", None),
        ("data/", None),
    ],
)
def test_a_payload_path_is_in_data_and_has_three_escapes(written: str, path: str | None) -> None:
    """Any other percent sign belongs to the name."""
    assert path_in_bag(written) == path


def test_two_forms_of_unicode_name_one_file(tmp_path: Path) -> None:
    """A list that was made on a Mac decomposes its letters; bytes that are no text are kept."""
    (tmp_path / "MD5SUMS").write_bytes(f"{MD5_A}  u\u0308.wav\n".encode() + f"{MD5_B}  ".encode() + b"caf\xe9.wav\n")
    catalog = opened(written(tmp_path, {"\u00fc.wav": A, "caf\udce9.wav": B}))

    assert digests(catalog) == {"\u00fc.wav": {"md5": MD5_A}, "caf\udce9.wav": {"md5": MD5_B}}
