"""Manifest rows and work items: what is known of a file before it is sent, and what is declared of its bytes."""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Final

from proofsweep.domain.reasons import Ineligible, Reason, about

ALGORITHMS: Final = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")
"""The algorithms that are compared, by the names that Python's hashlib gives them, the weakest first."""

_LEAST_IN_KILOBYTES: Final = 65_536  # the smallest file whose size may be declared in kilobytes
_ID_DIGITS = 32

_SAME: Final = {"sha": "sha1", "sha2": "sha256"}


Row = dict[str, object]  # one row of a table, or some of its cells
PROOF_PREFIX = "proof:"
"""Begins the location of an item that is verified by its proof ID: its audio is the asset that the service holds."""
NO_PROOF_IDS = frozenset({"", ".", ".."})
"""What cannot stand in the path of a request; a service may give a rejected credential an empty proof ID."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    size_bytes: int | None = None  # None if it says none
    # in lower-case hex, by algorithm, one of `ALGORITHMS`.
    digests: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __bool__(self) -> bool:
        return self.size_bytes is not None or bool(self.digests)

    @property
    def strongest(self) -> tuple[str, str] | None:
        for name in reversed(ALGORITHMS):
            if name in self.digests:
                return name, self.digests[name]
        return None

    def is_size(self, size_bytes: int) -> bool:
        """Whether a file of so many bytes has the declared size, in bytes or, as the standard says, in kilobytes."""
        if self.size_bytes in {None, 0, size_bytes}:  # senders who do not know the size write 0
            return True
        if size_bytes < _LEAST_IN_KILOBYTES:
            return False
        kilobytes = (size_bytes / 1_000, size_bytes / 1_024)
        return any(abs(size - self.size_bytes) < 1 for size in kilobytes)

    def with_others(self, other: "Declared") -> "Declared":
        size_bytes = other.size_bytes if self.size_bytes is None else self.size_bytes
        digests = {**other.digests, **self.digests}
        return Declared(size_bytes=size_bytes, digests=digests)


def algorithm_named(name: str) -> str | None:
    """Return the algorithm of a name as lists write it, such as `SHA-256`; None if it is not compared."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    plain = re.sub(r"^sha2(?=\d{3}$)", "sha", plain)  # OpenSSL's SHA2-256
    plain = _SAME.get(plain, plain)
    return plain if plain in ALGORITHMS else None


def hex_digest(algorithm: str, written: str) -> str | None:
    """Return a digest, written in hex or base64, in lower-case hex; None if it is no digest of the algorithm."""
    length = hashlib.new(algorithm, usedforsecurity=False).digest_size
    text = "".join(written.split())
    if re.fullmatch(rf"[0-9a-fA-F]{{{2 * length}}}", text):
        return text.lower()
    # Base64 has a second alphabet, for URLs and file names.
    is_for_urls = "-" in text or "_" in text
    altchars = b"-_" if is_for_urls else None
    try:
        content = base64.b64decode(text, altchars=altchars, validate=True)
    except (binascii.Error, ValueError):
        return None
    return content.hex() if len(content) == length else None


def declared_json(declared: Declared | None) -> str | None:
    if not declared:
        return None
    return json.dumps({"size_bytes": declared.size_bytes, **declared.digests})


def declared_from(text: str | None) -> Declared | None:
    if text is None:
        return None
    facts = json.loads(text)
    return Declared(size_bytes=facts.pop("size_bytes", None), digests=facts)


class Mode(StrEnum):
    """How a credential is delivered (contract, What the service does)."""

    ONE_FILE = "one_file"
    LEGACY_PAIR = "legacy_pair"


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What a listing says about a file without opening it; `modified` is in POSIX seconds, None if it is not known."""

    size_bytes: int
    version: str
    modified: float | None = field(default=None, compare=False)  # it is no proof of another version


class Unlisted(Enum):
    """Marks a file whose existence was not checked when planning; it is checked when the item runs."""

    UNLISTED = "unlisted"


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestRow:
    """One row of a catalog as read.

    Locations are absolute paths, or bucket URLs with the raw key. A path that is not UTF-8 holds Python's surrogate
    escapes, as `os.fsdecode` makes them.
    """

    number: int  # 0-based, unique within the catalog
    audio: str | None  # None if the manifest's cell is empty
    sidecar: str | None = None
    # named_audio, named_sidecar: the locations relative to the catalog, absolute if they lie outside it.
    named_audio: str = ""
    named_sidecar: str = ""
    is_told_by_sidecar: bool = False  # whether other rows name the same audio with another sidecar, or with none
    item_id: str | None = None  # the manifest's own `id`, if it has one
    tags: Mapping[str, str] = field(default_factory=dict)  # the manifest's further columns
    # audio_facts, sidecar_facts: None if there is no such file.
    audio_facts: FileFacts | Unlisted | None = None
    sidecar_facts: FileFacts | Unlisted | None = None
    refused: Ineligible | None = None  # why a file could not be inspected, or must not be
    where: str = ""  # the manifest and the line that say so, for a person; empty for a scan
    instead: str = ""  # of the first of its files that is not there: what is, in sentences after a blank
    contested_sidecar: str | None = None  # the name of a sidecar that this and other audio of the folder claim
    declared: Declared | None = None  # what the delivery says of the audio's bytes
    # batch, release: the folders of the delivery's batch and release; None outside of one.
    batch: str | None = None
    release: str | None = None
    judged_by: str = ""  # the versions of what else says how the audio must be: messages, lists of checksums
    is_touched: bool = False  # whether it has another time than when it was answered, and the same size

    @property
    def audio_version(self) -> str | None:
        return self.audio_facts.version if isinstance(self.audio_facts, FileFacts) else None

    @property
    def sidecar_version(self) -> str | None:
        return self.sidecar_facts.version if isinstance(self.sidecar_facts, FileFacts) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkItem:
    """One row of a plan. An item with `ineligible` set costs no call."""

    manifest_row: int
    item_id: str
    audio: str
    sidecar: str | None = None
    audio_bytes: int | None = None
    audio_version: str | None = None
    sidecar_version: str | None = None
    tags_json: str | None = None
    relative_path: str | None = None  # the audio as `relative_path_of` has it
    manifest_line: str | None = None  # the manifest and the line, as a person's editor counts it
    declared: Declared | None = None  # what the delivery says of the audio's bytes
    is_delivered: bool = False  # whether it is of a delivery, whose messages say which files there are
    ineligible: Ineligible | None = None
    audio_format: str | None = None  # of audio that was looked into and is not sent
    is_touched: bool = False  # as of its row
    earlier: Mapping[str, object] | None = field(default=None, compare=False)  # then the `verdicts` row of its answer

    @property
    def may_be_found(self) -> bool:
        """Whether a file that the listing did not show, or showed incomplete, may be there when the item runs."""
        if self.ineligible is None:
            return False
        reason = self.ineligible.reason
        # Without a folder's listing nobody knows which of its files is a pair.
        if reason == Reason.UNREADABLE_FOLDER:
            return False
        # That a delivery lacks a file is a finding: its message was read in the same folder.
        if self.is_delivered and reason == Reason.MISSING_AUDIO:
            return False
        may_change = about(reason).may_be_outage or reason == Reason.DAMAGED_IN_DELIVERY
        is_location = self.audio.startswith("/") or "://" in self.audio
        return may_change and is_location

    @property
    def mode(self) -> Mode:
        return Mode.ONE_FILE if self.sidecar is None else Mode.LEGACY_PAIR


def sidecar_key(sidecar: str | None, version: str | None) -> str | None:
    """Return what tells the sidecars of one audio apart; None for no sidecar."""
    # The name counts, too: two files may have the same size and time.
    if sidecar is None:
        return None
    name = sidecar.rpartition("/")[2]
    return f"{utf8_text(name)} {version}"


def proof_id_of(location: str) -> str | None:
    if not location.startswith(PROOF_PREFIX):
        return None
    return location.removeprefix(PROOF_PREFIX)


def version_of_audio(audio: str, file_version: str | None) -> str | None:
    """Return what tells versions of an audio apart; the asset of a proof, which the service keeps, has but one."""
    return audio if audio.startswith(PROOF_PREFIX) else file_version


def relative_path_of(row: ManifestRow) -> str | None:
    """Return a row's audio as seen from the catalog's root; None if it lies outside. Without audio, return its line."""
    if not row.audio:
        return row.where or None
    name = row.named_audio
    if not name or name.startswith(("/", PROOF_PREFIX)) or "://" in name:
        return None
    return utf8_text(name)


def modified_of(row: ManifestRow) -> float | None:
    times = list[float]()
    for facts in (row.audio_facts, row.sidecar_facts):
        if isinstance(facts, FileFacts) and facts.modified is not None:
            times.append(facts.modified)
    return max(times, default=None)


def item_id_of(row: ManifestRow, catalog_name: str) -> str:
    """Return the ID of an item, the same in every run and on every machine.

    It is the manifest's own id, or 32 hex digits made of the catalog's name and the audio's location relative to it.
    """
    if row.item_id:
        return utf8_text(row.item_id)
    # A sidecar that comes later, or goes, makes no other item: its location counts only where it tells two rows apart.
    sidecar = row.named_sidecar if row.is_told_by_sidecar else ""
    return _hashed_id(raw_bytes(catalog_name), raw_bytes(row.named_audio), raw_bytes(sidecar))


def id_without_audio(catalog_name: str, number: int) -> str:
    """Return the item ID of a row that names neither audio nor an id. Only their numbers tell such rows apart."""
    return _hashed_id(raw_bytes(catalog_name), b"row", str(number).encode())


def _hashed_id(*parts: bytes) -> str:
    # No file name can hold a NUL, so other names never join to the same bytes.
    content = b"\0".join(parts)
    return hashlib.sha256(content).hexdigest()[:_ID_DIGITS]


def raw_bytes(location: str) -> bytes:
    """Return the exact bytes of a location, UTF-8 or not; a character that no file name can hold becomes `?`."""
    try:
        return location.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a lone surrogate that stands for no byte; JSON may hold one
        return location.encode("utf-8", "replace")


def location_of(raw: bytes) -> str:
    """Return the location of which `raw_bytes` has made these bytes."""
    return raw.decode("utf-8", "surrogateescape")


def utf8_text(text: str) -> str:
    r"""Write any text as valid UTF-8; bytes that are not UTF-8 become \xNN."""
    # Measured: most text is ASCII, and a plan asks 30 times for each row of a delivery.
    if text.isascii():
        return text
    return raw_bytes(text).decode("utf-8", "backslashreplace")
