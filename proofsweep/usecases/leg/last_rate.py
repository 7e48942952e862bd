"""Find the rate that the lane had last time, so that a leg need not search for it."""

from datetime import datetime

from proofsweep.storage.results.plans_and_parts import Results

# Chosen: a leg that was never throttled learned no rate, and ten in a row of those say that there is little to learn.
# Twice as many only costs as many more reads at each begin.
_NEWEST_LEGS = 10

_COLUMNS = ["base_url_host", "key_fingerprint", "finished_at", "rate_learned"]


def last_rate(results: Results, base_url: str, key_fingerprint: str, since: datetime) -> float | None:
    """Give the rate that one of the newest legs learned with this key at this service; None if all are older.

    Args:
        results: the store whose `runs` are read.
        base_url: of the service.
        key_fingerprint: of the key: another one may have another lane.
        since: what was learned before is forgotten.
    """
    names = list(results.all_parts("runs"))[-_NEWEST_LEGS:]
    for row in (results.table("runs", [name], _COLUMNS).to_pylist()[0] for name in reversed(names)):
        is_same_lane = (row["base_url_host"], row["key_fingerprint"]) == (base_url.split("/")[2], key_fingerprint)
        if is_same_lane and row["rate_learned"] and row["finished_at"] and row["finished_at"] >= since:
            return float(row["rate_learned"])
    return None
