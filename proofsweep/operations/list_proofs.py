"""Page through all proofs (contract, Endpoints 5): newest first, pending ones excluded."""

from collections.abc import Iterator
from hashlib import sha256
from http import HTTPStatus

from proofsweep.contract.models import ListProofsResponse, ProofSummary
from proofsweep.errors import CallFailed
from proofsweep.partner.partner import Partner

_PAGE = 100  # Proofs of a page: the most that the contract allows

# Pages without a new proof, one after the other. Chosen: while a page is read, others may be issued and shift what was
# read already to the next one.
_MOST_IDLE_PAGES = 20
# Bounds a listing that never ends. Chosen: ten million proofs.
_MOST_PAGES = 100_000


class ProofListing:
    """All proofs, each once, in the order of the service; made for one reading.

    The list may change while it is read, so a proof may be on two pages. The end is a page without a cursor, not one
    that is short or empty.

    Attributes:
        problem: why the listing may not be whole; None if it is.
        unnamed: items that had no proof ID.
    """

    def __init__(self, partner: Partner) -> None:
        self.problem: str | None = None
        self.unnamed = 0
        self._partner = partner
        self._seen: set[str] = set()

    def pages(self) -> Iterator[list[ProofSummary]]:
        """Yield the proofs page by page; those that were given before are left out.

        CallFailed or RunMustStop if a page cannot be had.
        """
        cursor: str | None = None
        cursors: set[bytes] = set()
        idle = 0
        for _ in range(_MOST_PAGES):
            page = self._page(cursor)
            new = [] if page is None else self._new(page.items)
            yield new
            idle = 0 if new else idle + 1
            cursor = None if page is None else page.next_cursor
            if cursor is None:
                return
            digest = sha256(cursor.encode()).digest()
            if digest in cursors or idle >= _MOST_IDLE_PAGES:
                self.problem = "the service gave the same cursor twice" if digest in cursors else "no page was new"
                return
            cursors.add(digest)
        self.problem = f"there are more than {_MOST_PAGES:,} pages"

    def _page(self, cursor: str | None) -> ListProofsResponse | None:
        """Ask for a page; None if its cursor is refused, which a long listing may outlive."""
        try:
            return self._partner.proofs(limit=_PAGE, cursor=cursor)
        except CallFailed as failed:
            if cursor is None or failed.status not in {HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
                raise
            self.problem = f"the service refused its own cursor ({failed.status})"
            return None

    def _new(self, items: list[ProofSummary]) -> list[ProofSummary]:
        new = []
        for item in items:
            if not item.proof_id:
                self.unnamed += 1
            elif item.proof_id not in self._seen:
                self._seen.add(item.proof_id)
                new.append(item)
        return new
