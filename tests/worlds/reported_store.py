"""A small store with a run that a report is made of."""

from .core import Results, StoredRun
from .ended_runs import answered, end_leg, exchange, plan_of_run

BEFORE, PLAN = (plan_of_run(f"202611{day}T020000Z_000aa", items=6, catalog="/c") for day in (19, 20))
HOSTILE = "/c/<script>document.title='hacked'</script>\u202e\"'&\n" + "x" * 10_000


def fill(results: Results) -> Results:
    """Leave two nights behind: five of six files were accepted, then three; one call failed."""
    for plan in (BEFORE, PLAN):
        StoredRun(results, plan).write_items(map(str, range(6)))
    end_leg(results, BEFORE, [answered(BEFORE, row, str(row)) for row in range(5)])
    grade = {"grade_human": 0.95, "grade_ai": 0.05, "classification": "<b>mixed</b>", "grade_risk_category": "low"}
    good = [answered(PLAN, row, str(row), verify_ms=100.0 * row, **grade) for row in range(3)]
    why = {"verdict": "tampered", "reason": "tampered", "tags": '{"supplier": "Acme"}', "verify_request_id": "r-3"}
    bad = [
        answered(PLAN, 3, "3", "rejected", audio=HOSTILE, **why),
        answered(PLAN, 4, "4", "failed", reason="timeout", calls=9),
    ]
    end_leg(results, PLAN, [*good, *bad], quota_after=100, calls=20)
    calls = [exchange(PLAN, row, "verify", 60 * row, elapsed_ms=10.0) for row in range(3)]
    calls += [exchange(PLAN, 4, "uploads", 200, status=429), exchange(PLAN, 4, "uploads", 201, status=500)]
    StoredRun(results, PLAN).write_part("exchanges", calls)
    return results
