"""Files of a catalog are read in the same way from a folder and from every kind of bucket."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ..servers.buckets import Bucket, BucketServer, S3Server
from ..worlds.bucket_world import export_bucket
from ..worlds.core import AudioFile, Files, SourceError, listed_rows, open_audio

WAVE = b"RIFF\x24\x00\x00\x00WAVEfmt "
LARGE = WAVE + bytes(range(256)) * 20_000
ODD_NAMES = [
    "two words.wav",
    " leading and trailing .wav",
    "#1 100% 'q' \"Q\".wav",
    "50%25 off + more.wav",
    "a?b&c=d;e.wav",
    "-rf.wav",
    "$(x);|*[a].wav",
    "Für Élise.wav",
    "日本語.wav",
    "Smile 😀.wav",
    "~tilde.wav",
]
"""Azure reads a backslash in a name as a slash, so there is none here."""


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A place for files, and a function that puts one there."""

    location: str
    put: Callable[[str, bytes], None]


@pytest.fixture(params=["folder", "moto", "azurite"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FilePlace:
    """An empty place, in a folder or in a bucket that this process may reach."""
    if request.param == "folder":
        return FilePlace(str(tmp_path), lambda name, content: _write(tmp_path / name, content))
    server: BucketServer = request.getfixturevalue(request.param)
    bucket = server.new_bucket()
    export_bucket(monkeypatch, bucket)
    return FilePlace(f"{bucket.url}/deliveries", lambda name, content: bucket.put(f"deliveries/{name}", content))


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def test_every_name_leads_to_its_file(place: FilePlace) -> None:
    """Spaces, percent signs, quotes and letters of all kinds: each listed file can be opened."""
    for number, name in enumerate(ODD_NAMES):
        place.put(name, WAVE + b"%d" % number)
    files = Files()

    (folder,) = files.walk(place.location)

    assert sorted(folder.files) == sorted(ODD_NAMES)
    for number, name in enumerate(ODD_NAMES):
        facts = files.facts(f"{place.location}/{name}")
        with open_audio(f"{place.location}/{name}", files) as audio:
            assert b"".join(audio.chunks()) == WAVE + b"%d" % number
            assert audio.facts == facts == folder.known.get(name, facts)


def test_bytes_are_read_at_any_offset(place: FilePlace) -> None:
    """Forward, back, across each boundary of a read, and not beyond the end."""
    place.put("large.wav", LARGE)
    opened = Files().open(f"{place.location}/large.wav")
    assert opened is not None

    with opened as file:
        for offset in (0, 1, 1024 * 1024 - 1, 1024 * 1024, 3_000_000, 17, len(LARGE) - 1):
            piece = file.read_at(offset, 4096)
            assert piece
            assert piece == LARGE[offset : offset + len(piece)]
        assert file.read_at(len(LARGE), 10) == b""
        assert file.read_at(len(LARGE) + 10, 10) == b""
        assert file.facts().size_bytes == len(LARGE)


def test_what_is_missing_is_none(place: FilePlace) -> None:
    """Neither a missing file nor a name below a file is an error."""
    place.put("a.wav", WAVE)
    files = Files()

    for name in ("b.wav", "a.wav/c.wav", "deep/er/a.wav"):
        assert files.facts(f"{place.location}/{name}") is None
        assert files.open(f"{place.location}/{name}") is None


def test_walk_goes_from_folder_to_folder_in_order(place: FilePlace) -> None:
    """Each folder comes before its subfolders, its files by name; a name that begins with a dot is hidden."""
    for name in (
        "sub/a.wav",
        "b.wav",
        "a.wav",
        "sub/deep/c.wav",
        "sub2/d.wav",
        "sub-1/e.wav",
        ".hack/f.wav",
        ".DS_Store",
    ):
        place.put(name, WAVE)

    walked = [
        (folder.location.removeprefix(place.location), folder.files, dict(folder.left_out))
        for folder in Files().walk(place.location)
    ]

    assert walked == [
        ("", ["a.wav", "b.wav"], {"hidden": [".DS_Store", ".hack"]}),
        ("/sub", ["a.wav"], {}),
        ("/sub/deep", ["c.wav"], {}),
        ("/sub-1", ["e.wav"], {}),
        ("/sub2", ["d.wav"], {}),
    ]


@pytest.mark.parametrize("is_sent", [True, False])
@pytest.mark.parametrize("content", [LARGE, WAVE], ids=["large", "small"])
def test_no_mixture_is_sent_of_a_file_that_is_replaced(place: FilePlace, content: bytes, *, is_sent: bool) -> None:
    """Either all bytes are of the file that was opened, or the reason is `source_changed`."""
    place.put("a.wav", content)

    with open_audio(f"{place.location}/a.wav", Files(), is_sent=is_sent) as audio:
        place.put("a.wav", bytes(reversed(content)))
        sent, reason = sent_or_reason(audio)

    assert (sent, reason) in [(content, None), (None, "source_changed")]


def sent_or_reason(audio: AudioFile) -> tuple[bytes | None, str | None]:
    """Read a whole file; give its bytes, or the reason why it cannot be sent."""
    try:
        return b"".join(audio.chunks()), None
    except SourceError as error:
        return None, error.reason


def test_large_object_that_is_replaced_has_its_reason(bucket: Bucket) -> None:
    """Its first MiB is read at once; the rest must be of the same version."""
    bucket.put("a.wav", LARGE)

    with open_audio(f"{bucket.url}/a.wav", Files()) as audio:
        bucket.put("a.wav", bytes(reversed(LARGE)))

        assert sent_or_reason(audio) == (None, "source_changed")


def test_objects_that_stand_for_folders_are_no_rows(moto: S3Server, s3_bucket: Bucket) -> None:
    """Consoles make an empty object with a folder's name: it is no row, and the files below it are."""
    for key in ("deliveries/", "deliveries/sub/", "deliveries/without/"):
        moto.client.put_object(Bucket=s3_bucket.url.removeprefix("s3://"), Key=key, Body=b"")
    for key in ("deliveries/a.wav", "deliveries/sub/b.wav"):
        s3_bucket.put(key, WAVE)

    _, rows = listed_rows(f"{s3_bucket.url}/deliveries")

    assert [row.named_audio for row, _ in rows] == ["a.wav", "sub/b.wav"]


def test_archived_object_has_its_reason(moto: S3Server, s3_bucket: Bucket) -> None:
    """It is listed, but its bytes must be restored first."""
    name = s3_bucket.url.removeprefix("s3://")
    moto.client.put_object(Bucket=name, Key="a.wav", Body=WAVE, StorageClass="GLACIER")
    files = Files()

    assert files.facts(f"{s3_bucket.url}/a.wav") is not None
    with pytest.raises(SourceError) as raised:
        open_audio(f"{s3_bucket.url}/a.wav", files)
    assert raised.value.reason == "archived"


def test_forbidden_object_has_its_reason(guarded: tuple[S3Server, S3Server], monkeypatch: pytest.MonkeyPatch) -> None:
    """A forbidden object is not a missing one."""
    owner, stranger = guarded
    bucket = owner.new_bucket()
    bucket.put("a.wav", WAVE)
    for name, value in stranger.environment.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(SourceError) as raised:
        open_audio(f"{bucket.url}/a.wav", Files())

    assert raised.value.reason == "source_forbidden"


def test_a_sidecar_belongs_to_one_audio(place: FilePlace) -> None:
    """Files that share its name are looked into: a WAV with a credential of its own leaves it to the MP3."""
    frame = b"\xff\xfb\x90\x00" + bytes(413)
    credentialed = (
        b"RIFF\x00\x00\x00\x00WAVE" + b"data\x00\x00\x20\x00" + bytes(2 * 1024 * 1024) + b"C2PA\x04\x00\x00\x00seal"
    )
    for name, content in {"a.wav": credentialed, "a.mp3": frame * 3, "b.wav": WAVE, "b.mp3": frame * 3}.items():
        place.put(name, content)
    for name in ("a.sidecar", "b.sidecar"):
        place.put(name, b"proof")

    _, rows = listed_rows(place.location)

    assert {row.named_audio: (row.named_sidecar, row.contested_sidecar) for row, _ in rows} == {
        "a.mp3": ("a.sidecar", None),
        "a.wav": ("", None),
        "b.mp3": ("", "b.sidecar"),
        "b.wav": ("", "b.sidecar"),
    }
