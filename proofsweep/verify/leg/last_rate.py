"""Find the rate that the lane had last time, so that a leg need not search for it."""

from datetime import datetime
from itertools import islice

from proofsweep.model.tables.runs import stored_row
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.run_index import RunIndex

# Chosen: a leg that was never throttled learned no rate, and ten in a row of those say that there is little to learn.
# Twice as many only costs as many more reads at each begin.
_NEWEST_LEGS = 10


def last_rate(results: Results, base_url: str, key_fingerprint: str, since: datetime) -> float | None:
    """Return the rate that one of the newest legs learned with this key at this service; None if all are older.

    Args:
        results: the store whose legs are read.
        base_url: of the service.
        key_fingerprint: of the key: another one may have another lane.
        since: what was learned before is forgotten.
    """
    lane = (base_url.split("/")[2], key_fingerprint)
    legs = (leg for run in RunIndex(results).refreshed().newest_first() for leg in reversed(run.legs))
    for row in (stored_row(dict(leg.counts)) for leg in islice(legs, _NEWEST_LEGS)):
        rate, finished_at = row.get("rate_learned"), row.get("finished_at")
        is_same_lane = (row.get("base_url_host"), row.get("key_fingerprint")) == lane
        if is_same_lane and isinstance(rate, float) and isinstance(finished_at, datetime) and finished_at >= since:
            return rate
    return None
