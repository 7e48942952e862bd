"""Five nights of a catalog of 1,200 files of three suppliers, of which 110 need attention in the end."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta

from .core import Plan, Results, Row, StoredRun
from .ended_runs import answered, end_leg, exchange, plan_of_run

FILES = 1_200
NIGHTS = [plan_of_run(f"202611{day:02}T010000Z_000aa", items=FILES, catalog="/c") for day in (16, 17, 18, 19, 20)]
_SUPPLIERS = ("Nordlicht Music", "Süd & Söhne <Vertrieb>", "Atlantic Bay Recordings International")
_REASONS = ("unreadable", "tampered", "audioChanged", "unregistered", "timeout", "too_large", "not_wav", "bad_answer")
_OUTCOMES = ("rejected",) * 4 + ("failed", "ineligible", "ineligible", "failed")


def fill(results: Results) -> Results:
    """Leave the five nights behind."""
    for number, plan in enumerate(NIGHTS):
        began = datetime.fromisoformat(plan.created_at)
        took = timedelta(minutes=150 + 20 * number)
        times = {"started_at": began.isoformat(), "finished_at": (began + took).isoformat()}
        StoredRun(results, plan).write_items(f"isrc{row:05}" for row in range(FILES))
        end_leg(results, plan, list(_rows(plan, number)), calls=2_400 - 60 * number, quota_after=90_000, **times)
        calls = [
            exchange(plan, row, call, 30 * row, status=429 if row % 17 == 0 else 200, elapsed_ms=20.0 + row % 40)
            for row in range(300)
            for call in ("uploads", "slot", "verify")
        ]
        StoredRun(results, plan).write_part("exchanges", calls)
    return results


def _rows(plan: Plan, night: int) -> Iterator[Row]:
    began = datetime.fromisoformat(plan.created_at)
    for row in range(FILES):
        is_bad = (
            (row % 12 == 1 and row < 1_200 - 36 * night) or (row % 120 == 60) or (night == 4 and row in {7, 19, 31})
        )
        kind = row // 12 % len(_REASONS)
        supplier = _SUPPLIERS[row % 7 % 3]
        tags = {"supplier": supplier, "label": f"Label {row % 5}", "release": f"Release {row // 12}"}
        tags |= {"isrc": f"QZNUL26{row:05}", "artist": f"Artist Number {row % 97}"}
        folder = f"{supplier.split()[0]}/Collected Recordings, Volume {row // 12} (Remastered 2026)"
        cells: Row = {
            "relative_path": f"{folder}/{row % 12 + 1:02} A Title that is not too short.wav",
            "tags": json.dumps(tags, ensure_ascii=False),
            "finished_at": began + timedelta(seconds=9 * row),
            "verify_request_id": f"req_{row:04}_{night}",
            "verify_ms": 20.0 + row % 90,
            "upload_ms": 100.0,
        }
        if is_bad:
            outcome, reason = _OUTCOMES[kind], _REASONS[kind]
            cells |= {"reason": reason, "verdict": reason if outcome == "rejected" else None}
            yield answered(plan, 0, f"isrc{row:05}", outcome, **cells) | {"manifest_row": row}
        else:
            grade = {"grade_human": 0.9 - row % 60 / 100, "grade_ai": row % 60 / 100, "grade_risk_category": "low"}
            grade |= {"classification": ("human", "mixed", "undetermined")[row % 3]}
            yield answered(plan, 0, f"isrc{row:05}", **cells, **grade) | {"manifest_row": row}
