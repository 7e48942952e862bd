"""The service may add to its answers at any time, also during a run (contract, Versioning 2-3)."""

from collections import Counter

from ..worlds.sandbox_world import Samples, SandboxWorld

NEW_MEMBER = {"addedLater": {"since": "2.5.0", "list": [1, None, {"deep": True}]}}


def test_unknown_members_values_and_fields_change_no_row(world: SandboxWorld, samples: Samples) -> None:
    """A new code counts as its status, and is tried again; the rest is ignored."""
    before = {str(sample.audio): sample.verdict for sample in samples.files}
    world.operator.add_fault("*", "answer", answer=NEW_MEMBER)
    world.operator.add_fault("verify", "answer", answer={"classification": "co_performed", "grade": {"rubric": 7}})
    world.operator.add_fault("usage", "answer", answer={"plan": {"quotaLimit": 9_000, "quotaPeriod": "QUARTER"}})
    world.operator.add_fault("verify", "status", status=500, code="internal_since_2_5", after=9, count=1)

    code = world.run("verify", str(samples.folder))

    rows = world.rows()
    assert code == 3
    assert {str(row["audio"]): row["verdict"] for row in rows} == before
    assert sum(row["verify_attempts"] for row in rows) == 1 + sum(row["verify_attempts"] > 0 for row in rows)


def test_an_announced_end_is_recorded(world: SandboxWorld, samples: Samples) -> None:
    """The Sunset header of each API answer is in `exchanges` and in the leg's row."""
    sunset = {"Sunset": "Sat, 01 May 2027 00:00:00 GMT"}
    for call in ("health", "usage", "uploads", "verify"):
        world.operator.add_fault(call, "headers", headers=sunset)

    world.run("verify", world.manifest(samples.files[:5]))

    by_call = Counter((row["call"], row["sunset"] is not None) for row in world.table("exchanges"))
    (leg,) = world.table("runs")
    assert leg["sunset"] == sunset["Sunset"]
    assert {call for call, has_sunset in by_call if has_sunset} == {"health", "usage", "uploads", "verify"}
    assert {call for call, has_sunset in by_call if not has_sunset} <= {"slot"}
