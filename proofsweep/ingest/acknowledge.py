"""Say to the sender of a delivery what became of it: `FileOK` or the findings of each release, in a file beside it.

The XML is the `AcknowledgementMessage` of the standard's ERN choreography for SFTP, version 1.8. Nothing is sent.
"""

import csv
import hashlib
import json
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from io import StringIO
from itertools import groupby
from operator import attrgetter
from typing import Literal
from xml.etree import ElementTree as ET

from proofsweep.catalog.deliveries.batches import Release
from proofsweep.catalog.deliveries.deliveries import ACKNOWLEDGEMENTS
from proofsweep.errors import NameTaken
from proofsweep.files.locations import path_within
from proofsweep.files.moves import Moves
from proofsweep.ingest.batches import BatchRow, DeliveredBatch
from proofsweep.model.completion_report import defused
from proofsweep.model.known_batches import KnownBatches
from proofsweep.model.reasons import Reason, about
from proofsweep.text import printable

Form = Literal["xml", "csv"]

_NAMESPACE = "http://ddex.net/xml/ern-c-sftp/18"
# What the standard writes where a value must stand that the sender does not know.
_UNKNOWN = "#unknown#"

_OK = "FileOK"
# The standard's word for each of our reasons; any other file is whole, and does not meet what is asked of it.
_STATUS = {
    Reason.MISSING_AUDIO: "ResourceMissing",
    Reason.MISSING_SIDECAR: "ResourceMissing",
    Reason.DAMAGED_IN_DELIVERY: "ResourceCorrupt",
    Reason.EMPTY: "ResourceCorrupt",
    Reason.UNREADABLE_MESSAGE: "NewReleaseMessageInvalid",
    Reason.NOT_IN_MESSAGE: "MetadataMissing",
}
_ANY_OTHER = "ResourceNotMeetingSpecifications"

# What XML cannot hold, even escaped, beyond what `printable` writes otherwise.
_NOT_IN_XML = {0xFFFE: "?", 0xFFFF: "?"}

# The forms of a barcode (UPC, EAN or GTIN) and of a Global Release Identifier.
_ID_FORMS = {"ICPN": re.compile(r"\d{12,14}"), "GRid": re.compile(r"A1[0-9A-Z]{16}")}

_COLUMNS = ("batch", "release", "title", "message_id", "status", "isrc", "track", "file", "reason", "meaning")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finding:
    """What is said of one release, or of one of its files that was not accepted."""

    release: Release
    status: str
    isrc: str = ""
    track: str = ""
    file: str = ""
    reason: str = ""

    @property
    def text(self) -> str:
        """Return it in words."""
        named = f"{self.file}: " if self.file else ""
        return f"{named}{about(self.reason).plain} ({self.reason})" if self.reason else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledge:
    """Writes the acknowledgements of one watched folder.

    Attributes:
        form: None writes none.
        party: our own DPID; None if it is not set.
    """

    moves: Moves
    watched: str
    form: Form | None
    party: str | None

    def __call__(self, batch: DeliveredBatch, known: KnownBatches) -> str | None:
        """Write what is to be said of a batch, unless that was said; return the file. SourceError if it cannot be."""
        findings = list(_findings(batch))
        said = hashlib.sha256(json.dumps([*map(_facts, findings)]).encode()).hexdigest()[:16]
        if self.form is None or known.acknowledged.get(batch.location) == said:
            return None
        at = max(
            (each.answer.verified_at for each in batch.rows if each.answer and each.answer.verified_at), default=None
        )
        location = self._location(batch, at)
        content = self._xml(batch, findings, at) if self.form == "xml" else _csv(batch, findings)
        try:
            self.moves.create(location, content)
            written: str | None = location
        except NameTaken:  # a pass that was killed has written it
            written = None
        known.acknowledged[batch.location] = said
        return written

    def _location(self, batch: DeliveredBatch, at: datetime | None) -> str:
        """Name the file: the same name each time for the same answers."""
        above = self.watched if batch.location == self.watched else posixpath.dirname(batch.location)
        time = "" if at is None else f"_{at:%Y%m%d%H%M%S}{at.microsecond // 1000:03}"
        return posixpath.join(above, ACKNOWLEDGEMENTS, f"ACK_{posixpath.basename(batch.location)}{time}.{self.form}")

    def _xml(self, batch: DeliveredBatch, findings: Sequence[_Finding], at: datetime | None) -> bytes:
        ET.register_namespace("ack", _NAMESPACE)
        root = ET.Element(f"{{{_NAMESPACE}}}AcknowledgementMessage", AvsVersionId="4")
        header = ET.SubElement(root, "MessageHeader")
        name = posixpath.basename(batch.location)
        _add(header, "MessageId", f"ACK_{name}")
        _add(ET.SubElement(header, "MessageSender"), "PartyId", self.party or _UNKNOWN)
        _add(ET.SubElement(header, "MessageRecipient"), "PartyId", batch.sender or _UNKNOWN)
        _add(header, "MessageCreatedDateTime", "" if at is None else f"{at:%Y-%m-%dT%H:%M:%SZ}")
        for release, own in groupby(findings, key=attrgetter("release")):
            _add_release(root, name, release, list(own))
        ET.indent(root)
        content: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
        return content + b"\n"


def _add(parent: ET.Element, name: str, text: str) -> None:
    ET.SubElement(parent, name).text = printable(text).translate(_NOT_IN_XML)


def _add_release(root: ET.Element, batch: str, release: Release, findings: Sequence[_Finding]) -> None:
    is_ok = all(each.status == _OK for each in findings)
    status = ET.SubElement(root, "ReleaseStatus")
    _add(ET.SubElement(status, "ReleaseId"), _kind_of(_id_of(release)), _id_of(release))
    _add(status, "ReleaseStatus", _supply_chain_status(release, is_ok=is_ok))
    for isrc in dict.fromkeys(each.isrc for each in findings if each.isrc and each.status != _OK):
        _add(ET.SubElement(status, "AffectedResource"), "ISRC", isrc)
    acknowledgement = ET.SubElement(status, "Acknowledgement")
    _add(acknowledgement, "MessageType", "PurgeReleaseMessage" if release.is_purged else "NewReleaseMessage")
    _add(acknowledgement, "BatchId", batch)
    _add(acknowledgement, "MessageId", release.message_id or _UNKNOWN)
    for each in findings:
        message = ET.SubElement(acknowledgement, "MessageStatus")
        _add(message, "Status", each.status)
        if each.text:
            _add(message, "StatusMessage", each.text)


def _supply_chain_status(release: Release, *, is_ok: bool) -> str:
    if release.is_test or release.is_purged:
        return "ReleaseReceivedByReleaseDistributor"
    return "SuccessfullyIngestedByReleaseDistributor" if is_ok else "ProcessingErrorAtReleaseDistributor"


def _id_of(release: Release) -> str:
    """Return the ID of a release; the standard names its folder so, too."""
    return release.release_id or posixpath.basename(release.location)


def _kind_of(release_id: str) -> str:
    """Return the kind of an ID by its form."""
    kinds = (kind for kind, form in _ID_FORMS.items() if form.fullmatch(release_id.replace("-", "").upper()))
    return next(kinds, "ProprietaryId")


def _findings(batch: DeliveredBatch) -> Iterator[_Finding]:
    """Yield for each release what is wrong with its files, or that all is well; files of no release come last."""
    below: dict[str, list[BatchRow]] = {at: [] for at in batch.releases}
    others: list[BatchRow] = []
    for each in batch.rows:
        below.get(each.row.release or "", others).append(each)
    for at, rows in below.items():
        release = batch.releases[at]
        found = [_finding(batch, release, each) for each in rows if _is_wrong(each)]
        if release.error is not None and not any(each.reason == Reason.UNREADABLE_MESSAGE for each in found):
            found.append(
                _Finding(release=release, status=_STATUS[Reason.UNREADABLE_MESSAGE], reason="unreadable_message")
            )
        yield from found or [_Finding(release=release, status=_OK)]
    nowhere = Release(location=batch.location)
    yield from (_finding(batch, nowhere, each) for each in others if _is_wrong(each))


def _is_wrong(row: BatchRow) -> bool:
    return row.answer is not None and row.answer.outcome != "accepted" and not row.is_apart


def _finding(batch: DeliveredBatch, release: Release, row: BatchRow) -> _Finding:
    reason = "" if row.answer is None else row.answer.reason or ""
    status = next((word for known, word in _STATUS.items() if known == reason), _ANY_OTHER)
    tags = row.row.tags
    return _Finding(
        release=release,
        status=status,
        isrc=tags.get("isrc", ""),
        track=tags.get("title", ""),
        file=path_within(row.row.audio or "", batch.location),
        reason=reason,
    )


def _facts(finding: _Finding) -> list[str]:
    return [finding.release.location, finding.release.message_id, finding.status, finding.file, finding.reason]


def _csv(batch: DeliveredBatch, findings: Sequence[_Finding]) -> bytes:
    written = StringIO()
    writer = csv.writer(written)
    writer.writerow(_COLUMNS)
    for each in findings:
        plain = about(each.reason).plain if each.reason else ""
        cells = (
            *(posixpath.basename(batch.location), _id_of(each.release), each.release.title, each.release.message_id),
            *(each.status, each.isrc, each.track, each.file, each.reason, plain),
        )
        writer.writerow([defused(printable(cell)) for cell in cells])
    return written.getvalue().encode()
