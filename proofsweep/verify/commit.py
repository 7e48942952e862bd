"""End a leg, this process's own or a dead one: parts from the journal, receipt, row in `runs`, its end in the log."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from http import HTTPStatus
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep import __version__
from proofsweep.config.threads import Event, StopSwitch, monotonic
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import NameTaken, ResultsError, RunIsActive, RunMustStop
from proofsweep.domain.exchanges import CONTRACT_VERSION, Call
from proofsweep.domain.items import Row
from proofsweep.domain.runs import OUTCOMES, AnyRun, Plan
from proofsweep.store import layout
from proofsweep.store.journal import (
    FLUSH_SECONDS,
    Journal,
    Segment,
    delete_journal,
    read_journal,
    segments_of_writer,
)
from proofsweep.store.log import EntryKind
from proofsweep.store.objects import JSON_OBJECT, delete_all, json_bytes, read_required, sha256_hex
from proofsweep.store.parts import SCHEMAS, Mark, Part, Results
from proofsweep.store.rows import empty_row, with_instants
from proofsweep.store.runs import Runs

ROWS_PER_PART = 25_000  # of ordinary answers some 25 MB
PART_BYTES = 32 * 1024 * 1024  # of Arrow memory, and one segment more. A column of text overflows at 2 GiB
PART_SECONDS = 1_800  # bounds the number of segments in a journal
_KINDS = ["outcome", "verdict", "reason"]
OF_GROUP = [*_KINDS, "audio"]
_BY_OTHERS = ("answered_by_row", "answered_by_run")
COUNTED = ["status", "bytes_sent", "sunset", "call", "started_at", "manifest_row"]
_CALLS_OF_A_ROW = [str(Call.UPLOADS), str(Call.SLOT), str(Call.VERIFY)]
_KEYED = [str(call) for call in Call if call.is_keyed]


def commit_leg(
    parts: "LegParts",
    ended_by: EndedBy,
    facts: Row,
    *,
    why: str | None = None,
    is_given_up: bool = False,
    **said: object,
) -> Row:
    """Publish what a leg finished, write its receipt, and of a leg that verifies its row; give the row.

    (1) what the journal has and no part becomes the closing parts, (2) the receipt is written, (3) and the rest is done
    that the log's entry stands for. If it breaks off, whoever begins next does all of it again; RunIsActive if another
    process did. `facts` are cells of the row that only the leg's own process knows, and `said` stands in the receipt
    alone.
    """
    results = parts.results
    run = parts.run
    leg = parts.leg
    parts.close()  # (1)
    row, beside = count_leg(parts)
    if isinstance(run, Plan):
        row["calls_unrecorded"] = None if ended_by is EndedBy.KILLED else 0
        published = results.rows_published(run, parts.parts[run.table])
        partition = run.partition_of_leg(leg)
        is_whole = published[partition] == len(run.rows_of_partition(partition))
        # The parts say whether a leg is complete: a request to stop may have come too late.
        if is_whole and ended_by is not EndedBy.SUPERSEDED:
            ended_by = EndedBy.COMPLETE
        elif ended_by is EndedBy.COMPLETE:
            ended_by, why = EndedBy.ERROR, "Rows remain, and nothing says why."
        row["remaining"] = run.items - sum(published)
    finished_at = _latest(row["finished_at"], facts.get("finished_at"))
    row |= facts | {"ended_by": str(ended_by), "finished_at": finished_at}
    receipt = {"run_id": run.run_id, "leg": leg, "ended_by": str(ended_by), "counts": row, "why": why, **beside, **said}
    if is_given_up:
        receipt["is_given_up"] = True
    receipt["plan_sha256"] = results.plan_digest(run.run_id)
    receipt["parts"] = [asdict(part) for parts_of_table in parts.parts.values() for part in parts_of_table]
    try:
        results.store.create(layout.receipt_name(run.run_id, leg), json_bytes(receipt))  # (2)
    except NameTaken as taken:
        delete_journal(results.store, run.run_id, leg)
        raise RunIsActive(f"Leg {leg} of run {run.run_id} was taken over by another process.") from taken
    finish_leg(results, run, leg)  # (3)
    return row


def finish_leg(results: Results, run: AnyRun, leg: int) -> None:
    """Do what comes after a leg's receipt: its row in `runs`, no journal, and last its end in the log.

    All of it may be repeated, also by several processes at once.
    """
    content = read_required(results.store, layout.receipt_name(run.run_id, leg))
    receipt = JSON_OBJECT.validate_json(content)
    cells = receipt.get("counts")
    if isinstance(run, Plan) and isinstance(cells, dict):
        with suppress(NameTaken):
            name = layout.runs_name(run.run_id, run.run_date, leg)
            results.create_part(name, "runs", [with_instants("runs", cells)])
    delete_journal(results.store, run.run_id, leg)

    # The end in the log comes last, so a leg that has ended in the log lacks nothing.
    def decide(runs: Runs) -> Row | None:
        record = runs.of(run)
        if record is None or any(ended.leg == leg for ended in record.legs):
            return None
        return {"leg": leg, "sha256": sha256_hex(content), "ended_by": receipt["ended_by"]}

    results.log.append(EntryKind.ENDED, run.run_id, decide)


class LegParts:
    """The parts of one leg: of `exchanges` and of the table of its rows.

    Each is a sequence, numbered from 0 without a gap, which one closing part ends.
    A part says up to which segment it and those before it have the leg's journal, so nothing is compared. Whoever
    creates the closing part has decided what the leg published, whether it is the leg's own process or one that found
    it dead: the other finds its next number taken, and can publish nothing more.
    """

    def __init__(
        self, results: Results, run: AnyRun, leg: int, journal: Journal | None = None, *, writer: str = ""
    ) -> None:
        """Take the journal of the leg's own process, or of a dead leg the writer of its journal.

        So what they have written need not be learned from a listing, which may lag.
        """
        self.parts: dict[str, list[Part]] = {run.table: [], "exchanges": []}
        self._marks = {table: Mark(journal={}, is_closing=False) for table in self.parts}
        self._created: list[Part] = []  # and not looked at again
        self.results = results
        self.run = run
        self.leg = leg
        self._folder = layout.journal_folder(run.run_id, leg)
        self._own = journal or Journal(results, run.run_id, leg)
        self._writer = writer

    @classmethod
    def found(cls, results: Results, run: AnyRun, leg: int, writer: str = "") -> "LegParts":
        """Return the parts that there are: of a leg whose process is gone, and which was the writer of its journal."""
        parts = cls(results, run, leg, writer=writer)
        parts._read()
        return parts

    def publish(self) -> None:
        """Publish what this process has journalled, exchanges first, and delete it from the journal.

        Only the process of the leg does this, from one thread. RunIsActive if another process has closed the leg.
        """
        journal = self._own
        written = {table: journal.segments(table) for table in self.parts}
        for table in reversed(self.parts):
            last = max((segment.number for segment in written[table]), default=0)
            while not self._marks[table].is_closing and self._has_added(table, {journal.writer: last}):
                pass
            # Only who ends a leg makes its closing part: this process was taken for dead.
            if self._marks[table].is_closing:
                raise self._taken_over()
        self._look_again()
        # What is in a part is deleted from the journal only now. A kill before this costs nothing: the marks say what
        # the parts have.
        for table, mark in self._marks.items():
            published = mark.journal.get(journal.writer, 0)
            covered = [segment.name for segment in written[table] if segment.number <= published]
            delete_all(self.results.store, covered)
            journal.forget(table, published)

    def publish_as_it_grows(self, stop: StopSwitch, over: Event) -> None:
        """Publish whenever so many rows or bytes wait, or for so long, until `over` is set."""
        published_at = monotonic()
        while not over.wait(FLUSH_SECONDS):
            is_time = monotonic() - published_at >= PART_SECONDS
            if not is_time and not any(map(self._is_enough, self.parts)):
                continue
            try:
                self.publish()
                published_at = monotonic()
            except RunIsActive as lost:
                stop.pull(RunMustStop(lost.message, ended_by=EndedBy.ERROR))
                return
            except ResultsError:  # the thread that keeps the journal finds out how long the store is away
                continue

    def close(self) -> None:
        """See that both tables have their closing part, after parts with all that the journal has and no part."""
        # The rows come first. The exchanges are looked for when it is decided which rows there are, so that each of
        # these has its own.
        for table in self.parts:
            while not self._marks[table].is_closing:
                self._has_added(table, None)
        self._look_again()

    def _read(self) -> None:
        """Read the parts that there are, in place of what is known of them."""
        created = {part.name for part in self._created}
        self._created = []
        for table, parts in self.parts.items():
            folder = layout.table_folder(table, self.run.run_date)
            # A listing may lag behind what this process has created.
            names = created.union(self.results.store.names(folder))
            parts.clear()
            self._marks[table] = Mark(journal={}, is_closing=False)
            while (name := self._next_name(table)) in names:
                self._note(table, *self.results.marked_part(name))

    def _look_again(self) -> None:
        """Raise RunIsActive if parts that this process has created are another's now."""
        # Some gateways let a second create through, which lands when the first one was read back already. So nothing is
        # deleted from the journal, and no receipt is written, before what stands there was read once more.
        for part in self._created:
            if sha256_hex(read_required(self.results.store, part.name)) != part.sha256:
                self._read()
                raise self._taken_over()
        self._created = []

    def _taken_over(self) -> RunIsActive:
        return RunIsActive(f"Leg {self.leg} of run {self.run.run_id} was taken over by another process.")

    def _is_enough(self, table: str) -> bool:
        waiting = self._own.waiting(table)
        return waiting.rows >= ROWS_PER_PART or waiting.size_bytes >= PART_BYTES

    def _has_added(self, table: str, through: Mapping[str, int] | None) -> bool:
        """Create the next part, or note the one that has taken its name; False if there is nothing to add."""
        # It holds the next segments that no part has: of these writers, through these; or of all, and then the last
        # part is the closing one.
        had = self._marks[table]
        found, is_last = self._next_segments(table, through)
        journal = dict(had.journal)
        for segment in found:
            journal[segment.writer] = segment.number
        mark = Mark(journal=journal, is_closing=through is None and is_last)
        if mark == had:
            return False
        rows = pa.concat_tables([SCHEMAS[table].empty_table(), *found.values()])
        if table == "verdicts":
            rows = _each_once(rows, self._rows_had(mark))
        name = self._next_name(table)
        # Who creates a name decides what its part has. Another process may have done it, with a mark of its own.
        try:
            part = self.results.create_part(name, table, rows, mark)
            self._created.append(part)
        except NameTaken:
            part, mark = self.results.marked_part(name)
        self._note(table, part, mark)
        return True

    def _next_segments(self, table: str, through: Mapping[str, int] | None) -> tuple[dict[Segment, pa.Table], bool]:
        """Read as many segments as a part holds; and whether these are all that are left."""
        had = self._marks[table].journal

        def is_left(segment: Segment) -> bool:
            is_chosen = through is None or segment.number <= through.get(segment.writer, 0)
            return is_chosen and segment.number > had.get(segment.writer, 0)

        found: dict[Segment, pa.Table] = {}
        rows = size_bytes = 0
        store = self.results.store
        own = self._own.segments(table)
        if self._writer:
            own += segments_of_writer(store, self._folder, table, self._writer, had.get(self._writer, 0))
        for segment, read in read_journal(store, self._folder, table, choice=is_left, known=own):
            if rows >= ROWS_PER_PART or size_bytes >= PART_BYTES:
                return found, False
            found[segment] = read
            rows += read.num_rows
            size_bytes += read.nbytes
        return found, True

    def _rows_had(self, mark: Mark) -> set[object]:
        # Only if processes share the leg's journal, two may have finished one row.
        if len(mark.journal) <= 1:
            return set()
        names = [part.name for part in self.parts["verdicts"]]
        return set(self.results.table("verdicts", names, ["manifest_row"])["manifest_row"].to_pylist())

    def _next_name(self, table: str) -> str:
        run = self.run
        return layout.part_name(table, run.run_id, run.run_date, len(self.parts[table]), self.leg)

    def _note(self, table: str, part: Part, mark: Mark) -> None:
        self.parts[table].append(part)
        self._marks[table] = mark


def _each_once(verdicts: pa.Table, had: set[object]) -> pa.Table:
    """Sort rows by their place in the manifest, each of them once, and without those that are in a part."""
    # Of rows that two processes have finished, the first one stays.
    indexes: dict[object, int] = {}
    for index, number in enumerate(verdicts["manifest_row"].to_pylist()):
        if number not in had:
            indexes.setdefault(number, index)
    in_order = [indexes[number] for number in sorted(indexes)]  # type: ignore[type-var]  # they are numbers
    return verdicts.take(pa.array(in_order, pa.int64()))


def count_leg(parts: LegParts) -> tuple[Row, Row]:
    """Count a leg by its parts: for its row in `runs`, and what its receipt says besides.

    What only its process knows is null in the row. Of an operation, only its calls are counted.
    """
    results = parts.results
    plan = parts.run
    leg = parts.leg
    names = [part.name for part in parts.parts["exchanges"]]
    counts = exchange_counts(results.tables(names, COUNTED))
    check_calls = counts.pop("check_calls")
    if not isinstance(plan, Plan):
        return counts | {"proofsweep_version": __version__}, {}
    row: Row = empty_row("runs") | {
        "run_id": plan.run_id,
        "leg": leg,
        "environment": plan.environment,
        "base_url_host": plan.base_url.split("/")[2],
        "catalog": plan.catalog,
        "catalog_digest": plan.catalog_digest,
        "items": plan.items,
        "skipped": plan.skipped,
        "contract_version": CONTRACT_VERSION,
        "proofsweep_version": __version__,
    }
    row |= counts
    counted: list[pa.Table] = []
    duplicates = 0
    verdicts = [part.name for part in parts.parts[plan.table]]
    for table in results.tables(verdicts, [*OF_GROUP, *_BY_OTHERS, "finished_at"]):
        counted.append(count_groups(table))
        duplicates += sum(table.num_rows - table[name].null_count for name in _BY_OTHERS)
        last = pc.max(table["finished_at"]).as_py()
        row["finished_at"] = _latest(row["finished_at"], last)
    groups = add_up_groups(counted)
    row |= dict.fromkeys(OUTCOMES, 0)
    for group in groups:
        row[group["outcome"]] += group["rows"]
    row["calls_again"] = _calls_again(results, plan, leg, names)
    return row, {
        "duplicates": duplicates,
        "check_calls": check_calls,
        "groups": groups,
        "row_seconds": row_seconds(results, names[:1]),
    }


def count_groups(verdicts: pa.Table) -> pa.Table:
    """Count rows by outcome, verdict and reason; each group has its `rows` and an `example` of their audio."""
    groups = verdicts.group_by(_KINDS).aggregate([("audio", "count"), ("audio", "min")])
    return groups.rename_columns([*_KINDS, "rows", "example"])


def add_up_groups(counted: Sequence[pa.Table]) -> list[dict[str, Any]]:
    if not counted:
        return []
    grouped = pa.concat_tables(counted).group_by(_KINDS)
    groups = grouped.aggregate([("rows", "sum"), ("example", "min")])
    return groups.rename_columns([*_KINDS, "rows", "example"]).to_pylist()


def _latest(*times: object) -> datetime | None:
    # A clock may have been put back in the leg, so the last time need not be the latest.
    return max((time for time in times if isinstance(time, datetime)), default=None)


def exchange_counts(tables: Iterable[pa.Table]) -> Row:
    """Add up the audit trail; an exchange without `bytes_sent` was never sent, so it was no call."""
    counts = dict.fromkeys(("bytes_sent", "calls", "throttled", "check_calls"), 0)
    # The calls of a check belong to no row.
    is_of_file = pc.field("call").isin([Call.UPLOADS, Call.VERIFY])
    is_sent = pc.field("bytes_sent").is_valid()
    is_sent_check = is_of_file & is_sent & pc.field("manifest_row").is_null()
    began: list[datetime] = []
    sunset = None
    for table in tables:
        grouped = table.group_by(["call", "status"])
        groups = grouped.aggregate([("bytes_sent", "count"), ("bytes_sent", "sum"), ("call", "count")])
        for group in groups.to_pylist():
            counts["bytes_sent"] += group["bytes_sent_sum"] or 0
            if Call(group["call"]).is_keyed:
                counts["calls"] += group["bytes_sent_count"]
            if group["status"] == HTTPStatus.TOO_MANY_REQUESTS:
                counts["throttled"] += group["call_count"]
        counts["check_calls"] += table.filter(is_sent_check).num_rows
        if table.num_rows:
            times = table["started_at"]
            began += [pc.min(times).as_py(), pc.max(times).as_py()]
        sunsets = table["sunset"].drop_null()
        if len(sunsets):
            sunset = sunsets[-1].as_py()
    first_and_last = {"started_at": min(began, default=None), "finished_at": max(began, default=None)}
    return {**counts, **first_and_last, "sunset": sunset}


def _calls_again(results: Results, plan: Plan, leg: int, own: Iterable[str]) -> int:
    """Count the calls of a leg that repeat a call which an earlier leg was answered for the same row.

    Such a row had no outcome: its leg was killed or stopped between its calls, or a check kept the row back.
    """
    earlier = [name for name in results.parts_of("exchanges", plan) if layout.leg_of(name) < leg]
    if not earlier:
        return 0
    status = pc.field("status")
    is_success = (status >= 200) & (status < 300)  # noqa: PLR2004 - the class of statuses
    is_answered = is_success & pc.field("failure").is_null()
    # One byte for each row and kind of call is in memory. Of keyed calls, two kinds belong to rows.
    answered: defaultdict[str, bytearray] = defaultdict(lambda: bytearray(plan.items))
    for call, row in _work_in(results, earlier, is_answered):
        answered[call][row] = 1
    is_sent = pc.field("call").isin(_KEYED) & pc.field("bytes_sent").is_valid()
    return sum(answered[call][row] for call, row in _work_in(results, own, is_sent))


def _work_in(results: Results, names: Iterable[str], condition: pc.Expression) -> Iterator[tuple[str, int]]:
    """Yield the kind and the row of each keyed call that meets a condition."""
    is_of_row = pc.field("call").isin(_KEYED) & pc.field("manifest_row").is_valid()
    for table in results.tables(names, ["manifest_row", "call", "status", "failure", "bytes_sent"]):
        work = table.filter(is_of_row & condition).to_pydict()
        yield from zip(work["call"], work["manifest_row"], strict=True)


def row_seconds(results: Results, names: Sequence[str]) -> list[float]:
    """Return how long all calls of a row take together, and its form posts alone, on average; empty without a row.

    The first part of a leg's audit trail is enough.
    """
    table = results.table("exchanges", names, ["call", "elapsed_ms", "manifest_row"])
    is_of_row = pc.field("call").isin(_CALLS_OF_A_ROW) & pc.field("manifest_row").is_valid()
    table = table.filter(is_of_row)
    rows = pc.count_distinct(table["manifest_row"]).as_py()
    if not rows:
        return []
    slots = table.filter(pc.field("call") == str(Call.SLOT))
    seconds: list[float] = []
    for calls in (table, slots):
        milliseconds = pc.sum(calls["elapsed_ms"]).as_py() or 0.0
        seconds.append(milliseconds / 1000 / rows)
    return seconds
