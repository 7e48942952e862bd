"""An audit finds entries of the log that were removed, changed, swapped or forged, of each kind."""

import gzip
import json
from pathlib import Path

import pytest

from proofsweep.audit.check import audit_store
from proofsweep.store.layout import CHECKPOINT_NAME
from proofsweep.store.log import Log
from proofsweep.store.objects import json_bytes
from proofsweep.store.parts import Results

from ...worlds.audited_store import NEWEST, NOW, TWO_LEGS, end_leg, planned
from .conftest import append

LATER, UNKNOWN = "20261103T120000Z_000aa", "20261104T120000Z_000aa"
KINDS = ("planned", "begun", "ended", "pruned", "retired")


@pytest.fixture
def results(results: Results) -> Results:
    """The store, with one entry of each kind that others follow."""
    results.log.retire("beta", "/c/catalog.csv", NOW)
    end_leg(results, planned(results, LATER, "q"), "q", [0])
    return results


def found(results: Results, head: str | None = None) -> list[str]:
    """Audit the store in a new process, which has read nothing yet."""
    audit = audit_store(Results(results.store), head=head, clock=lambda: NOW)
    return [f"{finding.where} {finding.what}" for finding in audit.wrong]


def entries(root: Path) -> list[Path]:
    return sorted(root.glob("_log/*/*.json"))


def entry_of(root: Path, kind: str) -> Path:
    """Return the last entry of a kind that another one follows."""
    return [path for path in entries(root)[:-1] if json.loads(path.read_bytes())["kind"] == kind][-1]


def test_an_entry_of_each_kind_is_there(results: Results, root: Path) -> None:
    """And the store is sound."""
    assert found(results) == []
    assert {json.loads(path.read_bytes())["kind"] for path in entries(root)[:-1]} == {*KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_an_entry_that_was_removed_is_missed(results: Results, root: Path, kind: str) -> None:
    path = entry_of(root, kind)
    path.unlink()

    assert f"{path.relative_to(root)} is missing from the log" in found(results)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("content", [b"", b"{}", b"null", b'{"kind": "begun", "run_id": "../x", "previous": ""}'])
def test_what_is_no_entry_is_named(results: Results, root: Path, kind: str, content: bytes) -> None:
    path = entry_of(root, kind)
    path.write_bytes(content)

    assert f"{path.relative_to(root)} is no entry of a log" in found(results)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("changes", [{"note": 1}, {"run_id": UNKNOWN}, {"kind": "retired", "by": "x"}, {"leg": 9}])
def test_an_entry_that_was_changed_contradicts_the_next(
    results: Results, root: Path, kind: str, changes: dict[str, object]
) -> None:
    path = entry_of(root, kind)
    path.write_bytes(json_bytes(json.loads(path.read_bytes()) | changes))

    assert f"{path.relative_to(root)} contradicts the entry after it: one of them was changed" in found(results)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_renumbered", [False, True])
def test_entries_that_changed_places_are_found(results: Results, root: Path, kind: str, *, is_renumbered: bool) -> None:
    """Also if each says the number of its new place."""
    one = entry_of(root, kind)
    other = entries(root)[entries(root).index(one) - 1]
    first, second = (json.loads(path.read_bytes()) for path in (other, one))
    numbers = (first["number"], second["number"]) if is_renumbered else (second["number"], first["number"])
    other.write_bytes(json_bytes(second | {"number": numbers[0]}))
    one.write_bytes(json_bytes(first | {"number": numbers[1]}))

    done = found(results)

    assert any(line.startswith(str(other.relative_to(root))) for line in done), done


@pytest.mark.parametrize(
    ("kind", "run_id", "facts", "what"),
    [
        ("planned", UNKNOWN, {"sha256": "0"}, f"_runs/{UNKNOWN}/plan.json is missing; the log names it"),
        ("planned", NEWEST, {"sha256": "0"}, f"names _runs/{NEWEST}/plan.json, as another entry does"),
        ("begun", UNKNOWN, {"leg": 1}, "is of a run that was not planned before"),
        ("begun", NEWEST, {"leg": 1}, "begins leg 1, as another entry does"),
        ("ended", UNKNOWN, {"leg": 1, "sha256": "0"}, "is of a run that was not planned before"),
        ("ended", NEWEST, {"leg": 1, "sha256": "0"}, f"names _runs/{NEWEST}/legs/001/receipt.json, as another entry"),
        ("ended", NEWEST, {"leg": 2, "sha256": "0"}, "ends leg 2, which never began"),
        ("pruned", UNKNOWN, {"deleted": {}}, "is of a run that was not planned before"),
        ("pruned", NEWEST, {"deleted": {}}, "is no pruning"),
        ("retired", UNKNOWN, {}, "is of a run that was not planned before"),
    ],
)
def test_a_forged_entry_that_fits_into_the_chain_is_found(
    results: Results, *, kind: str, run_id: str, facts: dict[str, object], what: str
) -> None:
    append(Path(results.store.url), kind, run_id, **facts)

    assert any(what in line for line in found(results)), found(results)


@pytest.mark.parametrize("kind", KINDS)
def test_the_newest_entry_changed_or_removed_is_found_by_a_head_kept_elsewhere(
    results: Results, root: Path, kind: str
) -> None:
    """No later entry has its digest, so that without the head nobody can know."""
    for path in entries(root)[entries(root).index(entry_of(root, kind)) + 1 :]:
        path.unlink()
    (newest,) = Log(results.store).entries(*[Log(results.store).newest()] * 2)
    entry_of_kind = entries(root)[-1]
    content = json.loads(entry_of_kind.read_bytes())

    entry_of_kind.write_bytes(json_bytes(content | {"note": 1}))
    changed = found(results, newest.digest)
    entry_of_kind.unlink()
    removed = found(results, newest.digest)

    assert content["kind"] == kind
    for done in (changed, removed):
        assert any(line.startswith(f"head {newest.digest}") for line in done), done


def test_a_forged_checkpoint_hides_nothing(results: Results, root: Path) -> None:
    """It says that a pruning of another run was one of this, too; what is derived may be wrong."""
    pruned = int(entry_of(root, "pruned").stem)
    checkpoint = root / CHECKPOINT_NAME
    results.log.keep()
    said = json.loads(gzip.decompress(checkpoint.read_bytes()))
    checkpoint.write_bytes(gzip.compress(json.dumps(said | {"prunings": {TWO_LEGS: [pruned]}}).encode()))
    part = next(root.glob(f"verdicts/*/{TWO_LEGS}-*.parquet"))
    part.unlink()

    assert f"{part.relative_to(root)} is missing; a receipt names it" in found(results)
