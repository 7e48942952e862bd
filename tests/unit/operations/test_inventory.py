"""Listed proofs are held against the newest answers, one row for each."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from proofsweep.client.client import Partner
from proofsweep.config.threads import utc_now
from proofsweep.domain.errors import CallFailed, RunMustStop
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import Row
from proofsweep.domain.models import ProofSummary
from proofsweep.domain.runs import Bounds
from proofsweep.operations.inventory import arrow_of, inventory_proofs, pages_of, reconciled
from proofsweep.operations.operation import Operator
from proofsweep.queries.connection import opened
from proofsweep.store.parts import Results
from proofsweep.store.tables import TABLES
from proofsweep.verify.repair import end_dead_legs

from ...worlds.ended_runs import answered, end_leg, plan_of_run
from ..ended_operations import leave_operation, operation_named
from ..scripted_service import Scripted, ScriptedService

ISSUED = datetime(2026, 11, 1, tzinfo=UTC)


def listed(proof_id: str, **members: object) -> ProofSummary:
    return ProofSummary.model_validate({"proofId": proof_id, "song": "s", "issuedAt": ISSUED.timestamp()} | members)


def rows_of(results: Results, *proofs: ProofSummary, environment: str = "beta") -> dict[str, Row]:
    found = [row for rows in reconciled(results, environment, [arrow_of(proofs)]) for row in rows]
    assert len(found) == len({row["proof_id"] for row in found})
    return {str(row["proof_id"]): row for row in found}


def test_each_proof_has_its_state(results: Results) -> None:
    """A rejected file's proof is not missed; a classification that either side lacks does not differ.

    What is no proof ID is none, even where the service calls it one.
    """
    plan = plan_of_run("20261120T010000Z_000aa", items=9)
    facts: Row = {"issued_at": ISSUED, "classification": "human"}
    rows = [
        answered(plan, 0, "a", proof_id="same", **facts),
        answered(plan, 1, "b", proof_id="other class", **facts),
        answered(plan, 2, "c", proof_id="other time", **facts | {"issued_at": ISSUED.replace(day=2)}),
        answered(plan, 3, "d", proof_id="gone", **facts),
        answered(plan, 4, "e", "rejected", proof_id="rejected", **facts),
        answered(plan, 5, "f", proof_id="same", **facts),
    ]
    rows += [answered(plan, 6 + each, f"odd {each}", proof_id="." * each, **facts) for each in range(3)]
    end_leg(results, plan, rows)

    found = rows_of(
        results,
        listed("same"),
        listed("other class", classification="mixed"),
        listed("other time", classification="human"),
        listed("new", hasFeedback=True),
    )

    assert {name: (row["state"], row["differs"], row["files"]) for name, row in found.items()} == {
        "same": ("matched", None, 2),
        "other class": ("differs", "classification", 1),
        "other time": ("differs", "issued_at", 1),
        "new": ("no_file", None, 0),
        "gone": ("not_listed", None, 1),
    }
    assert (found["same"]["item_id"], found["same"]["audio"]) == ("f", "/c/f")
    assert (found["new"]["has_feedback"], found["gone"]["song"]) == (True, None)
    assert set(found["same"]) == {column.name for column in TABLES["proofs"].columns} - {"operation_id", "environment"}


def test_answers_of_another_environment_do_not_count(results: Results) -> None:
    """Each environment has a registry of its own; a store without a run has no answers."""
    assert rows_of(results, listed("p"))["p"]["state"] == "no_file"
    plan = plan_of_run("20261120T010000Z_000aa", environment="production")
    end_leg(results, plan, [answered(plan, 0, "a", proof_id="p")])

    assert rows_of(results, listed("p"))["p"]["state"] == "no_file"
    assert rows_of(results, listed("p"), environment="production")["p"]["state"] == "matched"


def page(*proof_ids: str | None, cursor: str | None = None) -> Scripted:
    document: dict[str, object] = {"items": [{"proofId": each, "song": "s"} for each in proof_ids]}
    return Scripted(document=document if cursor is None else document | {"nextCursor": cursor})


def test_a_list_that_shifts_gives_each_proof_once(operator: Operator, service: ScriptedService) -> None:
    """New proofs come first, so what was read comes again; a page may be short or empty before the last."""
    service.script[Call.PROOFS] = [page("c", "b", cursor="1"), page(cursor="2"), page("b", "a", cursor="3"), page()]

    inventory_proofs(operator)

    listed = operator.results.table("proofs", operator.results.all_parts("proofs"))["proof_id"].to_pylist()
    assert sorted(listed) == ["a", "b", "c"]


def test_a_list_that_never_ends_fails(partner: Partner, service: ScriptedService) -> None:
    """Half a list would name proofs as missing."""
    service.script[Call.PROOFS] = [page("a", cursor="1"), page("b", cursor="2"), page("c", cursor="1")]

    with pytest.raises(CallFailed, match="a cursor came twice"):
        list(pages_of(Call.PROOFS, lambda cursor: partner.proofs(cursor=cursor)))


def test_keys_that_the_service_pages_unasked_are_all_listed(partner: Partner, service: ScriptedService) -> None:
    """The contract gives the whole inventory to a call without a cursor, and leaves open whether it has one then."""
    pages: list[dict[str, object]] = [{"keys": [{"keyId": "a"}], "nextCursor": "1"}, {"keys": [{"keyId": "b"}]}]
    service.script[Call.KEYS] = [Scripted(document=each) for each in pages]

    keys = [key.key_id for page in pages_of(Call.KEYS, partner.keys) for key in page.keys]

    assert (keys, service.calls) == (["a", "b"], [Call.KEYS] * 2)


@pytest.mark.parametrize(
    ("most_calls", "last", "why"),
    [
        (9, Scripted(status=503), "The service fails"),
        (
            2,
            page("c"),
            r"none are left for another\. No row was written: an inventory needs",
        ),
    ],
)
def test_half_an_inventory_is_not_left(
    operator: Operator, service: ScriptedService, most_calls: int, last: Scripted, why: str
) -> None:
    """Half a list would name proofs as missing. The service may be down, or too few calls may be set for the list."""
    service.script[Call.PROOFS] = [page("a", cursor="1"), page("b", cursor="2"), last, last]

    with pytest.raises(RunMustStop, match=why):
        inventory_proofs(replace(operator, bounds=Bounds(max_calls=most_calls)))

    assert len(operator.results.table("proofs", operator.results.all_parts("proofs"))) == 0


def test_a_killed_inventory_is_not_the_last_one(results: Results) -> None:
    """What it had written is in the table; the view has the last one that came to its end, of each environment."""
    rows: list[Row] = [{"proof_id": proof_id, "state": "matched", "files": 1} for proof_id in "abc"]
    whole, killed = (operation_named(f"2026112{day}T010000Z_000aa") for day in (0, 1))
    elsewhere = operation_named("20261119T010000Z_000aa", environment="production")
    leave_operation(results, whole, rows={"proofs": rows})
    leave_operation(results, elsewhere, rows={"proofs": rows[:2]})
    leave_operation(results, killed, rows={"proofs": rows[:1]}, is_killed=True)
    end_dead_legs(results, utc_now)

    with opened(results, "all") as store:
        counts = store.execute("SELECT operation_id, count(*) FROM inventory GROUP BY ALL").fetchall()
        every = store.execute("SELECT DISTINCT operation_id FROM proofs").fetchall()

    assert sorted(counts) == [(elsewhere.operation_id, 2), (whole.operation_id, 3)]
    assert (killed.operation_id,) in every
