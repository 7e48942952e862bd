"""Count the rejected files of a run by supplier, as the view `rejects` has them."""

from proofsweep.alerts.run_alerts import SupplierRejections
from proofsweep.answers.views.views import pointer_to
from proofsweep.model.runs import Plan
from proofsweep.store.plans_and_parts import Results

_QUERY = """
    SELECT json_extract_string(tags, ?) AS supplier, reason, count(*) FROM rejects
    WHERE run_id = ? AND outcome = 'rejected' GROUP BY ALL HAVING supplier <> ''
"""


def supplier_rejections(results: Results, plan: Plan, tag: str) -> list[SupplierRejections]:
    """Count the rejected files of a run by supplier and reason; a file without the tag has no supplier."""
    from proofsweep.answers.views.connection import answering  # noqa: PLC0415 - a run without such an alert needs no DuckDB

    with answering(results, plan.environment, "rejects") as connection:
        found = connection.execute(_QUERY, [pointer_to(tag), plan.run_id]).fetchall()
    return [SupplierRejections(supplier, reason, rows) for supplier, reason, rows in found]
