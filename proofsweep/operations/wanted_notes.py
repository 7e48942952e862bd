"""Which accepted proofs have no ready note yet, those never asked for first."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from proofsweep.answers.views.connection import opened
from proofsweep.store.plans_and_parts import Results

# How long an answer `unavailable` is taken for final. Chosen: half asks twice as often for notes that hardly come;
# twice finds a note that was made later after two weeks.
_UNAVAILABLE_HOLDS = timedelta(days=7)

_WANTED = """
WITH notes AS (
    SELECT
        proof_id, max(asked_at) AS asked_at, max_by(status, asked_at) AS status, bool_or(status = 'ready') AS is_ready
    FROM interpretations
    GROUP BY proof_id
), accepted AS (
    SELECT proof_id, max_by(item_id, finished_at) AS item_id, max(finished_at) AS finished_at
    FROM latest_answer
    WHERE accepted AND proof_id NOT IN ('', '.', '..')
    GROUP BY proof_id
)
SELECT accepted.proof_id, accepted.item_id
FROM accepted LEFT JOIN notes USING (proof_id)
WHERE NOT coalesce(is_ready, false)
    AND (status IS NULL OR status NOT IN ('gone', 'unavailable') OR accepted.finished_at > asked_at
        OR (status = 'unavailable' AND asked_at < $since))
ORDER BY asked_at NULLS FIRST, accepted.finished_at DESC
"""


@dataclass(frozen=True, slots=True)
class WantedNote:
    """A proof whose note is wanted, and an item of it."""

    proof_id: str
    item_id: str


def wanted_notes(results: Results, environment: str, now: datetime) -> list[WantedNote]:
    """List the proofs whose note must be asked for.

    A proof that is gone is asked for again only if it was accepted since; a note that is unavailable, after a week.

    Raises:
        ResultsError: the store cannot be read, or has no run of the environment.
    """
    with opened(results, environment, with_tags=False) as store:
        rows = store.connection.execute(_WANTED, {"since": now - _UNAVAILABLE_HOLDS}).fetchall()
    return [WantedNote(proof_id, item_id) for proof_id, item_id in rows]
