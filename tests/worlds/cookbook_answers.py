"""The answers to the questions of the cookbook over the known nights, counted by pandas from their rows."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

import pandas as pd

from . import known_nights
from .counted_rows import LEFT, OPEN, Cells, CountedRows, key_of

Rows = list[Cells]


def _count(rows: Iterable[Cells], *names: str) -> Rows:
    """Count rows by some of their cells."""
    counted = Counter(tuple(row[name] for name in names) for row in rows)
    return [dict(zip(names, cells, strict=True)) | {"files": count} for cells, count in counted.items()]


def _some(rows: Iterable[Cells], *names: str) -> Rows:
    return [{name: row[name] for name in names} for row in rows]


def _of_suppliers(truth: CountedRows) -> Rows:
    """Count what needs attention by the supplier, whose name is the first of its spellings, and by the reason."""
    spellings: dict[str, set[str]] = {}
    for file in truth.there(*OPEN):
        spellings.setdefault(key_of(file["supplier"]), set()).add(file["supplier"].strip())
    rows = [{"supplier": min(spellings[key_of(file["supplier"])]), "why": file["why"]} for file in truth.there(*OPEN)]
    return [{"supplier": row["supplier"], "files": row["files"]} for row in _count(rows, "supplier", "why")]


def _changed(truth: CountedRows, *run_ids: str) -> Iterator[Cells]:
    """Yield each row that is otherwise than before, with its day, its catalog and how the item stood."""
    for run_id in run_ids or truth.plans:
        for was, now in truth.changes(run_id).values():
            before = {} if was is None else {f"before_{name}": cell for name, cell in was.items()}
            catalog = truth.plans[run_id]["catalog"]
            yield now | {f"now_{name}": cell for name, cell in now.items()} | before | {"catalog": catalog}


def _not_any_more(truth: CountedRows) -> Rows:
    lost = [file for file in truth.there(*OPEN, "not_sent") if file.get("was_accepted_at") is not None]
    return [
        {name: file[name] for name in ("file", "state", "why")} | {"accepted_last": file["was_accepted_at"]}
        for file in lost
    ]


def _new_deliveries(truth: CountedRows) -> Rows:
    found = [row for row in _changed(truth) if row["accepted"] and row.get("before_outcome") == "rejected"]
    return _some(
        (row for row in found if row["audio_sha256"] != row["before_audio_sha256"]), "run_id", "file", "before_reason"
    )


def _runs(truth: CountedRows) -> Iterator[Cells]:
    for run_id, plan in truth.plans.items():
        counts = truth.outcomes(run_id)
        row = {"run_id": run_id, "catalog": plan["catalog"], "items": plan["items"]}
        row |= {outcome: counts[outcome] for outcome in ("accepted", *OPEN)}
        yield row | {
            "legs": sum(leg["run_id"] == run_id for leg in truth.runs),
            "remaining": plan["items"] - counts.total(),
        }


def _coverage(truth: CountedRows) -> Iterator[Cells]:
    for catalog, items in truth.listings.items():
        counts, files = truth.coverage(catalog), [truth.files[item] for item in items]
        times = [file["answered_at"] for file in files if file["answered_at"] and file["state"] != "ineligible"]
        rejected = [file["rejected_since"] for file in files if file["rejected_since"]]
        percent = (1_000 * counts["answered"] + counts["files"] // 2) // counts["files"] / 10  # half is rounded up
        row = {"catalog": catalog, "files": counts["files"], "answered": counts["answered"], "percent": percent}
        yield row | {"oldest_answer": min(times), "oldest_open_reject": min(rejected)}


def _copies(truth: CountedRows) -> Rows:
    counts = Counter(file["audio_sha256"] for file in truth.there() if file["audio_sha256"])
    return [{"audio_sha256": digest, "files": files} for digest, files in counts.items() if files > 1]


def _grades(truth: CountedRows) -> Iterator[Cells]:
    frame = pd.DataFrame(
        _some(truth.there("accepted", "rejected"), "classification", "grade_rubric_version", "grade_human")
    )
    for (word, rubric), rows in frame.groupby(["classification", "grade_rubric_version"], dropna=False):
        mean = None if rows["grade_human"].isna().all() else round(rows["grade_human"].astype(float).mean(), 2)
        names = {"classification": word, "grade_rubric_version": rubric}
        yield {name: None if pd.isna(cell) else cell for name, cell in names.items()} | {
            "files": len(rows),
            "grade_human": mean,
        }


def _spend(truth: CountedRows) -> Iterator[Cells]:
    for day, legs in pd.DataFrame(truth.runs).groupby(pd.to_datetime([leg["finished_at"] for leg in truth.runs]).date):
        answers, calls = int((legs["accepted"] + legs["rejected"]).sum()), int(legs["calls"].sum())
        quota = legs.sort_values("finished_at")["quota_after"].iloc[-1]
        yield {"day": day, "legs": len(legs), "all_calls": calls, "answers": answers, "quota": quota}


def _speed(truth: CountedRows) -> Iterator[Cells]:
    for call, rows in pd.DataFrame(truth.exchanges).groupby("call"):
        took = rows["elapsed_ms"].astype(float)
        row = {"call": call, "exchanges": len(rows), "throttled": int((rows["status"] == 429).sum())}
        row |= {"failures": int(rows["failure"].notna().sum())}
        yield row | {"median_ms": round(took.quantile(0.5)), "p95_ms": round(took.quantile(0.95))}


def _versions(truth: CountedRows) -> Rows:
    days = [leg | {"run_date": datetime.strptime(leg["run_id"][:8], "%Y%m%d").date()} for leg in truth.runs]  # noqa: DTZ007 - a day
    return [row | {"legs": row.pop("files")} for row in _count(days, "run_date", "service_version", "service_commit")]


REQUEST_ID = "req-04-verify"


def _of_request(truth: CountedRows) -> Rows:
    [call] = (call for call in truth.exchanges if call["request_id"] == REQUEST_ID)
    return [{"file": file, "run_id": call["run_id"], "call": "verify"} for file in truth.files_of(call)]


MONTH = pd.Timestamp.now("UTC") - pd.Timedelta(days=30)
ANSWERS: dict[str, Callable[[CountedRows], Iterable[Cells]]] = {
    "1": lambda truth: _some(truth.there(*OPEN), "catalog", "file", "why", "rejected_since"),
    "2": _of_suppliers,
    "3": lambda truth: _some(_changed(truth, max(truth.plans)), "catalog", "file", "before_outcome", "now_outcome"),
    "4": _not_any_more,
    "5": _new_deliveries,
    "6": lambda truth: _some(
        (file for file in truth.files.values() if file["state"] in LEFT),
        "file",
        "state",
        "moved_to",
        "catalog",
        "outcome",
    ),
    "7": _runs,
    "8": lambda truth: _count(truth.rows_of(max(truth.plans)), "outcome", "reason", "action"),
    "9": lambda truth: _count(truth.files.values(), "state"),
    "10": _coverage,
    "11": lambda truth: _some((file for file in truth.there() if not file["answered_at"]), "file", "state", "reason"),
    "12": lambda truth: _some(
        (file for file in truth.there() if file["answered_at"] and file["answered_at"] < MONTH), "file", "answered_at"
    ),
    "13": _copies,
    "14": _grades,
    "15": lambda truth: _some(
        (
            row
            for row in _changed(truth)
            if row.get("before_grade_rubric_version", row["grade_rubric_version"]) != row["grade_rubric_version"]
        ),
        "file",
        "before_grade_human",
        "now_grade_human",
    ),
    "16": _spend,
    "17": _speed,
    "18": lambda truth: [{"request_id": request_id} for request_id in truth.calls_of(known_nights.FINALE)],
    "19": _of_request,
    "20": _versions,
}
"""By the number of a question, the rows of its answer, or some columns of them, as pandas counts them."""
