"""The nouns of a delivery as a folder holds it: a batch, and the releases in it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A folder with a message, and what the message says of the release.

    If the folder holds several messages, this is the newest that can be read.

    Attributes:
        location: of the release's folder.
        release_id: the ICPN; else the GRid, the proprietary ID or the catalog number; empty if there is none.
        sender: the DPID of the sender, or its name; empty if the message cannot be read.
    """

    location: str
    release_id: str = ""
    sender: str = ""
    message_id: str = ""
    is_test: bool = False
    is_purged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Releases that were sent together.

    Attributes:
        location: of the batch's folder; a release that came alone is a batch of its own, in the same folder.
        completion: the location of the file that says that all is sent; None while it is not there.
        releases: by the location of their folders.
    """

    location: str
    completion: str | None = None
    releases: Mapping[str, Release] = field(default_factory=dict, hash=False)
