"""Which items are looked at: those with a proof, by their newest answer."""

from pathlib import Path

from proofsweep.storage.results.folder_store import FolderStore
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.usecases.proofs.lost_sidecars import proven_items

from ...ended_runs import answered, end_leg, plan_of_run


def test_only_items_with_a_proof_are_given(tmp_path: Path) -> None:
    """Pairs, also rejected ones; one-file items if they are wanted; of one folder if one is named."""
    results = Results(FolderStore(tmp_path))
    plan = plan_of_run("20261120T010000Z_000aa", items=5)
    rows = [
        answered(plan, 0, "pair", proof_id="p0", audio="/m/a.wav", sidecar="/m/a.sidecar", sidecar_sha256="aa"),
        answered(plan, 1, "bad", "rejected", proof_id="p1", audio="/n/b.wav", sidecar="/n/b.sidecar"),
        answered(plan, 2, "one", proof_id="p2", audio="/m/c.wav"),
        answered(plan, 3, "none", "rejected", audio="/m/d.wav", sidecar="/m/d.sidecar"),
        answered(plan, 4, "by proof", proof_id="p4", audio="proof:p4"),
    ]
    end_leg(results, plan, rows)

    def found(below: str = "", *, with_one_files: bool = False) -> list[str]:
        return [item.item_id for item in proven_items(results, "beta", below, with_one_files=with_one_files)]

    assert (found(), found("/m/"), found(with_one_files=True)) == (["pair", "bad"], ["pair"], ["pair", "one", "bad"])
    (pair,) = proven_items(results, "beta", "/m/", with_one_files=False)
    assert (pair.proof_id, pair.sidecar, pair.sidecar_sha256, pair.accepted) == ("p0", "/m/a.sidecar", "aa", True)
