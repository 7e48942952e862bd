"""What earlier legs in the same store took, for a forecast of the next one."""

from itertools import islice

import pyarrow.compute as pc

from proofsweep.domain.budget.forecast import Measurement
from proofsweep.domain.exchanges import Call
from proofsweep.storage.results.legs import Legs
from proofsweep.storage.results.plans_and_parts import Results

# Chosen: enough legs to even out a bad night; twice as many would keep an old pace for longer.
_LEGS = 10
_COLUMNS = [
    *("run_id", "leg", "environment", "started_at", "finished_at", "accepted", "rejected", "failed"),
    *("calls", "bytes_sent", "throttled", "quota_before", "quota_after"),
]


def measured_legs(results: Results, environment: str) -> list[Measurement]:
    """Measure the newest legs that sent anything to this environment; the newest first."""
    names = reversed(list(results.all_parts("runs")))
    legs = (leg for name in names if (leg := _measured(results, name, environment)) is not None)
    return list(islice(legs, _LEGS))


def _measured(results: Results, name: str, environment: str) -> Measurement | None:
    row = results.table("runs", [name], _COLUMNS).to_pylist()[0]
    receipt = Legs(results, row["run_id"]).receipt(row["leg"]) or {}
    duplicates, cpu_seconds = receipt.get("duplicates"), receipt.get("cpu_seconds")
    rows = sum(row[outcome] or 0 for outcome in ("accepted", "rejected", "failed"))
    rows -= duplicates if isinstance(duplicates, int) else 0  # the next catalog may have none
    began, ended = row["started_at"], row["finished_at"]
    if row["environment"] != environment or not rows or not began or not ended or ended <= began:
        return None
    before, after = row["quota_before"], row["quota_after"]
    return Measurement(
        rows=rows,
        seconds=(ended - began).total_seconds(),
        calls=row["calls"] or 0,
        sent_bytes=row["bytes_sent"] or 0,
        throttled=row["throttled"] or 0,
        cpu_seconds=cpu_seconds if isinstance(cpu_seconds, float) else None,
        upload_share=_upload_share(results, name, row["run_id"], row["leg"]),
        quota_spent=before - after if before is not None and after is not None and before >= after else None,
    )


def _upload_share(results: Results, runs_part: str, run_id: str, leg: int) -> float | None:
    """Say which share of a leg's time in exchanges its uploads took, by the first part of its audit trail."""
    folder = runs_part.split("/")[1]
    name = f"exchanges/{folder}/{run_id}-00000-{leg:03}.parquet"
    if results.store.read(name) is None:
        return None
    table = results.table("exchanges", [name], ["call", "elapsed_ms"])
    total = pc.sum(table["elapsed_ms"]).as_py()
    slots = pc.sum(table.filter(pc.field("call") == str(Call.SLOT))["elapsed_ms"]).as_py()
    return (slots or 0.0) / total if total else None
