"""The list of `proofsweep diff` and the view `changes` say the same of a run."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from proofsweep.domain.tables.columns import Row
from proofsweep.query.connection import opened
from proofsweep.reporting.run_diff import Comparison, run_diff
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.storage.results.store import open_store

from ..query.nights import ACCEPTED, FAILED, INELIGIBLE, MONDAY, REJECTED, TUESDAY, night

CAUSES = {
    "audio changed": "audio_changed",
    "sidecar changed": "sidecar_changed",
    "erased by us": "erased_by_us",
    "moved": "moved",
    "first seen": "first_seen",
    "not in the catalog any more": "gone",
    "service deployment changed": "service_deployment_changed",
}
"""The causes that both know; of a row that is no answer, the list says only that."""

UNREGISTERED: Row = REJECTED | {"verdict": "unregistered", "reason": "unregistered"}


def some_cells(random: Random, number: int, night_number: int) -> Row:
    """Make up how a file stood: most of it mostly as the night before."""
    kind = random.choice([ACCEPTED, ACCEPTED, REJECTED, UNREGISTERED, FAILED, INELIGIBLE])
    often = random.choice([0, 0, night_number])
    sha = None if kind is INELIGIBLE else f"{number} {random.choice([0, often])}"
    grade: Row = {
        "classification": random.choice(["human", "human", f"class {often}"]),
        "grade_rubric_version": random.choice(["r1", "r1", f"r{1 + often}"]),
    }
    return (
        (grade if kind not in (FAILED, INELIGIBLE) else {})
        | kind
        | {
            "audio_sha256": sha,
            "audio_version": random.choice(["v0", f"v{often}"]),
            "sidecar": random.choice([None, "s"]) if number % 9 == 0 else "s",
            "sidecar_sha256": random.choice(["s0", f"s{often}"]),
            "relative_path": random.choice([str(number), f"elsewhere {often}"]),
            "proof_id": f"prf_{number}",
        }
    )


def two_nights(results: Results, random: Random) -> Comparison:
    """Leave two nights of some fifty files behind, some of them under another ID, and erasures between them."""
    monday = {f"i{number}": some_cells(random, number, 0) for number in range(55)}
    tuesday = {f"i{number}": some_cells(random, number, 1) for number in range(5, 55)}
    tuesday |= {f"renamed {number}": monday[f"i{number}"] for number in range(3)} | {"new": some_cells(random, 99, 1)}
    before = night(results, MONDAY, monday, is_noted=True, leg_cells={"service_commit": "c1"})
    now = night(results, TUESDAY, tuesday, is_noted=True, leg_cells={"service_commit": "c2"})
    asked = {"asked_at": datetime(2026, 11, 16, 12, tzinfo=UTC), "answered_at": datetime(2026, 11, 16, 12, tzinfo=UTC)}
    erasures = [
        {"operation_id": "o", "environment": "beta", "proof_id": f"prf_{number}", "outcome": "erased"} | asked
        for number in range(0, 55, 2)
    ]
    results.create_part("erasures/run_date=2026-11-16/o-00000-001.parquet", "erasures", erasures)
    commits = {MONDAY: "c1", TUESDAY: "c2"}
    return Comparison(results=results, now=now, before=[before], whole=before, commits=commits)


def test_both_name_the_same_changes_and_causes(tmp_path: Path) -> None:
    """Files whose grades alone changed with the rubric are in the view only: the list does not compare two rubrics."""
    results = Results(open_store(str(tmp_path)))
    comparison = two_nights(results, Random(12))  # noqa: S311 - no secret

    with run_diff(comparison) as found:
        listed = {str(row["item_id"]): (row["change"], CAUSES.get(str(row["cause"]))) for row in found.rows()}
    with opened(results) as store:
        rows = store.connection.execute("SELECT item_id, change, cause FROM changes WHERE run_id = ?", [TUESDAY])
        viewed = {item_id: (change, cause) for item_id, change, cause in rows.fetchall()}

    assert {item_id: viewed[item_id][0] for item_id in listed} == {item_id: each[0] for item_id, each in listed.items()}
    assert {viewed[item_id] for item_id in viewed.keys() - listed.keys()} <= {("changed", "rubric_changed")}
    causes = {item_id: each for item_id, each in listed.items() if each[1] and viewed[item_id][1] != "rubric_changed"}
    assert causes == {item_id: viewed[item_id] for item_id in causes}
    assert {cause for _, cause in causes.values()} == set(CAUSES.values())


def test_a_whole_catalog_that_moved_has_not_changed(tmp_path: Path) -> None:
    """Each file is where it was below the catalog's root; all their absolute locations are others."""
    results = Results(open_store(str(tmp_path)))
    before = night(results, MONDAY, {"a": ACCEPTED | {"audio": "/old/a"}})
    now = night(results, TUESDAY, {"a": ACCEPTED | {"audio": "/new/a"}})
    comparison = Comparison(results=results, now=replace(now), before=[before], whole=before, commits={})

    with run_diff(comparison) as found:
        assert found.counts() == [("same", "", 1)]
