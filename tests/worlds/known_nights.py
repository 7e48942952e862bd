"""Ten nights of a label as a story: partitions, legs, faults, copies, renamed files, a pass, a retired list."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from . import ended_nights
from .core import Plan, Results, Row, StoredRun
from .counted_rows import CountedRows
from .ended_nights import FAILED, INELIGIBLE, REJECTED
from .ended_runs import answered, exchange, plan_of_run, tag_names_of

NIGHTLY, BACK, OLD, WATCHED = "/c/catalog.csv", "/c/back.csv", "/c/old.csv", "/in"
EVERY = timedelta(days=4)
"""From one night to the next: the first one is more than thirty days ago."""
FINALE = "04 Finale.wav"
ACCEPTED = ended_nights.ACCEPTED | {"action": "accept", "reason": None}
OPEN = "open"
"""A leg whose process was killed, and whose rows are in a part and in no receipt."""
UNREGISTERED = REJECTED | {"verdict": "unregistered", "reason": "unregistered"}


def _of(supplier: str, audio: str, **cells: object) -> Row:
    return {"tags": json.dumps({"supplier": supplier}), "audio_sha256": f"sha of {audio}", **cells}


def _graded(rubric: str, human: float) -> Row:
    return {"classification": "human", "grade_human": human, "grade_rubric_version": rubric}


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """One run: its rows in their order, how many of them each leg finished, and how each leg ended."""

    day: int
    rows: Mapping[str, Row]
    legs: Sequence[int]
    ended: Sequence[str] = ("complete",)
    facts: Mapping[str, object]
    listed: Sequence[str] = ()
    remain: Sequence[str] = ()


def nights() -> Iterable[Night]:
    """Tell the story: how the files lie on disk and how the service judges them, night after night."""
    files: dict[str, Row] = {
        **{f"A{number}": ACCEPTED | _of("North", f"A{number}") | _graded("1", number / 10) for number in range(1, 7)},
        "0 copy of A3": ACCEPTED | _of("North", "A3") | _graded("1", 0.3),
        "copy of A1": ACCEPTED | _of("North", "A1", answered_by="A1") | _graded("1", 0.1),
        "R1": REJECTED | _of("NORTH ", "R1"),
        "R2": UNREGISTERED | _of("South", "R2"),
        "R3": UNREGISTERED | _of("South", "R3"),
        FINALE: REJECTED | _of("S\N{LATIN SMALL LETTER U WITH DIAERESIS}d", "Finale"),
        "copy of Finale": REJECTED | _of("su\u0308d", "Finale", answered_by=FINALE),
        "F1": FAILED | _of("South", "F1"),
        "I1": INELIGIBLE | _of("south", "I1", audio_sha256=None),
    }
    whole = {"environment": "production", "catalog": NIGHTLY, "catalog_kind": "manifest"}
    yield Night(day=0, rows=dict(files), legs=(7, 8), ended=("complete",) * 2, facts=whole | {"partitions": 2})
    back = {"B1": ACCEPTED, "B2": UNREGISTERED, "B3": FAILED}
    back = {name: row | _of("North", "A1" if name == "B1" else name) for name, row in back.items()}
    yield Night(day=0, rows=back, legs=(3,), facts=whole | {"catalog": BACK})
    old = {"O1": ACCEPTED | _of("East", "O1"), "O2": REJECTED | _of("East", "O2")}
    yield Night(day=0, rows=old, legs=(2,), facts=whole | {"catalog": OLD})

    files["A2"] |= REJECTED
    files["F1"] |= ACCEPTED
    files["R2"] |= FAILED | {"verdict": None}
    yield Night(day=1, rows=dict(files), legs=(6, 9), ended=("window", "complete"), facts=whole)

    # What is due: a delivery anew, a file that was renamed, whose answer is taken over, and one that remains.
    files["R1"] |= ACCEPTED | {"audio_sha256": "sha of new R1"}
    files["A3 renamed"] = files.pop("A3") | {"taken_from": "A3"}
    due = {name: files[name] for name in ("R1", "A3 renamed")}
    yield Night(
        day=2,
        rows=due,
        legs=(2,),
        ended=("window",),
        facts=whole | {"skipped": 12},
        listed=[*files, "N1"],
        remain=["N1"],
    )

    del files["A3 renamed"]["taken_from"]
    files["N1"] = ACCEPTED | _of("North", "N1")
    files["A2"] |= ACCEPTED
    files["A4"] |= _graded("2", 0.8)
    yield Night(day=3, rows=dict(files), legs=(len(files),), facts=whole)

    files["A5"] |= REJECTED
    del files["R3"]
    yield Night(day=4, rows=dict(files), legs=(4, len(files) - 4), ended=("killed", "complete"), facts=whole)

    yield Night(
        day=5,
        rows={name: REJECTED | _of("North", name) for name in ("A1", "A2", FINALE)},
        legs=(3,),
        facts=whole | {"environment": "beta"},
    )
    arrived = {"P1": ACCEPTED | _of("North", "P1"), "P2": REJECTED | _of("South", "P2")}
    yield Night(day=5, rows=arrived, legs=(2,), facts=whole | {"catalog": WATCHED, "catalog_kind": "ingest"})

    files["R2"] |= UNREGISTERED
    due = {name: files[name] for name in ("R2", "I1")}
    yield Night(day=6, rows=due, legs=(2,), facts=whole | {"skipped": len(files) - 2}, listed=[*files])

    files["A2"] |= REJECTED
    files["A5"] |= ACCEPTED
    yield Night(day=7, rows=dict(files), legs=(0, len(files)), ended=("breaker", "complete"), facts=whole)

    files["A6"] |= FAILED | {"verdict": None}
    files["R1"] |= INELIGIBLE | {"verdict": None}
    order = {name: files.pop(name) for name in ("A6", "R1", "A1")} | files
    done = {name: order[name] for name in [*order][:10]}
    left = [*[*order][10:], "N2"]
    yield Night(day=9, rows=done, legs=(8, 2), ended=("window", OPEN), facts=whole, remain=left)


def fill(results: Results, now: datetime | None = None) -> Results:
    """Leave the ten nights behind, of which the last one is an hour ago, and retire the old list."""
    last = (now or datetime.now(UTC)).replace(microsecond=0) - timedelta(hours=1)
    rows_of: dict[str, Row] = {}  # the newest row of each item, whose answer may be taken over
    for number, night in enumerate(nights()):
        _leave(results, night, last - EVERY * (9 - night.day) + timedelta(minutes=number), rows_of)
    results.log.retire("production", OLD, last)
    return results


def _leave(results: Results, night: Night, began: datetime, rows_of: dict[str, Row]) -> None:
    facts = dict(night.facts) | {"tag_names": tag_names_of(night.rows.values())}
    plan = plan_of_run(f"{began:%Y%m%dT%H%M%SZ}_000aaaaaa", len(night.rows) + len(night.remain), **facts)
    run = StoredRun(results, plan)
    if night.listed:
        run.list_catalog(night.listed)
    run.write_items([*night.rows, *night.remain])
    run.write_plan()
    done = [_finished(plan, number, item, night.rows, rows_of) for number, item in enumerate(night.rows)]
    first = 0
    for leg, (rows, ended) in enumerate(zip(night.legs, night.ended, strict=True), 1):
        times = [began + timedelta(minutes=10 * leg - ago) for ago in (10, 1)]
        cells = {"started_at": times[0], "finished_at": times[1], "quota_after": 1_000 - 10 * night.day - leg}
        cells |= {"service_version": f"1.{night.day // 4}", "service_commit": "c0ffee", "key_fingerprint": "ab" * 6}
        run.take(leg, is_killed=ended in {"killed", OPEN})
        own = [
            (row | {"leg": leg}, [call | {"leg": leg} for call in calls]) for row, calls in done[first : first + rows]
        ]
        if ended == OPEN:
            run.write_part("verdicts", [row for row, _ in own], leg=leg)
        else:
            run.end(leg, ended, own, **cells)
        first += rows
    run.note()


def _finished(
    plan: Plan, number: int, item: str, rows: Mapping[str, Row], rows_of: dict[str, Row]
) -> tuple[Row, list[Row]]:
    """Make a row and its calls: none if it is never sent, or if the answer is another row's or another run's."""
    cells = dict(rows[item])
    copied, taken = cells.pop("answered_by", None), cells.pop("taken_from", None)
    at = datetime.fromisoformat(plan.created_at) + timedelta(seconds=number)
    own = "req-04" if item == FINALE and item not in rows_of else f"{plan.environment}-{plan.run_id}-{number}"
    found: Row = {"relative_path": item, "accepted": cells["outcome"] == "accepted", "calls": 0, "audio_bytes": 8}
    found |= {"finished_at": at, "answered_at": at, "audio_format": "wav"}
    is_sent = cells["outcome"] != "ineligible" and copied is None and taken is None
    if taken is not None:
        earlier = rows_of[str(taken)]
        found |= {name: earlier[name] for name in ("verify_request_id", "answered_at", "finished_at")}
        found |= {"answered_by_run": earlier["run_id"]}
    elif copied is not None:
        found |= {
            "answered_by_row": [*rows].index(str(copied)),
            "verify_request_id": rows_of[str(copied)]["verify_request_id"],
        }
    elif is_sent:
        found |= {"calls": 3 if number % 3 else 2, "verify_request_id": f"{own}-verify"}
    row = rows_of[item] = answered(plan, number, item) | cells | found
    return row, list(_calls(plan, number, own, is_failed=cells["outcome"] == "failed")) if is_sent else []


def _calls(plan: Plan, number: int, own: str, *, is_failed: bool) -> Iterable[Row]:
    """Make the calls for a row: of two rows in three, the first one is refused for a moment."""
    if number % 3:
        yield exchange(plan, number, "uploads", number, status=429, request_id=f"{own}-busy", elapsed_ms=5.0)
    yield exchange(plan, number, "uploads", number, request_id=f"{own}-uploads", elapsed_ms=20.0 + number)
    yield exchange(plan, number, "slot", number, request_id=f"{own}-slot", elapsed_ms=100.2 + number)
    ended: Row = {"status": None, "failure": "timeout"} if is_failed else {"status": 200, "failure": None}
    yield exchange(plan, number, "verify", number, request_id=f"{own}-verify", elapsed_ms=50.0 + 7 * number, **ended)


def truth(results: Results, environment: str = "production") -> CountedRows:
    """Count the rows of the ten nights."""
    return CountedRows(results.store.url, environment, moves={"A3": "A3 renamed"}, retired=OLD)
