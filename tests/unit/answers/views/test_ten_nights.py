"""Every way to ask a results store gives the same answer, and the true one, on each of ten nights."""

import os
import re
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from proofsweep.answers.attention import attention_groups
from proofsweep.answers.export import export
from proofsweep.answers.report.catalog_page import catalog_page
from proofsweep.answers.report.choice import PageChoice
from proofsweep.answers.report.night_page import night_page
from proofsweep.answers.run_changes import Comparison, run_changes
from proofsweep.answers.run_status import NEED_ATTENTION
from proofsweep.answers.views.connection import opened
from proofsweep.answers.views.script import script_of
from proofsweep.answers.views.selected_rows import SelectedRows
from proofsweep.answers.views.views import views
from proofsweep.model.run_records import OUTCOMES
from proofsweep.results import open_results
from proofsweep.store.plans_and_parts import Results

from ....worlds.ten_nights import CATALOG, ENVIRONMENTS, Change, KnownRun, TenNights

SEEDS = int(os.environ.get("PROOFSWEEP_SOAK_NIGHTS", "1"))

COVERAGE = "files, answered, covered, accepted, rejected, failed, ineligible, not_sent, gone"


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_way_to_ask_agrees_with_the_truth(results: Results, seed: int, tmp_path: Path) -> None:
    """Over changes, moves, deletions, redeliveries, stopped nights, nights of what is due, and parts between."""
    truth = TenNights(results, seed)
    for _ in truth.nights():
        with opened(results, "all") as store:
            agree_with_connection(store.connection, truth)
    environment = ENVIRONMENTS[seed % 2]
    nightly = [run for run in truth.runs if (run.environment, run.identity) == (environment, CATALOG)]
    newest = [run for run in nightly if run.kind == "manifest"][-1]
    agree_with_others(results, truth, environment, newest, tmp_path / "report.csv")
    with duckdb.connect() as plain:
        plain.execute(script_of(results, ENVIRONMENTS, views()))
        agree_with_connection(plain, truth)


def agree_with_connection(connection: duckdb.DuckDBPyConnection, truth: TenNights) -> None:
    """Compare the four questions: what changed in each run, what needs attention, the newest answer, and how many."""
    found: dict[str, set[Change]] = {}
    for run_id, *change in connection.execute("SELECT run_id, item_id, change, cause FROM changes").fetchall():
        found.setdefault(run_id, set()).add(tuple(change))  # type: ignore[arg-type]  # it has three
    for run in truth.runs:
        if (changes := truth.changes(run)) is not None:
            assert (run.run_id, found.get(run.run_id, set()) ^ changes) == (run.run_id, set())
    for view in ("latest_answer", "rejects"):
        query = f"SELECT environment, item_id, outcome FROM {view}"  # noqa: S608 - our own names
        outcomes = {(environment, item): outcome for environment, item, outcome in connection.execute(query).fetchall()}
        assert (view, outcomes) == (
            view,
            {
                (environment, item): outcome
                for environment in ENVIRONMENTS
                for item, outcome in truth.outcomes(view, environment).items()
            },
        )
    states = connection.execute("SELECT environment, item_id, state FROM catalog").fetchall()
    assert {(environment, item): state for environment, item, state in states} == {
        (environment, item): state for environment in ENVIRONMENTS for item, state in truth.states(environment).items()
    }
    assert len(states) == len({state[:2] for state in states})
    query = f"SELECT environment, {COVERAGE} FROM coverage WHERE catalog = ? ORDER BY environment"  # noqa: S608 - as above
    covered = connection.execute(query, [CATALOG]).fetchall()
    assert covered == [(environment, *truth.coverage(environment)) for environment in ENVIRONMENTS]


def agree_with_others(results: Results, truth: TenNights, environment: str, run: KnownRun, report: Path) -> None:
    """Ask `diff`, Python, `rejects`, `export` and the page."""
    changes = truth.changes(run)
    with run_changes(Comparison(results, results.plan(run.run_id))) as found:
        listed: set[Change] = {(str(row["item_id"]), str(row["change"]), row["cause"]) for row in found.rows()}
        same = found.as_before()
    told = open_results(results.store.url).changes(run.run_id).to_pylist()
    selected = SelectedRows(results=results, environment=environment, outcomes=NEED_ATTENTION)
    needing = sum(group.rows for group in attention_groups(selected, 1))
    exported = export(SelectedRows(results=results, environment=environment), report)

    assert listed == {(row["item_id"], row["change"], row["cause"]) for row in told}
    assert changes is None or changes == listed
    assert same == len(run.rows) - sum(change != "gone" for _, change, _ in listed)
    states = [*truth.states(environment).values()]
    listed_now = [state for state in states if state in OUTCOMES]
    assert needing == sum(state != "accepted" for state in listed_now)
    assert sum(each.rows for each in exported.reports) == len(listed_now)
    everything = SelectedRows(results=results, environment=environment)
    assert everything.gone() == states.count("gone")
    files, _, _, accepted, *_ = truth.coverage(environment)
    made_at = datetime(2026, 11, 20, tzinfo=UTC)
    page = night_page(results, run.run_id, made_at)
    whole = catalog_page(results, environment, made_at, PageChoice(catalog=CATALOG))
    headed = re.search(r"<title>(\d+) of (\d+) files accepted", whole)
    assert headed is not None
    assert headed.groups() == (str(accepted), str(files))
    assert f"<p>{same:,} of the files of this run are as before." in page
