"""The newest row of each item is found in the base and in the tail, whoever ends a leg or makes a base meanwhile."""

import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import Row
from proofsweep.domain.runs import Plan
from proofsweep.store import latest as module
from proofsweep.store import layout
from proofsweep.store.journal import Journal
from proofsweep.store.latest import Latest, refresh
from proofsweep.store.legs import Legs
from proofsweep.store.parts import Results

from ...worlds.ended_runs import answered, end_leg, plan_of_run
from ..left_behind import base_rows

RUNS = [f"202611{day:02}T120000Z_000aa" for day in range(1, 21)]
OUTCOMES = ["accepted", "rejected", "failed", "ineligible"]


def end(results: Results, run_id: str, *rows: tuple[str, str], **cells: object) -> Plan:
    plan = plan_of_run(run_id, items=len(rows))
    end_leg(results, plan, [answered(plan, row, item, word, **cells) for row, (item, word) in enumerate(rows)])
    return plan


def newest(results: Results) -> list[tuple[object, object, object]]:
    """Return item, outcome and run of each row of the base, in its order."""
    return [(row["item_id"], row["outcome"], row["run_id"]) for row in base_rows(results)]


def expected(rows: Iterable[Row]) -> set[tuple[object, object, object]]:
    found = {(row["item_id"], row["environment"], row["outcome"] in OUTCOMES[:2]): row for row in rows}
    return {(row["item_id"], row["outcome"], row["run_id"]) for row in found.values()}


def test_a_base_that_grows_is_the_one_that_is_made_at_once(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many rows in many files, of two environments; also the tags that an item has of an older row."""
    monkeypatch.setattr(module, "_FILE_ROWS", 10)
    lots = random.Random(7)  # noqa: S311 - draws rows
    rows: list[Row] = []
    for run_id in RUNS[:4]:
        plan = plan_of_run(run_id, items=60)
        tags = [lots.choice([None, None, f'{{"of": "{run_id}"}}']) for _ in range(60)]
        places = lots.choices(["beta", "production"], k=60)
        drawn = [
            answered(plan, row, f"é{lots.randrange(25)}", lots.choice(OUTCOMES), tags=tag, environment=place)
            for row, (tag, place) in enumerate(zip(tags, places, strict=True))
        ]
        end_leg(results, plan, drawn)
        rows += drawn
        if run_id != RUNS[2]:
            refresh(results)

    grown = base_rows(results)
    for file in Path(results.store.url, "_latest").iterdir():
        file.unlink()
    monkeypatch.setattr(module, "_RANGE_ROWS", 50)  # of 240: several ranges of items, one after the other
    refresh(results)

    assert base_rows(results) == grown
    assert set(newest(results)) == expected(rows)
    assert [row["item_id"] for row in grown] == sorted(str(row["item_id"]) for row in grown)
    assert len(Latest(results).base.files) > 5
    tagged = {(row["item_id"], row["environment"]) for row in rows if row["tags"] is not None}
    assert all((row["tags"] is not None) == ((row["item_id"], row["environment"]) in tagged) for row in grown)


def test_the_service_s_clock_orders_whenever_a_leg_ends(results: Results) -> None:
    """A leg that ends later may have answered before; rows of one that was killed count as what they are."""
    end(results, RUNS[1], ("a", "rejected"), ("b", "rejected"))
    end(results, RUNS[0], ("a", "accepted"))
    refresh(results)
    plan = plan_of_run(RUNS[2], items=2)
    results.write_plan(plan)
    Legs(results, plan).begin({})
    journal = Journal(results, plan.run_id, 1, "w")
    before = datetime(2020, 1, 1, tzinfo=UTC)
    journal.add(answered(plan, 0, "a", "accepted", answered_at=before), [])
    journal.add(answered(plan, 1, "b", "accepted"), [])
    journal.flush()

    assert newest(results) == [("a", "rejected", RUNS[1]), ("b", "rejected", RUNS[1])]
    found = Latest(results).answers("beta", ["a", "b", "c"], ["outcome", "run_id"])
    assert found == {
        "a": {"outcome": "rejected", "run_id": RUNS[1]},
        "b": {"outcome": "accepted", "run_id": plan.run_id},
    }
    assert list(Latest(results).whole_answers("beta", ["a", "b"])) == ["a"]


@pytest.mark.parametrize("is_grown", [True, False])
def test_the_first_run_and_since_when_answers_are_the_same_are_kept(results: Results, *, is_grown: bool) -> None:
    """Nights without an answer end nothing; an answer of a leg that ended late does, whenever the base was made."""
    for run_id, outcome in zip(RUNS, ("failed", "accepted", "rejected", "failed", "rejected"), strict=False):
        end(results, run_id, ("a", outcome))
        if is_grown:
            refresh(results)
    refresh(results)
    assert since(results) == (RUNS[0], RUNS[2])

    late = datetime(2026, 11, 4, 18, tzinfo=UTC)
    end(results, RUNS[5], ("a", "accepted"), answered_at=late)
    refresh(results)
    assert since(results) == (RUNS[0], RUNS[4])


def since(results: Results) -> tuple[object, str]:
    """Return of the newest answer its first run, and the run since which the answers are the same."""
    [row] = [row for row in base_rows(results) if row["outcome"] in OUTCOMES[:2]]
    return row["first_run_id"], f"{row['outcome_since']:%Y%m%dT%H%M%SZ}_000aa"


def test_a_base_of_an_earlier_version_is_made_anew(results: Results) -> None:
    """Its rows lack what orders them."""
    end(results, RUNS[0], ("a", "accepted"))
    results.store.create("_latest/000000009-00.json", b'{"through": 9, "files": []}')
    assert list(Latest(results).answers("beta", ["a"], ["outcome"])) == ["a"]

    refresh(results)

    assert newest(results) == [("a", "accepted", RUNS[0])]


@pytest.mark.parametrize("is_refreshed", [True, False])
def test_some_items_are_found_without_reading_all_files(
    results: Results, monkeypatch: pytest.MonkeyPatch, *, is_refreshed: bool
) -> None:
    """With the whole row of the newest answer, which a failed night does not hide."""
    monkeypatch.setattr(module, "_FILE_ROWS", 2)
    end(results, RUNS[0], *((item, "accepted") for item in "abcdefgh"))
    end(results, RUNS[1], ("a", "rejected"), ("b", "failed"), ("z", "ineligible"))
    if is_refreshed:
        refresh(results)
    latest = Latest(results)
    for file in latest.base.files[2:-1]:
        results.store.delete(file.name)

    rows = latest.whole_answers("beta", ["z", "b", "a", "x"])

    assert {item: (row["outcome"], row["run_id"]) for item, row in rows.items()} == {
        "a": ("rejected", RUNS[1]),
        "b": ("accepted", RUNS[0]),
    }
    assert rows["a"]["calls"] == 2


@dataclass
class Makers:
    """The processes that were begun to make a base, in place of real ones."""

    begun: list[list[str]] = field(default_factory=list)
    are_working: bool = False

    def begin(self, command: list[str], **_: object) -> "Makers":
        self.begun.append(command)
        return self

    def poll(self) -> int | None:
        return None if self.are_working else 0


@pytest.fixture
def makers(monkeypatch: pytest.MonkeyPatch) -> Makers:
    makers = Makers()
    monkeypatch.setattr(subprocess, "Popen", makers.begin)
    monkeypatch.setattr(module, "_MAKING", {})
    return makers


def test_a_base_is_due_when_the_tail_is_long(results: Results, makers: Makers, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of its rows, or many legs; few rows are read as they are."""
    monkeypatch.setattr(module, "_LEAST_ROWS", 3)
    monkeypatch.setattr(module, "_MOST_LEGS", 2)
    dues = []
    for run_id, items in zip(RUNS, ("abc", "d", "abcdefg", "x", "y", "z", "w"), strict=False):
        end(results, run_id, *((item, "accepted") for item in items))
        before = len(makers.begun)
        module.refresh_if_due(results)
        dues.append(len(makers.begun) > before)
        if dues[-1] and run_id not in RUNS[5:]:
            refresh(results)

    assert dues == [False, True, True, False, False, True, True]
    assert makers.begun[0] == [sys.executable, "-P", "-m", "proofsweep.store.latest", results.store.url]


def test_no_second_process_makes_a_base_while_one_does(
    results: Results, makers: Makers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Legs may end each minute, and a base of millions takes several."""
    monkeypatch.setattr(module, "_LEAST_ROWS", 0)
    makers.are_working = True
    end(results, RUNS[0], ("a", "accepted"))
    module.refresh_if_due(results)
    module.refresh_if_due(results)
    assert len(makers.begun) == 1

    makers.are_working = False
    module.refresh_if_due(results)

    assert len(makers.begun) == 2


def test_a_part_that_goes_is_one_clear_line_where_a_base_is_made(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After it was listed: DuckDB's own error is long, and names files of a temporary folder."""
    end(results, RUNS[0], ("a", "accepted"))
    listed = results.parts_of("verdicts", plan_of_run(RUNS[0]))
    monkeypatch.setattr(results, "parts_of", lambda *_: listed)
    monkeypatch.setattr(results, "incomplete_legs", lambda _: set())
    results.store.delete(listed[0])

    with pytest.raises(ResultsError, match=r"^The newest rows of .* cannot be worked out \(IOException\): [^\n]*$"):
        refresh(results)


def test_what_is_missing_for_a_while_is_not_left_out_for_good(results: Results) -> None:
    """A store that is restored from a backup lacks the part of a night, or its receipt, when a base is made."""
    end(results, RUNS[0], ("a", "accepted"), ("b", "accepted"))
    plan = end(results, RUNS[1], ("a", "rejected"))
    other = end(results, RUNS[2], ("b", "rejected"))
    end(results, RUNS[3], ("c", "accepted"))
    (part,) = results.parts_of("verdicts", plan)
    missing = {name: results.store.read(name) or b"" for name in (part, layout.receipt_name(other.run_id, 1))}
    for name in missing:
        results.store.delete(name)

    refresh(Results(results.store))
    for name, content in missing.items():
        results.store.create(name, content)
    back = Results(results.store)
    answers = Latest(back).answers(plan.environment, ["a", "b", "c"], ["outcome"])
    refresh(back)

    assert {item: row["outcome"] for item, row in answers.items()} == {
        "a": "rejected",
        "b": "rejected",
        "c": "accepted",
    }
    rows = {item: run_id for item, _, run_id in newest(Results(results.store))}
    assert rows == {"a": RUNS[1], "b": RUNS[2], "c": RUNS[3]}
    assert not Latest(Results(results.store)).entered


def test_a_folder_for_temporary_files_may_have_any_name(
    results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name is put into SQL, as are those of items."""
    (tmp_path / 'it\'s "tmp"').mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / 'it\'s "tmp"'))
    end(results, RUNS[0], ("it's", "accepted"))

    refresh(results)

    assert newest(results) == [("it's", "accepted", RUNS[0])]


def test_a_process_of_its_own_makes_the_base(results: Results) -> None:
    """It needs nothing but the store."""
    end(results, RUNS[0], ("a", "accepted"))

    subprocess.run([sys.executable, "-m", "proofsweep.store.latest", results.store.url], check=True)

    assert newest(results) == [("a", "accepted", RUNS[0])]
    assert Latest(results).tail == []


def test_old_bases_go_once_nobody_reads_them(results: Results) -> None:
    """The one before the newest stays: a reader may have found it. What a killed process left of an older one goes."""
    folder = Path(results.store.url, "_latest")
    results.store.create(f"_latest/{1:09}-ffffffff-00000.parquet", b"of a base that was never whole")

    for run_id in RUNS[:3]:
        end(results, run_id, ("a", "accepted"))
        refresh(results)

    assert {path.name[:9] for path in folder.iterdir()} == {f"{6:09}", f"{9:09}"}


@pytest.mark.parametrize("is_in_the_midst", [True, False])
@pytest.mark.parametrize("is_kept", [True, False])
def test_a_reader_outlives_its_base(
    results: Results, monkeypatch: pytest.MonkeyPatch, *, is_in_the_midst: bool, is_kept: bool
) -> None:
    """A night is longer than others need to make two; else its files would wait until it is given up."""
    monkeypatch.setattr(module, "_FILE_ROWS", 1)
    monkeypatch.setattr(module, "_STEP_ROWS", 1)
    end(results, RUNS[0], ("a", "accepted"), ("b", "accepted"))
    refresh(results)
    latest = Latest(results)
    rows = latest.rows("beta", ["item_id", "run_id"])
    found = next(rows).to_pylist() if is_in_the_midst else []

    for run_id in RUNS[1:3]:
        end(results, run_id, (run_id, "accepted"))
        refresh(results)
    end(results, RUNS[3], ("b", "rejected"))
    if not is_kept:
        shutil.rmtree(f"{results.store.url}/_latest")
    for table in rows:
        found += table.to_pylist()

    items = {"a", "b", *RUNS[1:3]}
    assert {row["item_id"] for row in found} == items
    assert latest.answers("beta", items, ["run_id"])["b"] == {"run_id": RUNS[3]}


@pytest.mark.parametrize("damage", ["damaged", "missing"])
def test_a_damaged_base_is_one_clear_line(results: Results, damage: str) -> None:
    end(results, RUNS[0], ("a", "accepted"))
    refresh(results)
    (file,) = Path(results.store.url, "_latest").glob("*.parquet")
    file.write_bytes(b"PAR1 and no more") if damage == "damaged" else file.unlink()

    with pytest.raises(ResultsError, match=rf"is {damage}\. It is derived: delete _latest, and it is made anew\.$"):
        list(Latest(results).rows("beta", ["item_id"]))
