"""A download that is passed on while it arrives: an asset goes from its URL into a slot, and touches no disk."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from proofsweep.client.connection_failures import BROKEN_EXCHANGE
from proofsweep.domain.formats import HEAD_BYTES, AudioFormat, format_of
from proofsweep.domain.items import FileFacts
from proofsweep.domain.reasons import Reason
from proofsweep.errors import ProofsweepError, SourceError

# By how much a download may pass its bound before the transport cuts it off. Chosen: more than a piece of it, so that
# the one who uses it sees that it is too large; twice reads twice as much for nothing.
_SLACK_BYTES = 1024 * 1024


class AssetBody:
    """The audio of a download, to be sent once.

    Attributes:
        facts: its size; the service names no version.
        audio_format: judged by its first bytes.
        sha256: hex digest of all bytes, once they were sent.
    """

    def __init__(self, pieces: Iterable[bytes], size_bytes: int | None, most_bytes: int) -> None:
        """Read the first bytes; without a known size all of it, since a slot needs the size first.

        Raises:
            SourceError: `too_large` if its size is not known and more than `most_bytes`.
        """
        self._pieces = iter(pieces)
        head, held = list[bytes](), 0
        while held < HEAD_BYTES or size_bytes is None:
            piece = next(self._pieces, None)
            if piece is None:
                break
            head.append(piece)
            held += len(piece)
            if size_bytes is None and held > most_bytes:
                raise SourceError(f"The asset has more than {most_bytes:,} bytes.", reason=Reason.TOO_LARGE)
        self._head = head
        self.facts = FileFacts(held if size_bytes is None else size_bytes, version="")
        self.audio_format: AudioFormat = format_of(b"".join(head)[:HEAD_BYTES], tagged=False)
        self.sha256: str | None = None

    def chunks(self) -> Iterator[bytes]:
        """Give the whole asset, once.

        Raises:
            SourceError: the download breaks off.
        """
        digest = hashlib.sha256()
        for piece in chain(self._head, self._pieces):
            digest.update(piece)
            yield piece
        self._head = []
        self.sha256 = digest.hexdigest()


class AssetRelay:
    """Where a download goes that is used while it arrives; `most_bytes` bounds it.

    Attributes:
        error: what using it raised. The download itself has succeeded then, and its exchange is recorded.
    """

    def __init__(self, most_bytes: int, use: Callable[[AssetBody], None]) -> None:
        self.most_bytes = most_bytes + _SLACK_BYTES
        self._most_asset_bytes = most_bytes
        self.error: ProofsweepError | None = None
        self._use = use

    def take(self, pieces: Iterable[bytes], size_bytes: int | None = None) -> str:
        """Use a body; give its hex sha256, empty if it was not read to its end."""
        self.error, body = None, None
        try:
            body = AssetBody(_whole(pieces), size_bytes, self._most_asset_bytes)
            self._use(body)
        except ProofsweepError as error:
            self.error = error
        return "" if body is None else body.sha256 or ""


def _whole(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Tell a download that breaks off from the upload that it feeds: that is not to blame."""
    try:
        yield from pieces
    except BROKEN_EXCHANGE as error:
        broken = "The download of the asset broke off."
        raise SourceError(broken, reason=Reason.SOURCE_UNAVAILABLE) from error
