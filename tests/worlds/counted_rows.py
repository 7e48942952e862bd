"""What is true of a results store, counted from the rows of its Parquet files by pandas, without any view or index."""

import json
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd

Cells = dict[str, Any]
ANSWERS = ("accepted", "rejected")
LEFT = ("gone", "moved")
OPEN = ("rejected", "failed", "ineligible")


class CountedRows:
    """The rows of one environment, and how its files stand by them; `moves` and `retired` are what the world knows.

    It takes the files for unchanged since they were answered.
    """

    def __init__(self, url: str, environment: str, *, moves: dict[str, str], retired: str) -> None:
        self._url, self._moves, self._retired = Path(url), moves, retired
        self._environment = environment
        order = ["answered_at", "run_id", "leg", "manifest_row"]
        self.verdicts = self._records("verdicts", order)
        self.runs = self._records("runs", ["run_id", "leg"])
        self.exchanges = self._records("exchanges", ["started_at"])
        for row in self.verdicts:
            row["file"] = row["relative_path"] or row["audio"]
            row["supplier"] = json.loads(row["tags"] or "{}").get("supplier")

    def _records(self, table: str, order: list[str]) -> list[Cells]:
        frames = [pd.read_parquet(file, dtype_backend="pyarrow") for file in self._url.glob(f"{table}/*/*.parquet")]
        rows = pd.concat(frames, ignore_index=True).sort_values(order, kind="stable")
        own = rows[rows["environment"] == self._environment].astype(object)
        return own.where(own.notna(), None).to_dict("records")

    @cached_property
    def plans(self) -> dict[str, Cells]:
        """The plans by their runs, the oldest first."""
        plans = (json.loads(file.read_bytes()) for file in sorted(self._url.glob("_runs/*/plan.json")))
        return {plan["run_id"]: plan for plan in plans if plan.get("environment") == self._environment}

    @cached_property
    def listings(self) -> dict[str, set[str]]:
        """The items of the newest listing of each catalog that counts."""
        newest = {plan["catalog"]: run_id for run_id, plan in self.plans.items() if plan["catalog_kind"] != "ingest"}
        return {catalog: self._listed(run_id) for catalog, run_id in newest.items() if catalog != self._retired}

    def _listed(self, run_id: str) -> set[str]:
        folder = self._url / "_runs" / run_id
        files = [*folder.glob("listed/*.parquet")] or [*folder.glob("items/*.parquet")]
        return {item for file in files for item in pd.read_parquet(file)["item_id"]}

    @cached_property
    def files(self) -> dict[str, Cells]:
        """Each item that is listed, or that was tried and is of no retired catalog: the row by which it stands."""
        listed = {item: catalog for catalog, items in self.listings.items() for item in items}
        found: dict[str, Cells] = {}
        for item, rows in self.by_item().items():
            row = _standing(rows)
            plan = self.plans[row["run_id"]]
            if item in listed or plan["catalog"] != self._retired:
                state = row["outcome"] if item in listed or plan["catalog_kind"] == "ingest" else "gone"
                state = "moved" if item in self._moves else state
                facts = {
                    "state": state,
                    "catalog": listed.get(item, plan["catalog"]),
                    "why": row["verdict"] or row["reason"],
                }
                found[item] = row | facts | self._history(rows, state)
        for item in listed.keys() - found.keys():
            nothing = dict.fromkeys(self.verdicts[0]) | {"item_id": item, "file": f"/c/{item}", "state": "not_sent"}
            found[item] = nothing | {"catalog": listed[item], "rejected_since": None, "moved_to": None}
        return found

    def _history(self, rows: list[Cells], state: str) -> Cells:
        """Tell of an item when it was seen first, since when it is rejected, when it was answered last, and by what."""
        answers = [row for row in rows if row["outcome"] in ANSWERS]
        same = next((list(group) for _, group in groupby(reversed(answers), key=lambda row: row["outcome"])), [])
        began = min(self.plans[row["run_id"]]["created_at"] for row in rows)
        return {
            "first_seen_at": pd.Timestamp(began),
            "rejected_since": same[-1]["answered_at"] if state == "rejected" else None,
            "answered_at": answers[-1]["answered_at"] if answers else None,
            "was_accepted_at": max((row["answered_at"] for row in answers if row["accepted"]), default=None),
            "moved_to": self._moves.get(rows[0]["item_id"]),
        }

    def by_item(self) -> dict[str, list[Cells]]:
        found: dict[str, list[Cells]] = {}
        for row in self.verdicts:
            found.setdefault(row["item_id"], []).append(row)
        return found

    def there(self, *states: str) -> list[Cells]:
        """Return the files that are there, in some states."""
        return [
            file
            for file in self.files.values()
            if file["state"] not in LEFT and file["state"] in (states or file["state"])
        ]

    def rows_of(self, run_id: str) -> list[Cells]:
        return [row for row in self.verdicts if row["run_id"] == run_id]

    def outcomes(self, run_id: str) -> Counter[str]:
        return Counter(row["outcome"] for row in self.rows_of(run_id))

    def coverage(self, catalog: str) -> Counter[str]:
        """Count a catalog's files by state, and how many there are, are answered and are covered."""
        files = [self.files[item] for item in self.listings[catalog]]
        left = [file["state"] for file in self.files.values() if file["catalog"] == catalog and file["state"] in LEFT]
        counts = Counter([*(file["state"] for file in files), *left])
        answered = sum(file["answered_at"] is not None and file["state"] != "ineligible" for file in files)
        return counts + Counter(files=len(files), answered=answered, covered=answered + counts["ineligible"])

    def changes(self, run_id: str) -> dict[str, tuple[Cells | None, Cells]]:
        """Return each row of a run that differs from the item's row before, also by bytes or grades, with that row."""
        found: dict[str, tuple[Cells | None, Cells]] = {}
        before = [row for row in self.verdicts if row["run_id"] < run_id]
        for now in self.rows_of(run_id):
            names = {now["item_id"], *(old for old, new in self._moves.items() if new == now["item_id"])}
            earlier = [row for row in before if row["item_id"] in names]
            was = next(
                (row for row in reversed(earlier) if row["outcome"] != "failed"), earlier[-1] if earlier else None
            )
            if was is None or any(was[name] != now[name] for name in _COMPARED):
                found[now["item_id"]] = (was, now)
        return found

    def calls_of(self, file: str) -> set[str]:
        """Return the request IDs of the calls on which the answers of a file rest."""
        return {call["request_id"] for call in self.exchanges if file in self.files_of(call)}

    def files_of(self, call: Cells) -> set[str]:
        return {row["file"] for row in self.verdicts if (call["run_id"], call["manifest_row"]) in self._called_for(row)}

    def _called_for(self, row: Cells) -> Iterator[tuple[str, int]]:
        yield row["run_id"], row["manifest_row"]
        if row["answered_by_row"] is not None:
            yield row["run_id"], row["answered_by_row"]
        if row["answered_by_run"] is not None:
            same = (each for each in self.rows_of(row["answered_by_run"]))
            yield from (
                (each["run_id"], each["manifest_row"])
                for each in same
                if each["verify_request_id"] == row["verify_request_id"]
            )


_COMPARED = ("outcome", "verdict", "reason", "audio_sha256", "relative_path", "grade_human", "grade_rubric_version")


def _standing(rows: list[Cells]) -> Cells:
    """Return the row by which an item stands: its newest answer, or a later one if it is ineligible or was accepted."""
    answers = [row for row in rows if row["outcome"] in ANSWERS]
    last = rows[-1]
    if not answers or last["outcome"] == "ineligible" or answers[-1]["outcome"] == "accepted":
        return last
    return answers[-1]


def key_of(supplier: str | None) -> str:
    """Return what the spellings of a supplier have in common."""
    return pd.Series([supplier or ""]).str.normalize("NFC").str.strip().str.lower()[0]
