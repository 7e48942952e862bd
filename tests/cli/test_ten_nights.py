"""Every way to ask a results store gives the same answer, and the true one, night after night."""

import csv
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from proofsweep.results import open_results
from proofsweep_cli.app import run

from ..worlds.command_world import said, told
from ..worlds.core import results_at
from ..worlds.ten_nights import CATALOG, ENVIRONMENTS, OUTCOMES, Change, KnownRun, TenNights

SEEDS = int(os.environ.get("PROOFSWEEP_SOAK_NIGHTS", "1"))
NIGHTS, EACH = (5, 3) if SEEDS == 1 else (10, 1)
"""The views are asked once on the way, and in the end without what was derived; in the soak, after each night too."""

VIEWS = {
    "changes": "run_id, item_id, change, cause",
    "latest_answer": "environment, item_id, outcome",
    "rejects": "environment, item_id, outcome",
    "catalog": "environment, item_id, state",
    "coverage": "catalog, environment, files, answered, covered, "
    "accepted, rejected, failed, ineligible, not_sent, gone",
    "run_totals": "run_id, accepted, rejected, failed, ineligible",
}
"""What is asked of each view."""


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_way_to_ask_agrees_with_the_truth(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over changes, moves, deletions, redeliveries, stopped nights, nights of what is due, and parts between."""
    monkeypatch.setattr(os, "fsync", lambda _file: None)  # it writes a thousand files, and no machine fails here
    url = str(tmp_path / "a [1] store*")  # what a glob would take for a pattern
    monkeypatch.setenv("PROOFSWEEP_RESULTS__URL", url)
    truth = TenNights(results_at(url), seed, NIGHTS)
    for number, _ in enumerate(truth.nights(), 1):
        if number % EACH == 0:
            store = open_results(url)
            agree_with_views(lambda query, store=store: store.sql(query, "all").fetchall(), truth)
    environment = ENVIRONMENTS[seed % 2]
    nightly = [run for run in truth.runs if (run.environment, run.identity) == (environment, CATALOG)]
    newest = [run for run in nightly if run.kind == "manifest"][-1]
    monkeypatch.setenv("PROOFSWEEP_SERVICE__ENVIRONMENT", environment)
    agree_with_others(url, truth, environment, newest, tmp_path)
    for derived in ("_index", "_latest"):
        shutil.rmtree(Path(url, derived))
    agree_with_views(lambda query: open_results(url).sql(query, "all").fetchall(), truth)


def agree_with_views(ask: Callable[[str], Sequence[tuple[Any, ...]]], truth: TenNights) -> None:
    """Compare what changed in each run, the newest answers, what needs attention, each item's state, and how many."""
    found = {view: ask(f"SELECT {columns} FROM {view}") for view, columns in VIEWS.items()}  # noqa: S608 - our own names
    for each in truth.runs:
        if (changes := truth.changes(each)) is not None:
            shown = {cells[1:] for cells in found["changes"] if cells[0] == each.run_id}
            assert (each.run_id, shown ^ changes) == (each.run_id, set())
    for view in ("latest_answer", "rejects"):
        outcomes = {environment: truth.outcomes(view, environment) for environment in ENVIRONMENTS}
        assert (view, nested(found[view])) == (view, outcomes)
    assert nested(found["catalog"]) == {environment: truth.states(environment) for environment in ENVIRONMENTS}
    assert len(found["catalog"]) == len({cells[:2] for cells in found["catalog"]})
    totals = {run_id: dict(zip(OUTCOMES, counts, strict=True)) for run_id, *counts in found["run_totals"]}
    assert totals == {run.run_id: run.counts for run in truth.runs}
    covered = {environment: counts for catalog, environment, *counts in found["coverage"] if catalog == CATALOG}
    assert covered == {environment: [*truth.coverage(environment)] for environment in ENVIRONMENTS}


def nested(rows: Iterable[tuple[Any, ...]]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {environment: {} for environment in ENVIRONMENTS}
    for environment, item, word in rows:
        found[environment][item] = word
    return found


def agree_with_others(url: str, truth: TenNights, environment: str, run_of: KnownRun, folder: Path) -> None:
    """Ask `diff`, Python, `rejects`, `export` and the pages."""
    changes = truth.changes(run_of)
    rows = csv.DictReader(StringIO(said("diff", run_of.run_id, "--format", "csv")))
    listed: set[Change] = {(row["item_id"], row["change"], row["cause"] or None) for row in rows}
    counts = json.loads(said("diff", run_of.run_id, "--json"))["counts"]
    same = next(each["files"] for each in counts if each["change"] == "same")
    in_python = open_results(url).changes(run_of.run_id).to_pylist()
    rejects = told("rejects")

    assert listed == {(row["item_id"], row["change"], row["cause"]) for row in in_python}
    assert changes is None or changes == listed
    assert same == len(run_of.rows) - sum(change != "gone" for _, change, _ in listed)
    states = [*truth.states(environment).values()]
    listed_now = [state for state in states if state not in {"gone", "moved", "not_sent"}]
    assert rejects["rows"] == sum(state != "accepted" for state in listed_now)
    exported = said("export", "--file", str(folder / "report.csv"))
    assert f"report.csv: {len(listed_now)} rows" in exported
    files, _, _, accepted, *_ = truth.coverage(environment)
    night, whole = folder / "night.html", folder / "whole.html"
    assert run(["report", run_of.run_id, "--file", str(night)]) == 0
    assert run(["report", "--catalog", CATALOG, "--file", str(whole)]) == 0
    headed = re.search(r"<title>(\d+) of (\d+) files accepted", whole.read_text("utf-8"))
    assert headed is not None
    assert headed.groups() == (str(accepted), str(files))
    broke = sum(change == "broken" for _, change, _ in listed)
    assert (f"<summary>{broke:,} file" in night.read_text("utf-8")) or not broke
