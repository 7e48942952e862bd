"""A reference model: what must be said of each file, catalog and run, by the partner's ledger and the world's own time.

It reads the bytes of the store itself, and knows no order of run IDs, of the store's log or of any machine's clock.
Newest is what the partner said last. A copy of an answer is as old as that answer. An answer that a killed process had
not written down is in no row, and so nobody can know it.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import pyarrow as pa
from bucket import read_parquet
from kernel import EPOCH, Process
from night import Night

from proofsweep.domain.endings import EndedBy
from proofsweep.store.layout import kind_of

Row = dict[str, Any]
ANSWERED = ("accepted", "rejected")
_NEED_ATTENTION = ("rejected", "failed", "ineligible")
_INGEST = "ingest"  # the kind of a pass over a watched folder, which lists no catalog
_PLAN = re.compile(r"results/_runs/([^/]+)/plan\.json")
_SEGMENT = re.compile(r"results/_runs/([^/]+)/journal/(\d+)/verdicts-[^/]*\.arrow")
_ERASURES = re.compile(r"results/(erasures/.*\.parquet|_runs/[^/]+_erasure_[^/]+/journal/\d+/erasures-[^/]*\.arrow)")
_CLOSING = b"proofsweep.closing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """One leg of a run; without a receipt, its process was killed and nobody has settled it yet."""

    run_id: str
    number: int
    process: Process | None
    receipt: Row | None
    ended_at: float | None  # when its receipt was written
    began_at: float  # when its entry in the log was written
    entry: int | None  # that ended it in the log
    ends_as: str | None  # how it ends, if that was decided when it began

    @property
    def ended_by(self) -> str:
        return "killed" if self.receipt is None else str(self.receipt["ended_by"])

    @property
    def in_doubt(self) -> list[int]:
        """The rows that were tried in it, and about which nothing was decided before it ended."""
        return [] if self.receipt is None else list(self.receipt.get("in_doubt", ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run of a catalog, with the items that it planned, and all that its catalog listed then."""

    run_id: str
    planned_at: float  # in the world's time
    clock_ahead: float  # of the machine that planned it, in seconds
    plan: Row
    items: list[Row]
    listed: dict[str, Row]  # by item
    legs: list[Leg]

    @property
    def identity(self) -> str:
        return str(self.plan["catalog_identity"] or self.plan["catalog"])

    @property
    def lists_whole(self) -> bool:
        return self.plan["catalog_kind"] != _INGEST

    def last_legs(self, before: float) -> list[Leg]:
        """Return the last leg of each partition, of those that had ended before a time."""
        ended = [leg for leg in self.legs if leg.ended_at is not None and leg.ended_at < before]
        return list({(leg.number - 1) % self.plan["partitions"]: leg for leg in ended}.values())

    def was_left_behind(self, leg: Leg) -> bool:
        """Whether nobody has settled a leg, and a later one of its partition has ended: so nobody ever will."""
        later = (each for each in self.legs if each.number > leg.number and each.receipt is not None)
        steps = (each.number - leg.number for each in later)
        return leg.receipt is None and any(step % self.plan["partitions"] == 0 for step in steps)

    def was_superseded_by(self, process: Process) -> bool:
        # A process may end while it says so: whoever begins next completes what its entry in the log decided.
        ends = [{leg.ended_by, leg.ends_as} for leg in self.legs if leg.process is process]
        return any("superseded" in end for end in ends)

    @property
    def superseded(self) -> Leg | None:
        return next((leg for leg in self.legs if leg.ended_by == "superseded"), None)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Told:
    """A row of the store, and when it came to be in the world's time."""

    row: Row
    run: Run
    at: float  # when the partner said what it holds; of a row without an answer, when it was made

    @property
    def item(self) -> str:
        return str(self.row["item_id"])

    @property
    def is_answer(self) -> bool:
        return self.row["outcome"] in ANSWERED

    @property
    def request(self) -> str:
        return str(self.row["verify_request_id"])

    @property
    def leg(self) -> Leg | None:
        return next((leg for leg in self.run.legs if leg.number == self.row["leg"]), None)

    @property
    def _order(self) -> tuple[float, float, int]:
        return self.at, self.run.planned_at, int(self.row["leg"])

    @staticmethod
    def newest(rows: Iterable["Told"]) -> "Told | None":
        return max(rows, key=lambda told: told._order, default=None)


DATE_SECONDS = 1.5  # in which two answers, or two plans, have no order


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How an item stands in the catalogs."""

    state: str
    answer: Told | None  # the newest
    is_current: bool
    is_covered: bool
    identities: tuple[str, ...]  # of the catalogs that list it; of one that is listed no more, the one that it was of
    is_listed: bool


class Model:
    """What is true of a world now."""

    def __init__(self, night: Night) -> None:
        self.night, self.objects = night, night.bucket.objects
        self._ever = {**night.bucket.deleted, **night.bucket.objects}  # with what prunings have deleted

    # --- What the store has

    @cached_property
    def runs(self) -> dict[str, Run]:
        """The runs in the order in which they were planned."""
        log = [json.loads(self.objects[key]) for key in self.objects if key.startswith("results/_log/")]
        planned = {
            entry["run_id"] for entry in log if entry["kind"] == "planned"
        }  # a planner may be killed before that
        named = [(key, found[1]) for key in self.objects if (found := _PLAN.fullmatch(key))]
        found = [self._run(key, run_id) for key, run_id in named if run_id in planned and not kind_of(run_id)]
        return {run.run_id: run for run in sorted(found, key=lambda run: run.planned_at)}

    def _run(self, key: str, run_id: str) -> Run:
        plan = json.loads(self.objects[key])
        planned_at = self.night.bucket.written_at[key]
        created_at = datetime.fromisoformat(plan["created_at"]).timestamp()
        items = self._items(run_id, "items")
        whole = self._items(run_id, "listed") if plan["skipped"] else items
        return Run(
            run_id=run_id,
            planned_at=planned_at,
            clock_ahead=created_at - EPOCH - planned_at - self.night.partner.seconds_ahead,
            plan=plan,
            items=items,
            listed={row["item_id"]: row for row in reversed(whole)},
            legs=self._legs.get(run_id, []),
        )

    def _items(self, run_id: str, which: str) -> list[Row]:
        folder = f"results/_runs/{run_id}/{which}/"
        return [row for key in sorted(self._ever) if key.startswith(folder) for row in self._table(key).to_pylist()]

    def _table(self, key: str) -> pa.Table:
        return read_parquet(self._ever[key])

    @cached_property
    def _legs(self) -> dict[str, list[Leg]]:
        log = [(key, json.loads(self.objects[key])) for key in sorted(self.objects) if key.startswith("results/_log/")]
        ended = {(each["run_id"], each["leg"]): each["number"] for _, each in log if each["kind"] == "ended"}
        by_pid = {process.pid: process for process in self.night.world.processes}
        legs = defaultdict[str, list[Leg]](list)
        for key, begun in log:
            if begun["kind"] != "begun":
                continue
            run_id, number = begun["run_id"], begun["leg"]
            receipt = f"results/_runs/{run_id}/legs/{number:03}/receipt.json"
            content = self.objects.get(receipt)
            leg = Leg(
                run_id=run_id,
                number=number,
                process=by_pid.get(begun["holder"]["pid"]),
                receipt=None if content is None else json.loads(content),
                began_at=self.night.bucket.written_at[key],
                ended_at=self.night.bucket.written_at.get(receipt),
                entry=ended.get((run_id, number)),
                ends_as=begun.get("ends_as"),
            )
            legs[run_id].append(leg)
        return legs

    @cached_property
    def told(self) -> list[Told]:
        """All rows of runs that have a plan, each once."""
        rows: dict[tuple[str, int], Row] = {}
        closed: set[tuple[str, int]] = set()
        for key in sorted(self._ever):
            if key.startswith("results/verdicts/"):
                table = self._table(key)
                rows |= {(row["run_id"], row["manifest_row"]): row for row in table.to_pylist()}
                if _CLOSING in (table.schema.metadata or {}):
                    run_id, _, leg = key.rpartition("/")[2].removesuffix(".parquet").split("-")
                    closed.add((run_id, int(leg)))
        for run_id, leg, row in self._journalled():
            if (run_id, leg) not in closed:  # what its process wrote after that was never published
                rows.setdefault((run_id, row["manifest_row"]), row)
        return [self._told(row) for row in rows.values() if row["run_id"] in self.runs]

    def _journalled(self) -> Iterator[tuple[str, int, Row]]:
        for key in sorted(self.objects):
            if named := _SEGMENT.fullmatch(key):
                with pa.ipc.open_stream(self.objects[key]) as stream:
                    yield from ((named[1], int(named[2]), row) for row in stream.read_all().to_pylist())

    def _told(self, row: Row) -> Told:
        run = self.runs[row["run_id"]]
        served = self._served_at.get(row["verify_request_id"]) if row["outcome"] in ANSWERED else None
        made_at = row["finished_at"].timestamp() - EPOCH - self.night.partner.seconds_ahead
        return Told(row=row, run=run, at=made_at if served is None else served)

    @cached_property
    def _served_at(self) -> dict[str, float]:
        return {served.request_id: served.at for served in self.night.partner.served}

    @cached_property
    def _erased_at(self) -> dict[str, datetime]:
        """When the partner last said that a proof is gone, by the rows that say so."""
        found: dict[str, datetime] = {}
        for key in filter(_ERASURES.fullmatch, sorted(self.objects)):
            content = self.objects[key]
            table = read_parquet(content) if key.endswith(".parquet") else pa.ipc.open_stream(content).read_all()
            for row in table.to_pylist():
                if row["reason"] is None:
                    found[row["proof_id"]] = max(row["answered_at"], found.get(row["proof_id"], row["answered_at"]))
        return found

    def is_void(self, told: Told) -> bool:
        """Whether an answer is older than the erasure of its proof, and so answers nothing any more."""
        erased_at = self._erased_at.get(told.row["proof_id"])
        return erased_at is not None and told.row["answered_at"] <= erased_at

    # --- What the world had

    def bytes_at(self, item: str, at: float) -> str:
        """Return the digest of the audio that an item had at a time; empty if it had none."""
        laid = [each.digest for each in self.night.music.history if each.name == item and each.at <= at]
        return laid[-1] if laid else ""

    def items_at(self, catalog: str, at: float) -> set[str] | None:
        """Return which items a catalog had at a time; None for one of which the world's history says nothing."""
        history = [each for each in self.night.music.history if each.at <= at]
        if catalog == str(self.night.music.folder):
            return {each.name for each in history if not each.items and self.bytes_at(each.name, at)}
        lists = [each.items for each in history if each.name == catalog]
        return set(lists[-1]) if lists else None

    # --- What must be said

    def as_new_as(self, newest: Told) -> list[Told]:
        """Return the answers that were given in the same second as the newest one of an item: `Date` tells no less."""
        of_item = [told for told in self.told if told.is_answer and told.item == newest.item]
        return [told for told in of_item if newest.at - told.at < DATE_SECONDS]

    def newest_answers(self) -> dict[str, Told]:
        """Return by item the answer that the partner gave last."""
        by_item = defaultdict[str, list[Told]](list)
        for told in self.told:
            if told.is_answer:
                by_item[told.item].append(told)
        return {item: newest for item, rows in sorted(by_item.items()) if (newest := Told.newest(rows))}

    def is_due(self, item: str, digest: str, since: datetime | None, until: datetime) -> bool:
        """Whether a file of these bytes must be asked about: an answer for them is not there, or not of that age."""
        of_bytes = [told for told in self.told if told.item == item and told.is_answer]
        newest = Told.newest(told for told in of_bytes if told.row["audio_sha256"] == digest)
        if newest is None or self.is_void(newest):
            return True
        if since is None:
            return False
        return not since <= newest.row["answered_at"] <= until

    def was_laid_since(self, item: str, at: float) -> bool:
        return any(each.name == item and each.at > at for each in self.night.music.history)

    @cached_property
    def listings(self) -> dict[str, Run]:
        """By catalog, the newest run that listed all of it and was not given up."""
        whole = [run for run in self.runs.values() if run.lists_whole and run.run_id not in self.given_up]
        return {run.identity: run for run in whole}

    @cached_property
    def given_up(self) -> set[str]:
        """The runs that a person gave up; others that were superseded have listed their catalog all the same.

        Whoever was killed on the way has given up nothing, though another run may supersede that one later.
        """
        asked = [(process, run_id) for process, commands in self.night.running for run_id in commands.given_up]
        return {run_id for process, run_id in asked if self.runs[run_id].was_superseded_by(process)}

    def rows_of(self, run: Run) -> list[Told]:
        return [told for told in self.told if told.run is run]

    def state_of(self, run: Run) -> str:
        """How a run ended that nobody works on: as the worst of its partitions, and not well if one never began."""
        last = {(leg.number - 1) % run.plan["partitions"]: leg for leg in run.legs}
        worst = max((EndedBy(leg.ended_by) for leg in last.values()), key=[*EndedBy].index)
        is_begun = len(last) == run.plan["partitions"]
        return str(worst if is_begun or worst is not EndedBy.COMPLETE else EndedBy.KILLED)

    @cached_property
    def catalog(self) -> dict[str, Standing]:
        """Each item that is listed, or was tried."""
        rows = defaultdict[str, list[Told]](list)
        for told in self.told:
            rows[told.item].append(told)
        listed = {item for run in self.listings.values() for item in run.listed}
        answers = self.newest_answers()
        unlisted = {item for item, told in answers.items() if item not in listed and told.run.lists_whole}
        elsewhere = {told.row["audio_sha256"] for item, told in answers.items() if item not in unlisted}
        moved = {item for item in unlisted if answers[item].row["audio_sha256"] in elsewhere}
        return {item: self._standing(item, rows[item], answers.get(item), moved) for item in sorted(listed | {*rows})}

    def _standing(self, item: str, rows: list[Told], answer: Told | None, moved: set[str]) -> Standing:
        other = Told.newest(told for told in rows if not told.is_answer)
        stands = answer
        if other is not None and (answer is None or _is_instead(other, answer)):
            stands = other
        homes = [run for run in self.listings.values() if item in run.listed]
        if not homes:
            assert stands is not None
            is_gone = stands.run.lists_whole and self.listings.get(stands.run.identity) is not None  # else nobody knows
            state = "moved" if item in moved else "gone" if is_gone else str(stands.row["outcome"])
            is_current = answer is not None and not is_gone
            identities = (stands.run.identity,)
        else:
            listing = max(homes, key=lambda run: run.planned_at)
            state = self._listed_state(item, stands, listing)
            is_current = answer is not None and answer.row["audio_sha256"] == self.bytes_at(item, listing.planned_at)
            identities = tuple(sorted(run.identity for run in homes))
        return Standing(
            state=state,
            answer=answer,
            is_current=is_current,
            is_covered=is_current or state == "ineligible",
            identities=identities,
            is_listed=bool(homes),
        )

    def _listed_state(self, item: str, stands: Told | None, listing: Run) -> str:
        is_older = stands is None or stands.run.planned_at < listing.planned_at
        if listing.listed[item]["reason"] is not None and is_older:
            return "ineligible"
        if stands is None or (stands.row["outcome"] == "ineligible" and stands.at < listing.planned_at):
            return "not_sent"  # it is there again; not so if an older run went on later, and found it missing
        return str(stands.row["outcome"])

    def coverage(self) -> dict[str, dict[str, int]]:
        """Return the counts of each catalog."""
        found: dict[str, dict[str, int]] = {}
        for identity in self.listings:
            own = [each for each in self.catalog.values() if identity in each.identities]
            here = [each for each in own if each.is_listed or each.state in {"gone", "moved"}]
            states = [each.state for each in here]
            names = ("accepted", "rejected", "failed", "ineligible", "not_sent", "gone", "moved")
            counts = {state: states.count(state) for state in names}
            counts["files"] = sum(each.is_listed for each in here)
            counts["covered"] = sum(each.is_covered for each in here)
            counts["need_attention"] = sum(counts[state] for state in _NEED_ATTENTION)
            if here:
                found[identity] = counts
        return found

    def rejects(self) -> set[str]:
        return {item for item, each in self.catalog.items() if each.state in _NEED_ATTENTION}


def _is_instead(other: Told, answer: Told) -> bool:
    """Whether an item stands as a row without an answer says: what was rejected stays so when a later try fails."""
    is_counted = other.row["outcome"] == "ineligible" or answer.row["outcome"] == "accepted"
    return other.at > answer.at and is_counted


def wall_time(seconds: float) -> datetime:
    """Return what a clock that is right shows at a time of the world."""
    return datetime.fromtimestamp(EPOCH + seconds, UTC)
