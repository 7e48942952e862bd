"""Checksum lists and bags are read as tools write them, and meet the rows of a catalog."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from proofsweep.config.sections import CatalogSettings
from proofsweep.domain.errors import CatalogError
from proofsweep.domain.reasons import Reason
from proofsweep.domain.tags import checksums_of
from proofsweep.files.folder_listing import Cause
from proofsweep.sources import checksums
from proofsweep.sources.catalog import Catalog
from proofsweep.sources.checksums import ChecksumLine, algorithm_of_list, line_of
from proofsweep.sources.open_catalog import open_catalog
from tests.worlds.ddex_messages import Sending, Sent, Track

A, B = b"RIFF a", b"RIFF b"


def digest(algorithm: str, content: bytes) -> str:
    return hashlib.new(algorithm, content).hexdigest()


MD5 = "9e107d9d372bb6826bd81d3542a419d6"
MD5_A, MD5_B, SHA256_A = digest("md5", A), digest("md5", B), digest("sha256", A)
WRONG = "0" * 32


@pytest.mark.parametrize(
    ("line", "path"),
    [
        (f"{MD5}  a.wav", "a.wav"),
        (f"{MD5.upper()} *disc 1/a.wav", "disc 1/a.wav"),
        (f"{MD5}\ta.wav", "a.wav"),
        (rf"{MD5}  a\b.wav", r"a\b.wav"),
        (f"{MD5}  (x) = y.wav", "(x) = y.wav"),
        (f"MD5(a.wav)= {MD5}", "a.wav"),
        (f"MD5 (a (live).wav) = {MD5}", "a (live).wav"),
        (f"MD5 (a) = b.wav) = {MD5}", "a) = b.wav"),
        (MD5, ""),
        (f"{MD5} ", ""),
    ],
)
@pytest.mark.parametrize("usual", ["md5", None])
def test_a_line_is_read_as_its_tool_wrote_it(line: str, path: str, usual: str | None) -> None:
    """Of md5sum, shasum, BSD, OpenSSL, and tools that write a tab; a name may hold nearly anything."""
    assert line_of(line, usual) == ChecksumLine("md5", MD5, path)


@pytest.mark.parametrize(
    "line",
    [
        f"{SHA256_A}  a.wav",  # no MD5
        f"{MD5[:-1]}g  a.wav",
        "a.wav 1234ABCD",
        f"BLAKE2b-128 (a.wav) = {MD5}",
        f"SHA512/256 (a.wav) = {SHA256_A}",
        f"MD5 () = {MD5}",
        "MD5 (a.wav) = ",
        f"MD5 (a.wav) = {MD5} {MD5}",
        "",
        "\\",
        "MD5 (" + ") = " * 4_000 + "x y",
        "0" * 8_448,
    ],
)
def test_a_line_that_cannot_be_compared_is_none(line: str) -> None:
    """It is a finding of its list, and never damage of a file; the longest line takes no time."""
    assert line_of(line, "md5") is None


@pytest.mark.parametrize(
    ("name", "algorithm"),
    [
        ("MD5SUMS", "md5"),
        ("md5sum.txt", "md5"),
        ("SHA256SUMS.txt", "sha256"),
        ("sha512_sums", "sha512"),
        ("album.SHA1", "sha1"),
        ("song.wav.sha256", "sha256"),
        ("checksum.txt", ""),
        ("CHECKSUMS", ""),
        ("manifest-sha512.txt", "sha512"),
        *dict.fromkeys(("a.wav", "a.md5.wav", "notes.txt", "manifest.txt", "bagit.txt", "tagmanifest-md5.txt")).items(),
        *dict.fromkeys(("a.ffp", "a.sfv", "B2SUMS", "SHA3SUMS", "manifest-blake2b.txt", "SHA256SUMS.asc")).items(),
    ],
)
def test_the_name_of_a_list_says_its_algorithm(name: str, algorithm: str | None) -> None:
    """If it says one. Others are looked into as any file is; a digest of samples (`.ffp`) is not of the file."""
    assert algorithm_of_list(name) == algorithm


def written(folder: Path, files: Mapping[str, bytes | str]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def opened(location: Path | str, *checksums: str) -> Catalog:
    return open_catalog(str(location), CatalogSettings(checksums=checksums_of(checksums)))


def digests(catalog: Catalog) -> dict[str, dict[str, str]]:
    """Read a catalog's rows, and the digests that are declared of each."""
    return {row.named_audio: dict(row.declared.digests) if row.declared else {} for row in catalog.rows()}


@pytest.mark.parametrize(
    "files",
    [
        {"MD5SUMS": f"{MD5_A}  ä.wav\n{MD5_B} *sub/b.wav\n"},
        {"checksums.md5": f"{MD5_A}  ./ä.wav\r\n{MD5_B}  sub\\b.wav\r\n"},
        {"ä.wav.md5": f"{MD5_A} */home/of/the/sender/ä.wav", "sub/b.wav.MD5": f"{MD5_B}\n"},
        {"ä.wav.md5": f"{MD5_A}  ä.wav", "sub/MD5SUMS": f"{MD5_B}  b.wav"},
        {"MD5SUMS": f"{MD5_A}  ä.wav\r\n{MD5_B}  sub/b.wav".encode("utf-8-sig")},
        {"MD5SUMS": f"{MD5_A}  ä.wav\r\n{MD5_B}  sub/b.wav\r\n".encode("utf-16")},  # of PowerShell
        {"MD5SUMS": f"{MD5_A}  ä.wav\n{MD5_B}  sub/b.wav".encode("cp1252")},
    ],
)
def test_lists_beside_the_audio_are_found(tmp_path: Path, files: Mapping[str, bytes | str]) -> None:
    """A list names files in its folder and below, in any encoding; a checksum of one file, that file."""
    catalog = opened(written(tmp_path, {"ä.wav": A, "sub/b.wav": B, **files}))

    assert digests(catalog) == {"sub/b.wav": {"md5": MD5_B}, "ä.wav": {"md5": MD5_A}}
    assert dict(+catalog.ignored) == {Cause.CHECKSUM_LISTS: len(files)}


def test_what_cannot_be_compared_is_counted_and_never_damage(tmp_path: Path) -> None:
    """Algorithms that are not known, digests that are none, and paths that lead away."""
    paths = ("../a.wav", "/etc/passwd")
    unused = [f"{MD5_A[:-1]}  a.wav", f"BLAKE2b (a.wav) = {MD5_A}", *(f"{MD5_A}  {path}" for path in paths)]
    files = {"MD5SUMS": "\n".join([*unused, "# a comment", ""])}
    files |= {"x.md5": f"{MD5_B}  b.wav"}
    catalog = opened(written(tmp_path / "drop", {"a.wav": A, "b.wav": B, **files}))

    assert digests(catalog) == {"a.wav": {}, "b.wav": {"md5": MD5_B}}
    assert dict(+catalog.ignored) == {Cause.CHECKSUM_LISTS: 2, Cause.UNUSED_CHECKSUMS: 4}


def test_a_list_that_was_found_and_cannot_be_read_stops_nothing(tmp_path: Path) -> None:
    """It is counted, and nothing of it is kept; a link cannot make us read other files of this machine."""
    lists = {"1/MD5SUMS": b"\xff\xfe\x00\xd8\x00", "2/MD5SUMS": "x\n" * 2_000}
    audio = dict.fromkeys(("1/a.wav", "2/a.wav", "3/a.wav", "4/a.wav"), A)
    written(tmp_path / "drop", {**audio, **lists})
    written(tmp_path, {"MD5SUMS": f"{MD5_A}  a.wav"})
    for folder, target in {"3": "nowhere", "4": "MD5SUMS"}.items():
        (tmp_path / "drop" / folder / "MD5SUMS").symlink_to(tmp_path / target)
    catalog = opened(tmp_path / "drop")

    assert digests(catalog) == {name: {} for name in audio}
    assert dict(+catalog.ignored) == {Cause.UNUSED_CHECKSUMS: 4 + 2_000}


@pytest.mark.parametrize("place", ["drop/sub/list", "list"])
@pytest.mark.parametrize("folder", ["drop", "link"])
def test_a_named_list_is_relative_to_itself_or_to_the_root(tmp_path: Path, place: str, folder: str) -> None:
    """To the root if it lies elsewhere; its algorithm is known by the length. It goes before lists that were found."""
    path = "../a.wav" if place.startswith("drop") else "a.wav"
    own = f"{digest('sha1', A)}  {path}\n{MD5_A}  {tmp_path}/drop/a.wav"
    written(tmp_path, {"drop/a.wav": A, "drop/MD5SUMS": f"{WRONG}  a.wav", place: own})
    (tmp_path / "link").symlink_to(tmp_path / "drop")

    catalog = opened(tmp_path / folder, str(tmp_path / place))

    assert digests(catalog) == {"a.wav": {"sha1": digest("sha1", A), "md5": MD5_A}}


def test_a_list_that_says_nothing_or_has_no_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever wrote it cannot make us read for hours."""
    monkeypatch.setattr(checksums, "MOST_BYTES", 7)
    written(tmp_path, {"drop/a.wav": A, "page": "<html>\n", "long": "a\nb\ncdef\n"})
    wrong = {"gone": "There is no such file.", "page": "there is no checksum in it", "long": "has more than 7 bytes"}

    for name, words in wrong.items():
        with pytest.raises(CatalogError, match=rf"^{tmp_path}/{name}: .*{words}"):
            list(opened(tmp_path / "drop", str(tmp_path / name)).rows())


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
    content = f"audio,MD5,Pruefsumme,sha1\na.wav,{MD5_A},{SHA256_A},x\nb.wav,broken,,\n"
    written(tmp_path, {"a.wav": A, "b.wav": B, "m.csv": content})
    catalog = opened(tmp_path / "m.csv", "column:md5", "column:Pruefsumme:sha-256")

    assert digests(catalog) == {"a.wav": {"md5": MD5_A, "sha256": SHA256_A}, "b.wav": {}}
    assert [dict(row.tags) for row in catalog.rows()] == [{"sha1": "x"}, {}]
    assert catalog.tag_names() == ["sha1"]
    assert dict(+catalog.ignored) == {Cause.UNUSED_CHECKSUMS: 1}


def test_a_list_beside_a_delivery_says_what_its_message_does_not(tmp_path: Path) -> None:
    """A message goes first; the list is no audio that nobody named."""
    files = [Sent(location="resources/a.wav", algorithm="MD5", digest=MD5_A), "resources/b.wav"]
    tracks = [Track(isrc=f"QZAAA260000{number}", files=[file]) for number, file in enumerate(files)]
    found = f"{WRONG}  a.wav\n{digest('sha1', B)} *b.wav\n"
    message = {"1/1.xml": Sending(tracks=tracks).text(), "1/resources/a.wav": A, "1/resources/b.wav": B}

    catalog = opened(written(tmp_path, message | {"1/resources/checksums.txt": found}))

    assert [*digests(catalog).values()] == [{"md5": MD5_A}, {"sha1": digest("sha1", B)}]
    assert (catalog.ignored[Cause.CHECKSUM_LISTS], catalog.ignored[Cause.NOT_AUDIO]) == (1, 0)


BAG = {
    "bagit.txt": "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n",
    "bag-info.txt": "Source-Organization: x\n",
    "tagmanifest-md5.txt": f"{WRONG}  bagit.txt\n",
    "manifest-md5.txt": f"{MD5_A}  data/a.wav\n{MD5_B}  data/cd/b.wav\n{WRONG}  data/cover.jpg\n",
    "manifest-sha256.txt": f"{SHA256_A}  data/a.wav\n{digest('sha256', B)}  data/cd/b.wav\n",
    "data/a.wav": A,
    "data/cd/b.wav": B,
    "data/cover.jpg": b"\xff\xd8",
}


def test_a_bag_declares_its_payload(tmp_path: Path) -> None:
    """With each of its manifests; its tag files are no audio."""
    written(tmp_path / "drop" / "2026" / "bag", BAG)
    catalog = opened(tmp_path / "drop")

    assert [*digests(catalog).values()] == [
        {"md5": MD5_A, "sha256": SHA256_A},
        {"md5": MD5_B, "sha256": digest("sha256", B)},
    ]
    assert dict(+catalog.ignored) == {Cause.CHECKSUM_LISTS: 2, Cause.NOT_AUDIO: 4}


def test_a_bag_escapes_percent_signs_and_line_ends(tmp_path: Path) -> None:
    """RFC 8493, 2.1.3; other lists, and other escapes, are read as they are written."""
    bag = {"manifest-md5.txt": f"{MD5_A}  data/100%25 a%0d%0A.wav\n{MD5_B}  data/%20b.wav\n"}
    written(tmp_path / "bag", bag | {"data/100% a\r\n.wav": A, "data/%20b.wav": B})
    written(tmp_path / "list", {"MD5SUMS": f"{MD5_A}  100%25.wav\n", "100%25.wav": A})

    assert [*digests(opened(tmp_path / "bag")).values()] == [{"md5": MD5_B}, {"md5": MD5_A}]
    assert [*digests(opened(tmp_path / "list")).values()] == [{"md5": MD5_A}]


def test_md5sum_escapes_backslashes_and_line_ends(tmp_path: Path) -> None:
    """Its line begins with a backslash then; in all others, a backslash is a slash as Windows writes it."""
    lines = [rf"\{MD5_A}  a\\b.wav", rf"\{MD5_B} *c\nd.wav", rf"\MD5 (e\\f.wav) = {MD5_A}", rf"{MD5_B}  g\h.wav"]
    names = {"a\\b.wav": A, "c\nd.wav": B, "e\\f.wav": A, "g/h.wav": B}
    written(tmp_path, {"MD5SUMS": "\n".join(lines), **names})

    found = digests(opened(tmp_path))

    assert {name: found[name]["md5"] for name in names} == dict(zip(names, (MD5_A, MD5_B, MD5_A, MD5_B), strict=True))


def test_a_named_file_that_is_not_there_is_a_row(tmp_path: Path) -> None:
    """Of a bag and of a list, once whatever names it; what is no audio by its name is counted instead."""
    lists = {
        "bag/manifest-md5.txt": f"{MD5_A}  data/a.wav\n{MD5_B}  data/b.wav\n{MD5_B}  data/x.jpg\n{MD5_B}  data/7\n",
        "bag/manifest-sha1.txt": f"{digest('sha1', B)}  data/b.wav\n",
        "list/MD5SUMS": f"{MD5_A}  a.wav\n{MD5_A}  aa.wav\n",
        "one/gone.wav.md5": MD5_A,
    }
    catalog = opened(written(tmp_path, {"bag/data/a.wav": A, "list/a.wav": A, **lists}))

    missing = {row.named_audio: row.refused for row in catalog.rows() if row.refused}

    assert {refused.reason for refused in missing.values()} == {Reason.MISSING_AUDIO}
    assert [*missing] == ["bag/data/b.wav", "bag/data/7", "list/aa.wav"]
    assert missing["list/aa.wav"].detail == (
        "list/MD5SUMS names this file, and it is not there. There is no 'aa.wav'; the nearest is 'a.wav'."
    )
    assert catalog.ignored[Cause.UNUSED_CHECKSUMS] == 2


def test_a_list_of_another_folder_names_no_missing_files(tmp_path: Path) -> None:
    """Its lines are counted: nothing is compared with them."""
    lines = [f"{MD5_A}  delivery/Alba/{number}.wav" for number in range(3)]
    files = {"Alba/0.wav": A, "Alba/1.wav": A, "MD5SUMS": "\n".join(lines)}

    catalog = opened(written(tmp_path / "drop", files | {"m.csv": "audio\nAlba/0.wav\n"}))

    for each in (catalog, opened(tmp_path / "drop" / "m.csv")):
        assert not [row for row in each.rows() if row.refused or row.declared]
        assert each.ignored[Cause.UNUSED_CHECKSUMS] == 3


@pytest.mark.parametrize(
    ("version", "line", "meant", "other"),
    [
        ("0.97", "99%25.wav", "99%25.wav", "99%.wav"),
        ("1.0", "99%25.wav", "99%.wav", "99%25.wav"),
        ("0.97", "50%25 Aus.wav", "50% Aus.wav", "x.wav"),
        ("1.0", "50%25 Aus.wav", "50%25 Aus.wav", "x.wav"),
        ("0.97", "A%252FB.wav", "A%252FB.wav", "A%2FB.wav"),
    ],
)
def test_a_bag_of_either_version_may_have_percent_signs(
    tmp_path: Path, version: str, line: str, meant: str, other: str
) -> None:
    """The spelling of its version goes first, the other one if that is not there; no line is taken for two files."""
    bag = {"bagit.txt": f"BagIt-Version: {version}\n", "manifest-md5.txt": f"{MD5_A}  data\\{line}\n"}
    catalog = opened(written(tmp_path, bag | {f"data/{meant}": A, f"data/{other}": B}))

    assert digests(catalog) == {f"data/{meant}": {"md5": MD5_A}, f"data/{other}": {}}


def test_a_list_finds_files_as_all_lists_do(tmp_path: Path) -> None:
    """In another case, and never the digest of a file whose very name another line has."""
    lines = f"{MD5_A}  ALBA/LIED.WAV\n{MD5_B}  x.wav\n"
    catalog = opened(written(tmp_path, {"Alba/Lied.wav": A, "x.wav": B, "X.wav": A, "MD5SUMS": lines}))

    assert digests(catalog) == {"Alba/Lied.wav": {"md5": MD5_A}, "x.wav": {"md5": MD5_B}, "X.wav": {}}
    assert not [row for row in catalog.rows() if row.refused]


def test_lists_above_a_file_are_read_behind_a_link(tmp_path: Path) -> None:
    """The catalog's root has no links in its path, and its manifest was given by a link."""
    files = {"MD5SUMS": f"{MD5_A}  Alba/CD/a.wav", "m.csv": "audio\nAlba/CD/a.wav\n", "Alba/CD/a.wav": A}
    written(tmp_path / "disk", files)
    (tmp_path / "link").symlink_to(tmp_path / "disk")

    assert digests(opened(tmp_path / "link" / "m.csv")) == {"Alba/CD/a.wav": {"md5": MD5_A}}
