"""What the sender of a delivery is told."""

import csv
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from proofsweep.catalog.deliveries.batches import Release
from proofsweep.errors import SourceError
from proofsweep.files.files import Files
from proofsweep.files.moves import Moves
from proofsweep.ingest.acknowledge import Acknowledge, Form
from proofsweep.ingest.batches import BatchRow, DeliveredBatch
from proofsweep.model.ingest import Decision, PastAnswer
from proofsweep.model.items import ManifestRow
from proofsweep.model.known_batches import KnownBatches
from proofsweep.model.reasons import Ineligible, Reason

AT = datetime(2026, 11, 24, 12, 30, 15, 250_000, tzinfo=UTC)
ANSWER = PastAnswer(**dict.fromkeys(PastAnswer.__slots__))  # type: ignore[arg-type]  # only some cells matter


def row_of(release: str, name: str, outcome: str, reason: str | None = None, **changes: object) -> BatchRow:
    """Return a row with its answer."""
    row = ManifestRow(
        number=0,
        audio=f"{release}/resources/{name}",
        release=release,
        tags={"isrc": f"QZ{name[:1].upper()}00000001", "title": f"Song <{name}>\x00"},
    )
    answer = replace(ANSWER, outcome=outcome, reason=reason, verified_at=AT)
    return BatchRow(name, replace(row, **changes), Decision.ANSWERED, answer)  # type: ignore[arg-type]  # theirs


def batch_in(folder: Path) -> DeliveredBatch:
    """Return a batch of four releases: one is whole, one has findings, one is a test, one cannot be read."""
    at = [str(folder / "B1" / name) for name in ("r1", "r2", "r3", "r4")]
    test = Ineligible(Reason.TEST_MESSAGE, "It is a test.")
    releases = [
        Release(location=at[0], release_id="7707722999177", sender="P1", message_id="M1", title="=1+1"),
        Release(location=at[1], release_id="A1-2425G-ABC1234002-M", sender="P1", message_id="M2", title="Two"),
        Release(location=at[2], release_id="PROP-3", sender="P1", message_id="M3", is_test=True),
        Release(location=at[3], error="It has a DTD."),
    ]
    rows = [
        row_of(at[0], "a.wav", "accepted", audio_facts=None),
        row_of(at[1], "b.wav", "rejected", "tampered"),
        row_of(at[1], "c.wav", "ineligible", "missing_audio"),
        row_of(at[1], "d.wav", "ineligible", "damaged_in_delivery"),
        row_of(at[2], "e.wav", "ineligible", "test_message", refused=test),
    ]
    return DeliveredBatch(
        location=str(folder / "B1"),
        completion=str(folder / "B1/manifest.xml"),
        needs_completion=True,
        releases={each.location: each for each in releases},
        rows=rows,
    )


def writer(folder: Path, form: Form | None = "xml") -> Acknowledge:
    """Return what writes for a watched folder."""
    return Acknowledge(moves=Moves(Files()), watched=str(folder), form=form, party="PADPIDA9999")


def test_each_release_is_told_in_the_standards_words(tmp_path: Path) -> None:
    """`FileOK`, or what is wrong, in the shape of the choreography's `AcknowledgementMessage`."""
    written = writer(tmp_path)(batch_in(tmp_path), KnownBatches())

    assert written == str(tmp_path / "acknowledgements" / "ACK_B1_20261124123015250.xml")
    root = ET.fromstring(Path(written).read_bytes())  # noqa: S314 - we wrote it
    assert root.tag == "{http://ddex.net/xml/ern-c-sftp/18}AcknowledgementMessage"
    header = {each.tag: "".join(each.itertext()).strip() for each in root[0]}
    assert (header["MessageSender"], header["MessageRecipient"]) == ("PADPIDA9999", "P1")
    found = [
        (
            release[0][0].tag,
            release.findtext("ReleaseStatus"),
            [each.text for each in release.findall("AffectedResource/ISRC")],
            [each.text for each in release.findall("Acknowledgement/MessageStatus/Status")],
        )
        for release in root.findall("ReleaseStatus")
    ]
    wrong = ["ResourceNotMeetingSpecifications", "ResourceMissing", "ResourceCorrupt"]
    isrcs = ["QZB00000001", "QZC00000001", "QZD00000001"]
    assert found == [
        ("ICPN", "SuccessfullyIngestedByReleaseDistributor", [], ["FileOK"]),
        ("GRid", "ProcessingErrorAtReleaseDistributor", isrcs, wrong),
        ("ProprietaryId", "ReleaseReceivedByReleaseDistributor", [], ["FileOK"]),
        ("ProprietaryId", "ProcessingErrorAtReleaseDistributor", [], ["NewReleaseMessageInvalid"]),
    ]
    text = root.findall("ReleaseStatus")[1].findtext("Acknowledgement/MessageStatus/StatusMessage")
    assert text == "r2/resources/b.wav: the credential was changed after it was issued (tampered)"


def test_the_same_is_told_as_csv(tmp_path: Path) -> None:
    """One line for a whole release, else one for each finding; no cell is a formula."""
    written = writer(tmp_path, "csv")(batch_in(tmp_path), KnownBatches())

    with Path(written or "").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["release"], row["status"], row["isrc"], row["file"], row["reason"]) for row in rows] == [
        ("7707722999177", "FileOK", "", "", ""),
        (
            *("A1-2425G-ABC1234002-M", "ResourceNotMeetingSpecifications", "QZB00000001"),
            *("r2/resources/b.wav", "tampered"),
        ),
        ("A1-2425G-ABC1234002-M", "ResourceMissing", "QZC00000001", "r2/resources/c.wav", "missing_audio"),
        ("A1-2425G-ABC1234002-M", "ResourceCorrupt", "QZD00000001", "r2/resources/d.wav", "damaged_in_delivery"),
        ("PROP-3", "FileOK", "", "", ""),
        ("r4", "NewReleaseMessageInvalid", "", "", "unreadable_message"),
    ]
    assert rows[0]["title"] == "'=1+1"
    assert rows[1]["track"] == "Song <b.wav>\\x00"


def test_a_batch_is_told_once(tmp_path: Path) -> None:
    """Also if a pass was killed after it had written, and again only if the findings are others."""
    batch, known = batch_in(tmp_path), KnownBatches()
    write = writer(tmp_path)

    written = [write(batch, known), write(batch, known), write(batch, KnownBatches())]
    batch.rows[1].answer = replace(ANSWER, outcome="accepted", verified_at=AT.replace(second=59))
    written.append(write(batch, known))

    assert [each is not None for each in written] == [True, False, False, True]
    assert len(list((tmp_path / "acknowledgements").iterdir())) == 2


def test_nothing_is_told_if_that_is_not_wanted(tmp_path: Path) -> None:
    """No folder is made."""
    assert writer(tmp_path, None)(batch_in(tmp_path), KnownBatches()) is None
    assert list(tmp_path.iterdir()) == []


def test_a_watched_folder_that_is_a_batch_has_its_acknowledgements_inside(tmp_path: Path) -> None:
    """Nothing is written outside of the watched folder."""
    written = writer(tmp_path / "B1")(batch_in(tmp_path), KnownBatches())

    assert Path(written or "").parent == tmp_path / "B1" / "acknowledgements"


def test_an_acknowledgement_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """It is not noted as written."""
    (tmp_path / "acknowledgements").write_bytes(b"no folder")
    known = KnownBatches()

    with pytest.raises(SourceError):
        writer(tmp_path)(batch_in(tmp_path), known)
    assert known.acknowledged == {}
