"""The messages that a batch's manifest names."""

from pathlib import Path

import pytest

from proofsweep.sources.ddex_files import Batch, Release, absent_messages
from proofsweep.sources.files import Files

from ...worlds.ddex_messages import batch_manifest


def batch_in(folder: Path, content: bytes, name: str = "manifest.xml") -> Batch:
    """Return a batch of one release, with a completion file."""
    (folder / name).write_bytes(content)
    release = Release(location=str(folder / "r1"), release_id="0094631432057", message_id="M-1")
    return Batch(location=str(folder), completion=str(folder / name), releases={release.location: release})


@pytest.mark.parametrize(
    ("url", "is_there"),
    [
        ("r1/r1.xml", True),
        ("/20240607170334436/r1/message.xml", True),
        ("sftp://host/20240607170334436/r1/r1.XML", True),
        ("r%31\\r1.xml", True),
        ("elsewhere/0094631432057.xml", True),
        ("M-1", True),
        ("r2/r2.xml", False),
    ],
)
def test_a_message_is_known_by_its_id_or_by_its_folder(tmp_path: Path, url: str, *, is_there: bool) -> None:
    """However its location is written."""
    absent = absent_messages(batch_in(tmp_path, batch_manifest("b", [url])), Files())

    assert absent == ([] if is_there else [url])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("BatchComplete.txt", b"r2/r2.xml"),
        ("BatchComplete.xml", b""),
        ("manifest.xml", b"<ManifestMessage><MessageInBatch>"),
        ("manifest.xml", b"<ManifestMessage><MessageInBatch/></ManifestMessage>"),
    ],
)
def test_a_completion_file_that_names_nothing_lacks_nothing(tmp_path: Path, name: str, content: bytes) -> None:
    """Nor does a batch without one, or with one that went away."""
    batch = batch_in(tmp_path, content, name)

    assert absent_messages(batch, Files()) == []
    (tmp_path / name).unlink()
    assert absent_messages(batch, Files()) == []
    assert absent_messages(Batch(location=str(tmp_path)), Files()) == []
