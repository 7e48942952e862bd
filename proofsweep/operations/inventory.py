"""List the proofs (contract, Endpoints 5), and hold them against the newest answers of the results store."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from http import HTTPStatus
from itertools import chain, islice
from typing import TypeVar

import pyarrow as pa

from proofsweep.client.client import Partner
from proofsweep.domain.errors import CallFailed, RunMustStop
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import Row
from proofsweep.domain.models import ListProofsResponse, PartnerKeysResponse, ProofSummary
from proofsweep.domain.runs import OperationKind
from proofsweep.operations.operation import OperationLeg, OperationReport, Operator, said_counts
from proofsweep.queries.connection import answering
from proofsweep.queries.views import with_views
from proofsweep.store.parts import SCHEMAS, Results

_PAGE = 100  # proofs of a page: the most that the contract allows
_BATCH_ROWS = 5_000  # rows that are in memory at once
_Page = TypeVar("_Page", ListProofsResponse, PartnerKeysResponse)

_LISTED_COLUMNS = ("proof_id", "song", "issued_at", "classification", "has_feedback")
_LISTED = pa.schema([SCHEMAS["proofs"].field(name) for name in _LISTED_COLUMNS])
_RECONCILED = """
WITH answers AS (
    SELECT
        proof_id, count(*) AS files, bool_or(accepted) AS accepted,
        max_by({'item_id': item_id, 'audio': audio, 'run_id': run_id, 'classification': classification,
            'issued_at': issued_at}, finished_at) AS newest
    FROM latest_answer
    WHERE proof_id NOT IN ('', '.', '..')
    GROUP BY proof_id
), listed AS (  -- a proof that is on two pages counts once
    SELECT DISTINCT ON (proof_id) * FROM pages WHERE proof_id <> ''
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


def inventory_proofs(operator: Operator) -> OperationReport:
    """Take an inventory: (1) list all, compactly in memory, (2) compare into the table; no row if (1) fails."""
    with operator.begun(OperationKind.INVENTORY) as work:
        pages = _all_pages(work)  # (1)
        states = Counter[str]()

        for rows in reconciled(operator.results, operator.environment, pages):  # (2)
            work.add(*rows)
            states.update(str(row["state"]) for row in rows)
    listed = states.total() - states["not_listed"]
    line = f"{listed:,} proofs listed: {said_counts(states, _WORDS)}"
    counts = {**states, "listed": listed}
    return OperationReport(operation_id=work.operation.run_id, counts=counts, line=line)


def _all_pages(work: OperationLeg) -> list[pa.Table]:
    pages = pages_of(Call.PROOFS, partial(_page_of, work))
    try:
        return [arrow_of(page.items) for page in pages]
    except RunMustStop as stop:
        # Of half a list, each proof of the other half would be called missing.
        stop.message += f" No row was written: an inventory needs the whole list, a call for each {_PAGE} proofs."
        raise


def _page_of(work: OperationLeg, cursor: str | None) -> ListProofsResponse:
    answer, _ = work.ask(Call.PROOFS, lambda partner: partner.proofs(limit=_PAGE, cursor=cursor))
    if not isinstance(answer, CallFailed):
        return answer
    if answer.status is None or answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        work.give_up(answer)
        work.service.stop.check()
    raise answer


def newest_proofs(partner: Partner, limit: int) -> list[ProofSummary]:
    pages = pages_of(Call.PROOFS, lambda cursor: partner.proofs(limit=_PAGE, cursor=cursor))
    proofs = chain.from_iterable(page.items for page in pages)
    return list(islice(proofs, limit))


def pages_of(call: Call, ask: Callable[[str | None], _Page]) -> Iterator[_Page]:
    """Yield all pages; CallFailed if there is no end. The list may change meanwhile: a proof may be on two pages."""
    cursor = None
    cursors = set[str | None]()
    while cursor not in cursors:
        cursors.add(cursor)
        page = ask(cursor)
        yield page
        # The end is a page without a cursor, not one that is short or empty.
        cursor = page.next_cursor
        if cursor is None:
            return
    raise CallFailed(f"The list of {call} does not end: a cursor came twice.", stage=str(call), reason="bad_answer")


def arrow_of(proofs: Sequence[ProofSummary]) -> pa.Table:
    rows = [proof.model_dump() for proof in proofs]
    return pa.Table.from_pylist(rows, schema=_LISTED)


def reconciled(results: Results, environment: str, pages: Sequence[pa.Table]) -> Iterator[list[Row]]:
    """Yield the rows of the table `proofs`, in batches; without a run of the environment no proof has a file."""
    query = f"{with_views('latest_answer')} FROM ({_RECONCILED})"
    with answering(results, [environment], "latest_answer") as connection:
        connection.register("pages", pa.concat_tables([_LISTED.empty_table(), *pages]))
        for batch in connection.sql(query).to_arrow_reader(_BATCH_ROWS):
            yield batch.to_pylist()
