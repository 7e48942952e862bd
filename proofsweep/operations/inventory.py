"""List the proofs (contract, Endpoints 5), and hold them against the newest answers of the results store."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from itertools import chain, islice

import pyarrow as pa

from proofsweep.client.client import Partner
from proofsweep.domain.errors import CallFailed
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import Row
from proofsweep.domain.models import ListProofsResponse, ProofSummary
from proofsweep.domain.operations import OperationKind
from proofsweep.operations.operation import OperationLeg, Operator
from proofsweep.queries.connection import answering
from proofsweep.store.parts import Results
from proofsweep.store.schemas import SCHEMAS

_PAGE = 100  # proofs of a page: the most that the contract allows
_MOST_IDLE_PAGES = 20  # pages without a new proof, one after the other
_BATCH_ROWS = 5_000  # rows that are in memory at once

_LISTED = pa.schema(
    [SCHEMAS["proofs"].field(name) for name in ("proof_id", "song", "issued_at", "classification", "has_feedback")]
)
_RECONCILED = """
WITH answers AS (
    SELECT
        proof_id, count(*) AS files, bool_or(accepted) AS accepted,
        max_by({'item_id': item_id, 'audio': audio, 'run_id': run_id, 'classification': classification,
            'issued_at': issued_at}, finished_at) AS newest
    FROM latest_answer
    WHERE proof_id NOT IN ('', '.', '..')
    GROUP BY proof_id
), paired AS (
    SELECT
        coalesce(listed.proof_id, answers.proof_id) AS proof_id, listed.proof_id IS NOT NULL AS is_listed,
        answers.proof_id IS NOT NULL AS has_file, listed.song, listed.issued_at, listed.classification,
        listed.has_feedback, files, accepted, newest,
        nullif(concat_ws(',',
            CASE WHEN listed.classification <> newest.classification THEN 'classification' END,
            CASE WHEN listed.issued_at <> newest.issued_at THEN 'issued_at' END), '') AS differs
    FROM answers FULL JOIN listed ON listed.proof_id = answers.proof_id
)
SELECT
    proof_id,
    CASE
        WHEN NOT is_listed THEN 'not_listed' WHEN NOT has_file THEN 'no_file' WHEN differs IS NOT NULL THEN 'differs'
        ELSE 'matched'
    END AS state,
    song, issued_at, classification, has_feedback, coalesce(files, 0) AS files, newest.item_id AS item_id,
    newest.audio AS audio, newest.run_id AS run_id, differs, newest.issued_at AS answer_issued_at,
    newest.classification AS answer_classification
FROM paired
WHERE is_listed OR accepted
"""
_WORDS = {
    "matched": "as answered",
    "differs": "differ from the answer",
    "no_file": "without a file",
    "not_listed": "of accepted files are not listed",
}
_PENDING = "Proofs that are pending are never listed."


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """The proofs that the service lists, by how they agree with the newest answers."""

    operation_id: str
    states: Mapping[str, int]  # rows of the table `proofs` by state
    unnamed: int = 0  # listed items without a proof ID
    problem: str | None = None  # why the listing may not be whole; None if it is

    @property
    def listed(self) -> int:
        return sum(count for state, count in self.states.items() if state != "not_listed")

    def line(self) -> str:
        counts = [f"{count:,} {words}" for state, words in _WORDS.items() if (count := self.states.get(state))]
        whole = "" if self.problem is None else f"; the listing may not be whole: {self.problem}"
        return f"{self.listed:,} proofs listed: {', '.join(counts) or 'none'}{whole}"

    def notes(self) -> Iterator[str]:
        """Yield what a person should know beside the line."""
        if self.states.get("not_listed"):
            yield (
                f"{_PENDING} So a proof that is not listed is pending, was erased, belongs to another partner, or was "
                "issued while the list was read."
            )
        else:
            yield _PENDING
        if self.unnamed:
            yield f"{self.unnamed:,} listed items had no proof ID, and were left out."


def inventory_proofs(operator: Operator) -> Inventory:
    """Take an inventory: (1) list all, compactly in memory, (2) compare into the table; no row if (1) fails."""
    with operator.begun(OperationKind.INVENTORY) as work:
        listing, states = ProofListing(partial(_page_of, work)), Counter[str]()
        pages = [arrow_of(page) for page in listing.pages() if page]  # (1)
        for rows in reconciled(operator.results, operator.environment, pages):  # (2)
            work.add(rows)
            states.update(str(row["state"]) for row in rows)
        work.said.update({**states, "unnamed": listing.unnamed, "problem": listing.problem})
    operation_id = work.operation.operation_id
    return Inventory(operation_id=operation_id, states=states, unnamed=listing.unnamed, problem=listing.problem)


def _page_of(work: OperationLeg, cursor: str | None) -> ListProofsResponse:
    answer, _ = work.ask(Call.PROOFS, lambda partner: partner.proofs(limit=_PAGE, cursor=cursor))
    if not isinstance(answer, CallFailed):
        return answer
    if answer.status is None or answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        work.give_up(answer)
        work.service.stop.check()
    raise answer


def newest_proofs(partner: Partner, limit: int) -> tuple[list[ProofSummary], str | None]:
    """Return the first proofs of the listing, and why it may not be whole."""
    listing = ProofListing(lambda cursor: partner.proofs(limit=_PAGE, cursor=cursor))
    return list(islice(chain.from_iterable(listing.pages()), limit)), listing.problem


class ProofListing:
    """All proofs, each once, in the order of the service; made for one reading.

    The list may change while it is read, so a proof may be on two pages. The end is a page without a cursor, not one
    that is short or empty.
    """

    def __init__(self, ask: Callable[[str | None], ListProofsResponse]) -> None:
        self.problem: str | None = None  # why the listing may not be whole
        self.unnamed = 0  # items that had no proof ID
        self._ask = ask  # for the page of a cursor
        self._seen: set[str] = set()

    def pages(self) -> Iterator[list[ProofSummary]]:
        """Yield the proofs page by page; those that were given before are left out."""
        cursor: str | None = None
        cursors: set[str] = set()
        idle = 0
        while True:
            page = self._page(cursor)
            new = [] if page is None else self._new(page.items)
            yield new
            idle = 0 if new else idle + 1
            cursor = None if page is None else page.next_cursor
            if cursor is None:
                return
            if cursor in cursors or idle >= _MOST_IDLE_PAGES:
                self.problem = "the service gave the same cursor twice" if cursor in cursors else "no page was new"
                return
            cursors.add(cursor)

    def _page(self, cursor: str | None) -> ListProofsResponse | None:
        """Ask for a page; None if its cursor is refused, since a long listing may outlive it."""
        try:
            return self._ask(cursor)
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


def arrow_of(proofs: Sequence[ProofSummary]) -> pa.Table:
    return pa.Table.from_pylist([proof.model_dump() for proof in proofs], schema=_LISTED)


def reconciled(results: Results, environment: str, pages: Sequence[pa.Table]) -> Iterator[list[Row]]:
    """Yield the rows of the table `proofs`, in batches; without a run of the environment no proof has a file."""
    with answering(results, environment, "latest_answer") as connection:
        connection.register("listed", pa.concat_tables([_LISTED.empty_table(), *pages]))
        for batch in connection.sql(_RECONCILED).to_arrow_reader(_BATCH_ROWS):
            yield batch.to_pylist()
