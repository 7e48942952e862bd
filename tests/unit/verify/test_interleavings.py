"""A leg is committed rightly in every order of steps of its own process, one that takes over, and a reader.

Its own process may be frozen at any step and come back, each may be killed at any step, and a write may end in an error
whether it happened or not. The real functions run as greenlets that stop before each operation on a store in memory; it
is granted in every order, but never twice from one state. A kill is an order in which a process is never granted
another step, so a further process must be able to recover the leg from every state.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from greenlet import greenlet

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import NameTaken, ResultsError, RunIsActive
from proofsweep.domain.runs import Plan
from proofsweep.store import layout
from proofsweep.store.journal import CompletedRows, Journal, delete_journal
from proofsweep.store.legs import Legs
from proofsweep.store.log import Log
from proofsweep.store.parts import SCHEMAS, Results
from proofsweep.verify import commit
from proofsweep.verify.attempt import open_leg
from proofsweep.verify.commit import LegParts, commit_leg

from ...worlds.ended_runs import plan_of_run
from ..scripted_service import NOW

PLAN = plan_of_run("20261120T120000Z_000aa", items=5)
JOURNAL = layout.journal_folder(PLAN.run_id, 1)
TABLES = ("verdicts", "exchanges")
COLUMNS = ("run_id", "leg", "manifest_row")
SWITCHES = int(os.environ.get("PROOFSWEEP_SOAK_SWITCHES", "2"))
"""How often a process that could go on is stopped for another one; with 99, every order is played, in minutes."""


class Abandoned(BaseException):
    """This order of steps is over for a process that was not granted all of its own."""


@dataclass
class Memory:
    """A results store in memory, which knows what the journal had when a process listed it last."""

    objects: dict[str, bytes] = field(default_factory=dict)
    journalled: set[int] = field(default_factory=set)
    seen_by: dict[str, set[int]] = field(default_factory=dict)
    lost: list[int] = field(default_factory=list)  # rows that a closing part should have had
    errors: list[BaseException] = field(default_factory=list)

    def create(self, who: str, name: str, content: bytes) -> None:
        if self.objects.get(name, content) != content:
            raise NameTaken(f"{name} exists already.")
        self.objects[name] = content
        if name.startswith(f"{JOURNAL}/verdicts-"):
            self.journalled |= rows_in_segment(content)
        if name.startswith("verdicts/") and closing_parts(self.objects, "verdicts"):
            self.lost += sorted(self.seen_by.get(who, set()) - set(rows_in_parts(self.objects, "verdicts")))


@dataclass
class Process:
    """One process of a schedule, which waits before each step until it is granted."""

    name: str
    work: Callable[[Results], None]
    memory: Memory
    waits_for: tuple[str, str] | None = None  # the next operation and its object; None at the end
    fault: str | None = None  # how the granted write ends: None, "unwritten" or "written", with an error both times
    is_free: bool = False  # its steps are not counted: it makes what is there before the others begin
    history: int = 0  # a digest of all that it has seen

    def __post_init__(self) -> None:
        self.steps = greenlet(self._run)

    def advance(self, fault: str | None = None) -> None:
        self.fault = fault
        self.steps.switch()

    def abandon(self) -> None:
        if self.waits_for is not None:
            self.steps.throw(Abandoned)

    def step(self, operation: str, name: str, act: Callable[[], object]) -> object:
        if self.is_free:
            return act()
        self.waits_for = operation, name
        self.steps.parent.switch()
        seen: object = None
        try:
            if self.fault != "unwritten":
                seen = act()
            self._fail_if_asked()
        except ResultsError as error:
            seen = str(error)
            raise
        finally:
            self.history = hash((self.history, operation, name, repr(seen)))
        return seen

    def _fail_if_asked(self) -> None:
        if self.fault is not None:
            raise ResultsError("Nobody knows whether it was written.")

    def _run(self) -> None:
        try:
            self.work(Results(Steps(self)))  # type: ignore[arg-type]  # a store, but for what commits do not need
        except Abandoned:
            return
        except (ResultsError, RunIsActive):
            pass
        except BaseException as error:  # noqa: BLE001 - shown by the test
            self.memory.errors.append(error)
        self.waits_for = None


@dataclass
class Steps:
    """The store as one process sees it: its steps are what the others can see, or can change for it."""

    process: Process
    url: str = "memory"

    def create(self, name: str, content: bytes) -> None:
        memory, who = self.process.memory, self.process.name
        self.process.step("create", name, partial(memory.create, who, name, content))

    def delete(self, name: str) -> None:
        self.process.step("delete", name, lambda: self.process.memory.objects.pop(name, None) and None)

    def read(self, name: str) -> bytes | None:
        read = partial(self.process.memory.objects.get, name)
        may_go = name.startswith(f"{JOURNAL}/")
        return self.process.step("read", name, read) if may_go else read()  # type: ignore[return-value]

    def names(self, folder: str) -> list[str]:
        memory = self.process.memory

        def listed() -> list[str]:
            if folder == JOURNAL and not closing_parts(memory.objects, "verdicts"):
                memory.seen_by[self.process.name] = set(memory.journalled)
            return names_in(memory.objects, folder)

        return self.process.step("names", folder, listed) if folder == JOURNAL else listed()  # type: ignore[return-value]

    def folders(self, folder: str, after: str = "") -> list[str]:
        del after
        objects = self.process.memory.objects
        found = {name.removeprefix(f"{folder}/").partition("/")[0] for name in objects if name.startswith(f"{folder}/")}
        return sorted(found)

    def path_of(self, _name: str) -> Path | None:
        return None


def uninterrupted(memory: Memory) -> Results:
    """Open the store for a process whose steps are not counted."""
    return Results(Steps(Process("recovering", lambda _: None, memory, is_free=True)))  # type: ignore[arg-type]


def names_in(objects: dict[str, bytes], folder: str) -> list[str]:
    return sorted(name for name in objects if name.startswith(f"{folder}/") and "/" not in name[len(folder) + 1 :])


def part_names(objects: dict[str, bytes], table: str) -> list[str]:
    return names_in(objects, layout.table_folder(table, PLAN.run_date))


def closing_parts(objects: dict[str, bytes], table: str) -> list[str]:
    return [name for name in part_names(objects, table) if b"proofsweep.closing" in objects[name]]


@cache
def rows_in_segment(content: bytes) -> set[int]:
    return set(pa.ipc.open_stream(content).read_all()["manifest_row"].to_pylist())


@cache
def rows_in_part(content: bytes) -> list[int]:
    rows: list[int] = pa.parquet.read_table(pa.BufferReader(content))["manifest_row"].to_pylist()
    return rows


def rows_in_parts(objects: dict[str, bytes], table: str) -> list[int]:
    return [row for name in part_names(objects, table) for row in rows_in_part(objects[name])]


def check(memory: Memory) -> None:
    """What holds at every moment, whoever reads then and whatever was killed."""
    if memory.errors:
        raise memory.errors[0]
    objects = memory.objects
    verdicts, exchanges = (rows_in_parts(objects, table) for table in TABLES)
    assert len(set(verdicts)) == len(verdicts), "a row is in two parts"
    assert len(set(exchanges)) == len(exchanges), "an exchange is in two parts"
    assert not memory.lost, "a row that was journalled before the leg was closed is in no part"
    for table in TABLES:
        closing = closing_parts(objects, table)
        assert closing in ([], part_names(objects, table)[-1:]), "something was published after the closing part"
    receipt = objects.get(layout.receipt_name(PLAN.run_id, 1))
    if receipt is not None:
        named = {part["name"] for part in json.loads(receipt)["parts"]}
        there = {name for table in TABLES for name in part_names(objects, table)}
        assert named == there, "the receipt does not name exactly the parts"
        assert set(verdicts) <= set(exchanges), "a row is without its exchanges"


def check_recovery(memory: Memory) -> None:
    """From this state, a process that finds the leg dead ends it, and the next leg knows what is finished."""
    copy = Memory(dict(memory.objects), set(memory.journalled))
    with suppress(RunIsActive):
        take_over(uninterrupted(copy))
    check(copy)
    verdicts = set(rows_in_parts(copy.objects, "verdicts"))
    if not closing_parts(memory.objects, "verdicts"):
        assert verdicts >= memory.journalled, "a journalled row was lost"
    completed = CompletedRows.load(uninterrupted(copy), PLAN)
    assert PLAN.items - completed.remaining == len(verdicts)
    assert names_in(copy.objects, JOURNAL) == [] or verdicts == set(rows_in_parts(memory.objects, "verdicts"))


@dataclass
class OwnProcess:
    """The leg's own process: so many rows are published, more journalled; then it does what the others meet."""

    published: int
    journalled: int
    does: str  # in their order: "flush" another row, "publish", "end"

    def __call__(self, results: Results) -> None:
        process: Process = results.store.process  # type: ignore[attr-defined]
        process.is_free = True
        journal = Journal(results, PLAN.run_id, 1, "w")
        parts = LegParts(results, PLAN, 1, journal)
        for row in range(self.published + self.journalled):
            journal.add(_row(row), [_row(row)])
            journal.flush()
            if row + 1 == self.published:
                parts.publish()
        process.is_free = False
        for row, act in enumerate(self.does.split(), self.published + self.journalled):
            if act == "flush":
                journal.add(_row(row), [_row(row)])
                _twice(journal.flush)
            elif act == "publish":
                _twice(parts.publish)
            else:
                commit_leg(parts, EndedBy.COMPLETE, {})


def _row(number: int) -> dict[str, object]:
    return {"run_id": PLAN.run_id, "leg": 1, "manifest_row": number}


def _twice(act: Callable[[], None]) -> None:
    try:
        act()
    except RunIsActive:
        raise
    except ResultsError:
        act()


def take_over(results: Results) -> None:
    """A process that found the leg dead."""
    commit_leg(LegParts.found(results, PLAN, 1), EndedBy.KILLED, {})


def begun_leg() -> dict[str, bytes]:
    """Return the objects of a store in which the leg has begun."""
    memory = Memory()
    results = uninterrupted(memory)
    results.write_plan(PLAN)
    Legs(results, PLAN, lambda: NOW).begin({})
    return memory.objects


Order = tuple[tuple[int, str | None], ...]
"""Which process makes each step, and how the step fails."""


@dataclass
class Exploration:
    """Runs some processes in every order, each order from its beginning."""

    works: Sequence[Callable[[Results], None]]
    objects: dict[str, bytes]  # in the store at first
    checks: Sequence[Callable[[Memory], None]]  # of what holds in each state
    faults: int  # writes in each order that may end in an error
    switches: int  # how often a process that could go on has to wait for another one
    seen: set[tuple[object, ...]] = field(default_factory=set)
    checked: set[object] = field(default_factory=set)

    def run(self) -> None:
        todo: list[Order] = [()]
        while todo:
            todo += self._follow(todo.pop())

    def _follow(self, order: Order) -> Iterator[Order]:
        """Take these steps, then always the first choice, as long as the states are new; give the other choices."""
        memory = Memory(dict(self.objects))
        processes = [Process(str(number), work, memory) for number, work in enumerate(self.works)]
        others = []
        try:
            for process in processes:
                process.steps.switch()
            for number, fault in order:
                processes[number].advance(fault)
            while self._is_new(memory, processes, order):
                self._check(memory)
                choices = list(self._choices(processes, order))
                if not choices:
                    break
                others += [(*order, choice) for choice in choices[1:]]
                order = (*order, choices[0])
                processes[choices[0][0]].advance(choices[0][1])
        finally:
            for process in processes:
                process.abandon()
        return iter(others)

    def _check(self, memory: Memory) -> None:
        stored = frozenset(memory.objects.items())
        if memory.errors or memory.lost or stored not in self.checked:
            self.checked.add(stored)
            for check_state in self.checks:
                check_state(memory)

    def _is_new(self, memory: Memory, processes: list[Process], order: Order) -> bool:
        told = tuple((process.history, process.waits_for) for process in processes)
        stored = frozenset((name, hash(content)) for name, content in memory.objects.items())
        state = (stored, told, self._spent(order), order[-1:] and order[-1][0])
        is_new = state not in self.seen
        self.seen.add(state)
        return is_new

    def _spent(self, order: Order) -> tuple[int, int]:
        switches = sum(before[0] != after[0] for before, after in pairwise(order))
        return sum(fault is not None for _, fault in order), switches

    def _choices(self, processes: list[Process], order: Order) -> Iterator[tuple[int, str | None]]:
        faults, switches = self._spent(order)
        last = order[-1][0] if order else 0
        may_go_on = processes[last].waits_for is not None
        for number in sorted(range(len(processes)), key=lambda number: number != last):
            process = processes[number]
            if process.waits_for is not None and (number == last or not may_go_on or switches < self.switches):
                yield number, None
                if faults < self.faults and process.waits_for[0] == "create":
                    yield number, "unwritten"
                    yield number, "written"


@pytest.fixture(autouse=True)
def _small_leg(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of few columns, one request at a time, and no counts: only the commit is played."""
    for table in TABLES:
        monkeypatch.setitem(SCHEMAS, table, pa.schema([SCHEMAS[table].field(column) for column in COLUMNS]))
    monkeypatch.setitem(SCHEMAS, "runs", pa.schema([SCHEMAS["runs"].field("catalog").with_nullable(True)]))
    for module in ("journal", "objects"):
        monkeypatch.setattr(f"proofsweep.store.{module}.some_at_once", lambda items, work, _: map(work, items))
    monkeypatch.setattr(commit, "count_leg", lambda *_: ({"finished_at": None}, {}))


@pytest.fixture
def _only_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes after the receipt is played by itself below."""
    monkeypatch.setattr(commit, "finish_leg", lambda results, run, leg: delete_journal(results.store, run.run_id, leg))


def explored(*works: Callable[[Results], None], faults: int = 0, switches: int = SWITCHES) -> None:
    Exploration(works, begun_leg(), [check, check_recovery], faults, switches).run()


@pytest.mark.usefixtures("_only_the_commit")
@pytest.mark.parametrize(
    ("own", "others"),
    [
        (OwnProcess(0, 2, "publish"), 1),
        (OwnProcess(1, 1, "publish"), 1),
        (OwnProcess(0, 1, "flush publish"), 1),
        (OwnProcess(1, 1, "flush"), 1),
        (OwnProcess(1, 1, "end"), 1),
        (OwnProcess(0, 1, "flush end"), 1),
        (OwnProcess(0, 1, "flush"), 2),
    ],
    ids=str,
)
def test_a_frozen_process_and_one_or_two_that_take_over(own: OwnProcess, others: int) -> None:
    """Each may be stopped anywhere for as long as the others work, or for ever."""
    explored(own, *[take_over] * others)


@pytest.mark.usefixtures("_only_the_commit")
@pytest.mark.parametrize("own", [OwnProcess(1, 1, "publish"), OwnProcess(0, 1, "flush end")], ids=str)
def test_a_write_that_fails(own: OwnProcess) -> None:
    """A bucket may have done what it answers with an error."""
    explored(own, take_over, faults=1, switches=SWITCHES - 1)


@pytest.mark.usefixtures("_only_the_commit")
@pytest.mark.parametrize("own", [OwnProcess(0, 1, "flush publish"), OwnProcess(1, 1, "flush end")], ids=str)
def test_a_reader_misses_no_row_that_was_there_before(own: OwnProcess) -> None:
    """Rows go from the journal to parts while it reads."""

    def read(results: Results) -> None:
        memory = results.store.process.memory  # type: ignore[attr-defined]
        known = set(memory.journalled)
        completed = CompletedRows.load(results, PLAN)
        finished = {row for row in range(PLAN.items) if completed._done[row]}
        assert known <= finished <= memory.journalled

    explored(own, read)


RIVAL = replace(PLAN, run_id="20261120T120001Z_000aa")


@dataclass
class Beginner:
    """A process that begins the next leg of a run, and perhaps ends it."""

    run: Plan
    ends: bool = False

    def __call__(self, results: Results) -> None:
        held = open_leg(results, self.run, lambda: NOW, {})
        if self.ends:
            commit_leg(LegParts(results, self.run, held.number), EndedBy.CANCELLED, {})


def finisher(results: Results) -> None:
    """A process that finds the receipt of the first leg, and not its end in the log."""
    commit.finish_leg(results, PLAN, 1)


def planned(*runs: Plan) -> dict[str, bytes]:
    memory = Memory()
    for run in runs:
        uninterrupted(memory).write_plan(run)
    return memory.objects


def check_log(memory: Memory) -> None:
    """The log is one line, in which of one catalog one run is worked on, and no leg begins or ends twice."""
    if memory.errors:
        raise memory.errors[0]
    log = Log(Steps(Process("reader", lambda _: None, memory, is_free=True)))  # type: ignore[arg-type]
    entries = list(log.entries(1, log.newest()))
    assert [each.previous for each in entries] == ["", *(each.digest for each in entries)][:-1]
    told = [(each.run_id, each.kind, each.facts.get("leg")) for each in entries]
    assert len(set(told)) == len(told), "something is said twice"
    opened: set[str] = set()
    for entry in entries:
        if entry.kind == "begun" and entry.facts["ends_as"] is None:
            assert opened <= {entry.run_id}, "two runs of a catalog are worked on"
            assert entry.run_id not in opened, "two legs of a partition are open"
            opened.add(entry.run_id)
        elif entry.kind == "ended":
            opened.discard(entry.run_id)


@pytest.mark.parametrize("faults", [0, 1])
@pytest.mark.parametrize(
    "works",
    [
        (Beginner(PLAN), Beginner(RIVAL)),
        (Beginner(PLAN), Beginner(PLAN)),
        (Beginner(PLAN), Beginner(RIVAL, ends=True)),
        (Beginner(PLAN, ends=True), Beginner(PLAN), Beginner(RIVAL)),
    ],
    ids=["two runs", "one run", "a frozen beginner", "three"],
)
def test_those_who_begin_together_meet_in_the_log(works: Sequence[Beginner], faults: int) -> None:
    """Each may be stopped before any write, or for ever, and an entry may be there though its create was an error."""
    more_than_two = len(works) > 2  # their orders are so many that `make soak` plays the rest
    Exploration(works, planned(PLAN, RIVAL), [check_log], faults, SWITCHES - faults - more_than_two).run()


@pytest.mark.parametrize("faults", [0, 1])
def test_those_who_end_a_leg_together_end_it_once(faults: int) -> None:
    """Its own process, and two that find it with its receipt."""
    objects = begun_leg()
    memory = Memory(objects)
    receipt = {"run_id": PLAN.run_id, "leg": 1, "ended_by": "complete", "counts": {}, "parts": []}
    memory.create("own", layout.receipt_name(PLAN.run_id, 1), json.dumps(receipt).encode())

    Exploration([finisher] * 3, memory.objects, [check_log], faults, SWITCHES).run()
