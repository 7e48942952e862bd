"""Which items are looked at: those with a proof, by their newest answer."""

from datetime import UTC, datetime
from pathlib import Path

from proofsweep.domain.items import Row
from proofsweep.operations.recover import proven_items
from proofsweep.store import layout
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results

from ...worlds.ended_runs import answered, end_leg, plan_of_run


def test_only_items_with_a_proof_are_given(tmp_path: Path) -> None:
    """Pairs, also rejected ones; one-file items if they are wanted; of one folder if one is named."""
    results = Results(FolderStore(tmp_path))
    plan = plan_of_run("20261120T010000Z_000aa", items=8)
    rows = [
        answered(plan, 0, "pair", proof_id="p0", audio="/m/a.wav", sidecar="/m/a.sidecar", sidecar_sha256="aa"),
        answered(plan, 1, "bad", "rejected", proof_id="p1", audio="/n/b.wav", sidecar="/n/b.sidecar"),
        answered(plan, 2, "one", proof_id="p2", audio="/m/c.wav"),
        answered(plan, 3, "none", "rejected", audio="/m/d.wav", sidecar="/m/d.sidecar"),
        *(
            answered(plan, 5 + each, f"odd {each}", "rejected", proof_id="." * each, sidecar="/m/s")
            for each in range(3)
        ),
        answered(plan, 4, "by proof", proof_id="p4", audio="proof:p4"),
    ]
    end_leg(results, plan, rows)

    def found(below: str = "", *, with_one_files: bool = False) -> list[str]:
        return [item.item_id for item in proven_items(results, "beta", below, with_one_files=with_one_files)]

    assert (found(), found("/m/"), found(with_one_files=True)) == (["pair", "bad"], ["pair"], ["pair", "one", "bad"])
    assert [found(below) for below in ("/m", "/m/a.wav", "/m/a", "/m/a.wav/")] == [
        ["pair"],
        ["pair"],
        [],
        [],
    ]
    (pair,) = proven_items(results, "beta", "/m/", with_one_files=False)
    assert (pair.proof_id, pair.sidecar, pair.sidecar_sha256, pair.accepted) == ("p0", "/m/a.sidecar", "aa", True)


PLAN = plan_of_run("20261120T010000Z_000aa", items=5)


def moved(item_id: str, name: str, to: str | None, minute: int = 0, **cells: object) -> Row:
    """Make a row of `ingest`: a pair that was delivered as `/in/<name>.wav`."""
    facts: Row = {"run_id": PLAN.run_id, "leg": 1, "environment": "beta", "watched": "/in", "item_id": item_id}
    facts |= {"audio": f"/in/{name}.wav", "sidecar": f"/in/{name}.sidecar", "outcome": "accepted", "tries": 1}
    facts |= {
        "audio_sha256": item_id,
        "sidecar_sha256": item_id,
        "acted_at": datetime(2026, 11, 20, 2, minute, tzinfo=UTC),
    }
    facts["disposition"] = "left" if to is None else "accepted"
    if to is not None:
        facts |= {"audio_moved_to": f"{to}.wav", "sidecar_moved_to": f"{to}.sidecar"}
    return facts | cells


def places(results: Results, below: str = "") -> list[tuple[str, str, str | None]]:
    """Return the items with the places of their files."""
    found = proven_items(results, "beta", below, with_one_files=True)
    return sorted((item.item_id, item.current_audio, item.current_sidecar) for item in found)


def delivered(row: int, item_id: str, name: str, digest: str | None = None) -> Row:
    """Make the answer for a delivered pair."""
    facts = {"audio": f"/in/{name}.wav", "sidecar": f"/in/{name}.sidecar", "proof_id": f"p-{digest or item_id}"}
    return answered(PLAN, row, item_id, audio_sha256=digest or item_id, sidecar_sha256=digest or item_id, **facts)


def test_items_are_where_ingest_has_moved_them(tmp_path: Path) -> None:
    """The last move counts, one by another name too; what another file has replaced at its place is not there."""
    results = Results(FolderStore(tmp_path))
    names = {"once": "a", "twice": "b", "stays": "c", "renamed": "d", "replaced": "e"}
    end_leg(results, PLAN, [delivered(row, item, name) for row, (item, name) in enumerate(names.items())])
    rows = [
        moved("once", "a", None),
        moved("once", "a", "/ok/a", 1),
        moved("twice", "b", "/ok/b"),
        moved("twice", "b", "/ok/x/b", 1),
        moved("new name", "dd", "/ok/dd", audio_sha256="renamed", sidecar_sha256="renamed"),
        moved("replaced", "e", "/ok/e"),
        moved("of another run", "e", "/ok/e", 1, run_id="20261121T010000Z_000bb"),
    ]
    results.create_part(layout.ingest_name(PLAN.run_id, PLAN.run_date, 1), "ingest", rows)

    assert places(results) == [
        ("once", "/ok/a.wav", "/ok/a.sidecar"),
        ("renamed", "/ok/dd.wav", "/ok/dd.sidecar"),
        ("replaced", "/in/e.wav", "/in/e.sidecar"),
        ("stays", "/in/c.wav", "/in/c.sidecar"),
        ("twice", "/ok/x/b.wav", "/ok/x/b.sidecar"),
    ]
    assert [item for item, *_ in places(results, "/ok/x")] == ["twice"]
    assert [item for item, *_ in places(results, "/in/a.wav")] == ["once"]


def test_copies_of_one_file_are_each_at_their_own_place(tmp_path: Path) -> None:
    """They have the same bytes, and the same answer."""
    results = Results(FolderStore(tmp_path))
    end_leg(results, PLAN, [delivered(0, "one", "a", "same"), delivered(1, "two", "b", "same")])
    same = {"audio_sha256": "same", "sidecar_sha256": "same"}
    rows = [moved("one", "a", "/ok/a", **same), moved("two", "b", "/ok/b", **same)]
    results.create_part(layout.ingest_name(PLAN.run_id, PLAN.run_date, 1), "ingest", rows)

    assert places(results) == [("one", "/ok/a.wav", "/ok/a.sidecar"), ("two", "/ok/b.wav", "/ok/b.sidecar")]
