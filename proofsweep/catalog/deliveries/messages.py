"""What a DDEX message says of a release and its audio, whatever its version. Pure."""

import re
from typing import Final, NamedTuple

from proofsweep.model.declared import Declared, algorithm_named, hex_digest

NEW_RELEASE: Final = "NewReleaseMessage"
PURGE: Final = "PurgeReleaseMessage"
MANIFEST: Final = "ManifestMessage"

_ERN = re.compile(r"ddex\.net/+xml/+(?:\d{4}/+)?ern(?:-main)?/+v?(\d)(\d*)", re.IGNORECASE)
_MOST_DIGITS = 18


class MessageFile(NamedTuple):
    """A file that a recording is in; all as the message writes it."""

    location: str
    technical: str = ""
    size_bytes: str = ""
    algorithm: str = ""
    digest: str = ""

    @property
    def declared(self) -> Declared | None:
        """Return what can be compared with the file; a digest of an unknown algorithm, or a malformed one, cannot."""
        algorithm = algorithm_named(self.algorithm)
        digest = None if algorithm is None else hex_digest(algorithm, self.digest)
        is_size = self.size_bytes.isascii() and self.size_bytes.isdigit() and len(self.size_bytes) <= _MOST_DIGITS
        size_bytes = int(self.size_bytes) if is_size else None
        digests = {} if algorithm is None or digest is None else {algorithm: digest}
        return Declared(size_bytes=size_bytes, digests=digests) or None


class Recording(NamedTuple):
    """A sound recording; of one with several editions, each edition is one."""

    reference: str
    isrc: str
    title: str
    artist: str
    files: tuple[MessageFile, ...]


class ErnMessage(NamedTuple):
    """One message.

    Attributes:
        created: when it was made, in POSIX seconds; 0 if that cannot be read.
        sender: its DPID, or its name if it gives none.
        clips: locations of previews.
        others: locations of images, videos, texts and other resources.
    """

    is_purge: bool
    message_id: str
    thread_id: str
    created: float
    sender: str
    is_test: bool
    icpn: str
    grid: str
    catalog_number: str
    proprietary_id: str
    release_title: str
    label: str
    recordings: tuple[Recording, ...]
    clips: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def release_id(self) -> str:
        """Return what the release is known by; empty if the message gives no ID."""
        return next((each.partition(":")[2] for each in self.ids), "")

    @property
    def ids(self) -> tuple[str, ...]:
        """Return all IDs of the release with their kind; its catalog number only if it has no other."""
        kinds = {"ICPN": self.icpn, "GRid": self.grid, "ProprietaryId": self.proprietary_id}
        found = tuple(f"{kind}:{value}" for kind, value in kinds.items() if value)
        return found or ((f"CatalogNumber:{self.catalog_number}",) if self.catalog_number else ())

    @property
    def has_files(self) -> bool:
        """Whether it names audio; an update of the metadata alone does not."""
        return any(recording.files for recording in self.recordings)


def version_in(namespace: str) -> str | None:
    """Return the version that a namespace of the standard names, such as 3.8.2; None if it is none of ERN's."""
    found = _ERN.search(namespace)
    return None if found is None else ".".join((found[1], *found[2]))
