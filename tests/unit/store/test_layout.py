"""Names in a results store are functions of run, shard and leg."""

from datetime import date

import pytest

from proofsweep.store import layout

DAY = date(2026, 11, 20)
RUN = "20261120T120000Z_ab12"


def test_each_object_has_its_place() -> None:
    """The tree is that of the docs; the usual readers ignore names that begin with `_`."""
    names = [
        layout.plan_name(RUN),
        layout.shard_name(RUN, 7),
        layout.verdicts_name(RUN, DAY, 7, 2),
        layout.exchanges_name(RUN, DAY, 0, 2),
        layout.runs_name(RUN, DAY, 2),
        layout.claim_name(RUN, 2),
        layout.receipt_name(RUN, 2),
        layout.journal_folder(RUN, 2),
    ]

    assert names == [
        f"_runs/{RUN}/plan.json",
        f"_runs/{RUN}/shards/00007.parquet",
        f"verdicts/run_date=2026-11-20/{RUN}-00007-002.parquet",
        f"exchanges/run_date=2026-11-20/{RUN}-00000-002.parquet",
        f"runs/run_date=2026-11-20/{RUN}-002.parquet",
        f"_runs/{RUN}/legs/002/claim.json",
        f"_runs/{RUN}/legs/002/receipt.json",
        f"_runs/{RUN}/journal/002",
    ]


def test_an_operation_is_named_as_a_run_is() -> None:
    """Its parts lie beside those of runs, and say whose they are."""
    name = layout.operation_part_name("exchanges", RUN, DAY, 7)

    assert name == f"exchanges/run_date=2026-11-20/{RUN}-00007-001.parquet"
    assert (layout.run_of(name), layout.leg_of(name)) == (RUN, 1)
    assert layout.operation_intent_name(RUN) == f"_operations/{RUN}/intent.json"
    assert layout.operation_receipt_name(RUN) == f"_operations/{RUN}/receipt.json"


@pytest.mark.parametrize(
    ("text", "is_one"), [(RUN, True), ("", False), ("a-b", False), ("../x", False), ("a" * 65, False), ("a\n", False)]
)
def test_a_run_id_cannot_lead_out_of_the_store(text: str, is_one: bool) -> None:
    """It comes from the command line and becomes part of a path."""
    assert layout.is_run_id(text) is is_one
