"""The list of `proofsweep rejects` and the view `rejects` are the same files."""

from pathlib import Path

from proofsweep.query.connection import opened
from proofsweep.reporting.run_status import NEED_ATTENTION
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.storage.results.selected_rows import SelectedRows
from proofsweep.storage.results.store import open_store

from ..query.nights import ACCEPTED, FAILED, INELIGIBLE, MONDAY, REJECTED, TUESDAY, night


def test_both_name_the_same_files_for_the_same_reasons(tmp_path: Path) -> None:
    """For each way from one night to the next."""
    results = Results(open_store(str(tmp_path)))
    kinds = {"accepted": ACCEPTED, "rejected": REJECTED, "failed": FAILED, "ineligible": INELIGIBLE}
    ways = {f"{before} then {now}": (kinds[before], kinds[now]) for before in kinds for now in kinds}
    night(results, MONDAY, {item: before for item, (before, _) in ways.items()}, is_noted=True)
    night(results, TUESDAY, {item: now for item, (_, now) in ways.items()}, is_noted=True)

    selected = SelectedRows(results=results, environment="beta", plan=None, outcomes=NEED_ATTENTION)
    columns = ["item_id", "outcome", "reason"]
    listed = [
        tuple(row[name] for name in columns) for _, table in selected.tables(columns) for row in table.to_pylist()
    ]
    with opened(results) as store:
        viewed = store.connection.execute("SELECT item_id, outcome, reason FROM rejects ORDER BY ALL").fetchall()

    assert len(viewed) > len(kinds)
    assert sorted(listed) == viewed
