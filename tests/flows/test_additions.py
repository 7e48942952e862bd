"""The service may add to its answers at any time, also during a run (contract, Versioning 2-3)."""

import pytest

from ..worlds.sandbox_world import Samples, SandboxWorld

pytestmark = pytest.mark.usefixtures("without_prefect")

NEW_MEMBER = {"addedLater": {"since": "2.5.0", "list": [1, None, {"deep": True}]}}
SUNSET = "Sat, 01 May 2027 00:00:00 GMT"


def test_unknown_members_values_and_fields_change_no_row(world: SandboxWorld, samples: Samples) -> None:
    """A new code counts as its status, and is tried again; new members are named, and an announced end is recorded."""
    before = {str(sample.audio): sample.verdict for sample in samples.files}
    world.operator.add_fault("*", "answer", answer=NEW_MEMBER)
    odd = {"classification": "co_performed", "grade": {"rubric": 7}, "interpretation": [1], "embeddedCredential": 3}
    world.operator.add_fault("verify", "answer", answer=odd)
    world.operator.add_fault("usage", "answer", answer={"plan": {"quotaLimit": 9_000, "quotaPeriod": "QUARTER"}})
    world.operator.add_fault("verify", "status", status=500, code="internal_since_2_5", after=9, count=1)
    for call in ("health", "usage", "uploads", "verify"):
        world.operator.add_fault(call, "headers", headers={"Sunset": SUNSET})

    code = world.run("verify", str(samples.folder))

    rows, exchanges = world.rows(), world.table("exchanges")
    assert code == 3
    assert {str(row["audio"]): row["verdict"] for row in rows} == before
    assert sum(row["verify_attempts"] for row in rows) == 1 + sum(row["verify_attempts"] > 0 for row in rows)
    assert {row["unnamed"] for row in exchanges if row["call"] == "verify" and row["status"] == 200} == {"addedLater"}
    assert [leg["sunset"] for leg in world.legs()] == [SUNSET]
    assert {row["call"] for row in exchanges if row["sunset"]} == {"health", "usage", "uploads", "verify"}
