"""What is told when a leg has ended."""

from pathlib import Path

import pytest

from proofsweep.alerts.facts import alerts_of_run, end_of_run
from proofsweep.alerts.messages import Alert
from proofsweep.alerts.rules import over_after_end
from proofsweep.answers.describe_run import describe_run
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.legs import Legs
from proofsweep.store.plans_and_parts import Results

from ..ended_runs import answered, end_leg, plan_of_run

RUN = "20261120T100000Z_aaaaaa"


def told(results: Results, *outcomes: str, items: int, **counts: str) -> list[Alert]:
    """Let a run's leg end with these rows; give what is told."""
    cells = {"failed": {"reason": "timeout"}, "rejected": {"verdict": "tampered", "reason": "tampered"}}
    plan = plan_of_run(RUN, items, catalog="s3://label/catalog")
    rows = [answered(plan, row, str(row), outcome, **cells.get(outcome, {})) for row, outcome in enumerate(outcomes)]
    end_leg(results, plan, rows, **counts)
    run = describe_run(results, RUN)
    end = end_of_run(results, run)
    alerts = alerts_of_run(end, run)
    assert not [cause for cause in over_after_end(end) if alerts and alerts[0].cause.startswith(cause)]
    return alerts


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """An empty store."""
    return Results(FolderStore(tmp_path))


def test_rows_that_remain_are_told_with_counts_reasons_and_what_to_do(results: Results) -> None:
    """The message says which run, what its rows are, the head of the records, and where the tables are."""
    (alert,) = told(results, "accepted", "rejected", items=26, ended_by="quota")

    machine, head = Legs(results, RUN).holder(1), Legs(results, RUN).receipt_digest(1)
    assert machine is not None
    assert alert.subject == "proofsweep: 24 of 26 rows remain (beta)"
    assert alert.body.splitlines()[2:] == [
        "2 of 26 rows have their outcome:",
        "- 1 `accepted`: accept the credential",
        "- 1 `rejected · tampered`: reject, and ask the supplier for the untouched original delivery",
        f"Head of the records: `{head}`",
        f"Environment `beta`, catalog `s3://label/catalog`, machine `{machine.host}`, 24 rows at risk.",
        "If nobody acts: the next run of the schedule resumes them; nothing is lost, and nothing is paid twice.",
        "To do: nothing, if the rest may wait: the next run resumes it, or `proofsweep resume`.",
        f"Tables: `{results.store.url}`",
    ]


def test_a_finished_run_has_nothing_to_tell(results: Results) -> None:
    """Everything is well, and so it is if files are rejected."""
    assert told(results, "accepted", "rejected", items=2) == []


@pytest.mark.parametrize(
    ("outcomes", "what"),
    [(["accepted", "failed"], "1 of 2 rows failed (beta)"), (["failed"], "1 of 1 rows failed, and none was answered")],
)
def test_failed_rows_of_a_finished_run_are_told(results: Results, outcomes: list[str], what: str) -> None:
    """With their count; a run that shows one of the two causes ends the other."""
    (alert,) = told(results, *outcomes, items=len(outcomes))

    assert what in alert.subject
    assert "`proofsweep rejects`" in alert.body


def test_a_sunset_header_of_a_run_is_told(results: Results) -> None:
    """Also of a run that is well; no row is at risk."""
    (alert,) = told(results, "accepted", items=1, sunset="Sat, 31 Jul 2027 00:00:00 GMT")

    assert alert.kind == "sunset"
    assert "at risk" not in alert.body
