"""Everything that happened to an item is found, run by run."""

from proofsweep.domain.layout import exchanges_name
from proofsweep.domain.tables import planned_items, schemas
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.usecases.explain.occurrences import occurrences

from ...ended_runs import answered, end_leg, plan_of_run
from ...exchange_rows import exchange

OLD, NEW = (plan_of_run(f"202611{day}T020000Z_000aa", items=2) for day in (19, 20))


def test_each_run_has_the_calls_for_the_item(results: Results) -> None:
    """Retries and the calls of the row whose answer was used are there, in the order of time; other rows' are not."""
    end_leg(results, OLD, [answered(OLD, 0, "a"), answered(OLD, 1, "b", answered_by_row=0)])
    calls = [
        exchange(OLD, 0, "verify", 3, status=200, request_id="second"),
        exchange(OLD, 0, "uploads", 1, status=503, request_id="first"),
        exchange(OLD, 7, "verify", 2, request_id="of another row"),
    ]
    results.create_part(exchanges_name(OLD.run_id, OLD.run_date, 0, 1), "exchanges", calls)

    (found,) = occurrences(results, [NEW, OLD], "b", frozenset())

    assert (found.plan.run_id, found.manifest_row) == (OLD.run_id, 1)
    assert [call["request_id"] for call in found.exchanges] == ["first", "second"]


def test_a_row_that_remains_is_found_in_its_plan(results: Results) -> None:
    """Its calls led to no outcome; the support packet needs them."""
    end_leg(results, NEW, [])
    row: dict[str, object] = {column.name: None for column in planned_items.COLUMNS}
    planned = [row | {"manifest_row": 1, "item_id": "a", "audio": b"/c/a"}]
    results.write_shard(NEW.run_id, 0, schemas.pa.Table.from_pylist(planned, schema=schemas.ITEMS))
    call = exchange(NEW, 1, status=None, failure="timeout")
    results.create_part(exchanges_name(NEW.run_id, NEW.run_date, 0, 1), "exchanges", [call])

    (found,) = occurrences(results, [NEW], "a", frozenset({NEW.run_id}))

    assert (found.manifest_row, found.row) == (1, None)
    assert [call["failure"] for call in found.exchanges] == ["timeout"]


def test_a_finished_run_without_the_item_is_left_out(results: Results) -> None:
    """No planned items are read for it."""
    end_leg(results, OLD, [answered(OLD, 0, "a"), answered(OLD, 1, "b")])

    assert list(occurrences(results, [OLD], "other", frozenset())) == []
