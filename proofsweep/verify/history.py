"""What legs leave for later ones: the checkpoint of the log, the newest answers, their rate, and how long they took.

All of it is derived from receipts and parts: it may be deleted, and no leg fails because it cannot be written.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from proofsweep.config.logs import LogEvent, log
from proofsweep.domain.errors import ProofsweepError
from proofsweep.domain.runs import Plan
from proofsweep.store.latest import refresh_if_due
from proofsweep.store.legs import Legs
from proofsweep.store.parts import Results
from proofsweep.store.runs import LegRecord, RunRecord
from proofsweep.verify.forecast import Measurement

_RATE_IS_KEPT = timedelta(days=7)
_SENT = ("accepted", "rejected", "failed")
_LEAST_ROWS = 20  # a leg of fewer shows how the program starts, not how fast it works


def record_leg(results: Results, plan: Plan) -> None:
    """Let what is derived know that a leg has ended; what fails now, a later leg does."""
    updates: dict[str, Callable[[], object]] = {
        "checkpoint": results.log.keep,
        "latest": partial(_refresh_latest, results, plan),
    }
    for what, update in updates.items():
        try:
            update()
        except Exception as error:  # noqa: BLE001 - what is derived must not end a leg whose results are safe
            why = error.message if isinstance(error, ProofsweepError) else type(error).__name__
            log(LogEvent.UPDATE_MISSED, run_id=plan.run_id, what=what, why=why)


def _refresh_latest(results: Results, plan: Plan) -> None:
    # Of the legs of a run that work at once, the last one makes it for all.
    if not any(leg.is_alive for leg in Legs(results, plan).shown()):
        refresh_if_due(results)


def learned_rate(results: Results, base_url: str, key_fingerprint: str, now: datetime) -> float | None:
    """Return the calls a second that this key's last leg which was refused any has learned; None after some days."""
    host = base_url.split("/")[2]
    learned: list[tuple[datetime, str, float]] = []
    for run in results.log.known.newest_first():
        for leg in run.legs:
            counts, finished_at = leg.counts, leg.finished_at
            if counts.get("base_url_host") != host or counts.get("key_fingerprint") != key_fingerprint:
                continue
            rate = counts.get("rate_learned")
            if isinstance(rate, float) and finished_at and finished_at >= now - _RATE_IS_KEPT:
                learned.append((finished_at, run.plan.run_id, rate))
    if not learned:
        return None
    _, _, newest_rate = max(learned)
    return newest_rate


def newest_measurement(results: Results, environment: str) -> Measurement | None:
    """Measure the newest leg that sent enough rows to this environment; None if none did."""
    for run in results.log.known.newest_first():
        if run.plan.environment != environment:
            continue
        for leg in reversed(run.legs):
            measurement = _measurement(run, leg)
            if measurement is not None:
                return measurement
    return None


def _measurement(run: RunRecord, leg: LegRecord) -> Measurement | None:
    # Of the legs of several partitions, each is measured as one of so many at once.
    rows = sum(map(leg.count, _SENT)) - (leg.duplicates or 0)  # the next run may have none
    began, ended = leg.started_at, leg.finished_at
    if rows < _LEAST_ROWS or began is None or ended is None or ended <= began or not leg.row_seconds:
        return None
    at_once = 0
    for other in run.legs:
        since, until = other.started_at, other.finished_at
        if since and until and since < ended and until > began:
            at_once += 1
    call_seconds, upload_seconds = leg.row_seconds
    taken = ended - began
    return Measurement(
        rows=rows * at_once,
        seconds=taken.total_seconds(),
        calls=leg.count("calls") * at_once,
        sent_bytes=leg.count("bytes_sent") * at_once,
        throttled=leg.count("throttled") * at_once,
        call_seconds=call_seconds,
        upload_seconds=upload_seconds,
    )
