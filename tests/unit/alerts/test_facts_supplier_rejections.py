"""Rejected files are counted by the tag that names the supplier, as `rejects` shows them."""

import json
from pathlib import Path

from proofsweep.alerts.facts import supplier_rejections
from proofsweep.alerts.run_alerts import SupplierRejections
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.plans_and_parts import Results

from ..ended_runs import answered, end_leg, plan_of_run

ALPHA, ALPHA_TOO, BETA, OTHER_TAG, NO_NAME = (
    json.dumps(tags)
    for tags in (
        {"the/supplier": "Alpha"},
        {"The/Supplier": "Alpha"},
        {"the/supplier": "Beta"},
        {"label": "Alpha"},
        {"the/supplier": ""},
    )
)


def test_rejected_files_of_a_run_are_counted_by_supplier_and_reason(tmp_path: Path) -> None:
    """The name of the tag counts in any case. Rows of another run, other outcomes, and rows without it do not."""
    results = Results(FolderStore(tmp_path))
    other, plan = plan_of_run("20261119T010000Z_000aa"), plan_of_run("20261120T010000Z_000aa", items=8)
    cells = [
        ("rejected", "tampered", ALPHA),
        ("accepted", None, BETA),
        ("ineligible", "empty", BETA),
        ("rejected", "tampered", ALPHA_TOO),
        ("rejected", "audioChanged", BETA),
        ("rejected", "tampered", OTHER_TAG),
        ("rejected", "tampered", None),
        ("rejected", "tampered", NO_NAME),
    ]
    rows = [
        answered(plan, row, f"{row}.wav", outcome, reason=reason, verdict=reason, tags=tags)
        for row, (outcome, reason, tags) in enumerate(cells)
    ]
    end_leg(results, other, [answered(other, 0, "z.wav", "rejected", reason="tampered", tags=BETA)])
    end_leg(results, plan, rows)

    found = supplier_rejections(results, plan, "the/supplier")

    assert sorted(found) == [SupplierRejections("Alpha", "tampered", 2), SupplierRejections("Beta", "audioChanged", 1)]
    assert supplier_rejections(results, plan, "isrc") == []
