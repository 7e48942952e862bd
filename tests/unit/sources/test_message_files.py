"""Which XML files are messages."""

from pathlib import Path

import pytest

from proofsweep.domain.errors import CatalogError, SourceError
from proofsweep.domain.reasons import Reason
from proofsweep.sources.ddex_files import examine, refuse_other_xml
from proofsweep.sources.local import LocalFiles
from tests.unit.sources.held_file import HeldFile
from tests.worlds.ddex_messages import Sending, batch_manifest, purge

GOOD = Sending().content()
LAUGHS = b'<!DOCTYPE a [<!ENTITY x "x">]><ern:NewReleaseMessage xmlns:ern="http://ddex.net/xml/ern/43"/>'


def put(folder: Path, name: str, content: bytes) -> str:
    """Write a file and return its location."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    return str(folder / name)


@pytest.mark.parametrize(
    ("name", "content", "is_message", "error"),
    [
        ("111.xml", GOOD, True, None),
        ("any.XML", purge(Sending()), True, None),
        ("any.xml", LAUGHS, True, "It has a DTD (DOCTYPE), which no message may have."),
        ("any.xml", b"<NewReleaseMessage/>", True, "It holds no header, release or resource of a message."),
        ("111.xml", b"", True, "It is empty."),
        ("111.xml", b"<html><p></html>", True, "It is no well-formed XML: "),
        ("any.xml", b"<plist/>", False, None),
        ("111.xml", b"<plist/>", False, None),
        ("any.xml", batch_manifest("b", ["1/1.xml"]), False, None),
    ],
)
def test_message_is_known_by_its_root(
    tmp_path: Path, name: str, content: bytes, is_message: bool, error: str | None
) -> None:
    """A broken one is known by its root, too, or by the name of its folder."""
    found = examine(put(tmp_path / "111_20240607170334436", name, content), LocalFiles())

    assert found is not None
    assert found.is_message == is_message
    assert (found.error or "").startswith(error or "")
    assert (found.error is None) == (error is None)
    assert found.is_completion == (b"ManifestMessage" in content)


def test_manifest_that_is_cut_short_completes_no_batch(tmp_path: Path) -> None:
    """It may still be on its way."""
    found = examine(put(tmp_path / "b", "manifest.xml", batch_manifest("b", ["1/1.xml"])[:-10]), LocalFiles())

    assert found is not None
    assert (found.is_message, found.is_completion) == (False, False)


@pytest.mark.parametrize("content", [b"", b"RIFF", b"<html></html>"])
def test_other_file_is_none(tmp_path: Path, content: bytes) -> None:
    """A file without a root element, of any name, is looked at as every file is."""
    assert examine(put(tmp_path, "any.xml", content), LocalFiles()) is None
    assert examine(str(tmp_path / "gone.xml"), LocalFiles()) is None


def test_file_that_cannot_be_opened_is_none(tmp_path: Path) -> None:
    """The scan counts it."""
    (tmp_path / "folder.xml").mkdir()

    assert examine(str(tmp_path / "folder.xml"), LocalFiles()) is None


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "It is empty: ask the supplier to send the message again"),
        (LAUGHS, r"It has a DTD \(DOCTYPE\), which no message may have: ask the supplier"),
        (b'<ack:AcknowledgementMessage xmlns:ack="u"/>', "a DDEX acknowledgement"),
        (b"<CatalogListMessage/>", "a DDEX catalog list"),
        (batch_manifest("b", []), "the manifest of a DDEX batch: give the batch's folder"),
        (b"<!DOCTYPE html><html>", "an HTML page"),
    ],
)
def test_other_message_is_no_catalog(content: bytes, words: str) -> None:
    """One line says what it is, and what to do."""
    with pytest.raises(CatalogError, match=rf"^/d/a\.xml: .*{words}"):
        refuse_other_xml("/d/a.xml", HeldFile(content))


class Failing(HeldFile):
    """Cannot be read after its head."""

    def read_at(self, offset: int, most_bytes: int) -> bytes:
        """Fail, except for the head."""
        if most_bytes > 16_384:
            raise SourceError("The disk fails.", reason=Reason.UNREADABLE_FILE)
        return super().read_at(offset, most_bytes)


def test_file_that_cannot_be_read_is_no_bad_message() -> None:
    """Its supplier can do nothing about that."""
    with pytest.raises(SourceError, match="The disk fails"):
        refuse_other_xml("/d/a.xml", Failing(GOOD))
