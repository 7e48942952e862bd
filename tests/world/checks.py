"""What must be true of each world, whatever happened in it: by the bytes of its store and the partner's own ledger."""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pyarrow as pa
from bucket import read_parquet
from checks_of_answers import AnswerChecks
from checks_of_commands import LAST_SECONDS, SOUND_STORES, checks_of_commands
from kernel import Process
from model import Model
from night import Night
from partner import KEY, NEXT_KEY, Served

from proofsweep.audit.check import audit_store
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ProofsweepError, ResultsError
from proofsweep.domain.exchanges import Call
from proofsweep.queries.status import RunStatus, describe_run
from proofsweep.store.layout import kind_of
from proofsweep.store.objects import open_store
from proofsweep.store.parts import Results

Row = dict[str, Any]

_SECRETS = (KEY.encode(), NEXT_KEY.encode(), b"a-secret-policy", b"/slots")
_OF_ITEMS = ("uploads", "slot", "verify")
_RECEIPT = re.compile(r"results/(_runs/([^/]+)/legs/(\d+)/receipt\.json)")
_EXCHANGES_SEGMENT = re.compile(r"results/_runs/([^/]+)/journal/(\d+)/exchanges-.*")
_STOP = re.compile(r"results/_runs/([^/]+/legs/\d+)/stop-\w+\.json")
_OF_LANE = ("uploads", "verify")
_IN_FLIGHT_SECONDS = 0.1  # how long a call may be on its way
_HEARING_SECONDS = 6.0  # how late a request to stop is heard, at most
_THROTTLED = 429
_LONGEST_PAUSE_SECONDS = 3_600.0
_TELLING_SECONDS = 0.5  # until all processes know of a pause


class Checks:
    """Checks one world that was played; each problem is a sentence, which begins with the name of its check."""

    def __init__(self, night: Night) -> None:
        self.night, self.bucket = night, night.bucket
        self.results = Results(open_store(night.url))

    def problems(self) -> list[str]:
        found: list[str] = []
        for check in (
            self.tasks,
            self.last_night,
            self.mount_point,
            self.legs,
            self.rows,
            self.answers,
            self.outcomes,
            self.requests_kept,
            self.calls_of_rows,
            self.calls_again,
            self.slots,
            self.pauses,
            self.stops,
            self.audit,
            self.secrets,
            *checks_of_commands(self),
        ):
            try:
                found += [f"{check.__name__}: {problem}" for problem in check()]
            except ProofsweepError as error:  # a store that cannot be read is a problem, and not the end
                found.append(f"{check.__name__}: {error.message}")
        return found + AnswerChecks(self.night).problems()

    # --- What is there

    def table(self, name: str) -> list[Row]:
        """Return all rows of a table, as any reader of the Parquet files sees them."""
        parts = sorted(key for key in self.bucket.objects if key.startswith(f"results/{name}/"))
        rows: list[Row] = []
        for part in parts:
            rows += read_parquet(self.bucket.objects[part]).to_pylist()
        return rows

    @cached_property
    def verdicts(self) -> list[Row]:
        return self.table("verdicts")

    @cached_property
    def exchanges(self) -> list[Row]:
        return self.table("exchanges")

    @cached_property
    def _exchanges_ever(self) -> list[Row]:
        """All exchanges, with those that prunings have deleted."""
        deleted = self.bucket.deleted.items()
        gone = [content for key, content in deleted if key.startswith("results/exchanges/")]
        return self.exchanges + [row for content in gone for row in read_parquet(content).to_pylist()]

    @cached_property
    def plans(self) -> dict[str, Row]:
        plans = sorted(key for key in self.bucket.objects if key.endswith("/plan.json"))
        return {key.split("/")[2]: json.loads(self.bucket.objects[key]) for key in plans}

    @property
    def runs(self) -> list[str]:
        return [run for run in self.plans if not kind_of(run)]

    @cached_property
    def statuses(self) -> dict[str, RunStatus]:
        return {run_id: describe_run(self.results, run_id) for run_id in self.runs}

    @cached_property
    def is_pruned(self) -> bool:
        return any(entry["kind"] == "pruned" for entry in self.log.values())

    @cached_property
    def log(self) -> dict[str, Row]:
        """Return the entries of the store's log, by their keys."""
        keys = [key for key in sorted(self.bucket.objects) if key.startswith("results/_log/")]
        return {key: json.loads(self.bucket.objects[key]) for key in keys}

    @cached_property
    def served(self) -> dict[str, Served]:
        return {served.request_id: served for served in self.night.partner.served}

    @cached_property
    def receipts(self) -> dict[str, tuple[str, int, Row]]:
        """Return run, leg and content of each receipt, by its name."""
        found = {}
        for key in sorted(self.bucket.objects):
            if name := _RECEIPT.fullmatch(key):
                found[name[1]] = name[2], int(name[3]), json.loads(self.bucket.objects[key])
        return found

    @cached_property
    def begun(self) -> dict[tuple[str, int], tuple[float, int]]:
        """Return when each leg began in the log, and the process that did it, by run and leg."""
        return {
            (entry["run_id"], entry["leg"]): (self.bucket.written_at[key], entry["holder"]["pid"])
            for key, entry in self.log.items()
            if entry["kind"] == "begun"
        }

    @cached_property
    def ended(self) -> set[tuple[str, int]]:
        """Return the legs that the log says have ended, by run and leg."""
        return {(entry["run_id"], entry["leg"]) for entry in self.log.values() if entry["kind"] == "ended"}

    # --- The checks

    def tasks(self) -> Iterator[str]:
        """No thread and no process ended by a mistake of the program."""
        yield from self.night.world.errors
        for process in self.night.world.processes:
            if process.error is not None:
                yield f"{process}: {type(process.error).__name__}: {process.error}"
        beside = [done for each in self.night.operations.begun for done in each.done]
        for done in [*self.night.done, *beside]:
            if "mistake" in str(done):
                yield str(done)

    def last_night(self) -> Iterator[str]:
        """After the last fault, one more verify brings everything in order."""
        last = self.night.last
        if last is None or last.error is not None or last.states != [EndedBy.COMPLETE]:
            yield f"it ended with {last}"
            return
        listed = {song.name for song in self.night.music.there}
        of_last = [row for row in self.verdicts if row["run_id"] == last.runs[-1]]
        rows = Counter(row["relative_path"] for row in of_last)
        if set(rows) != listed:
            yield f"its rows are {sorted(rows)}, and its files {sorted(listed)}"
        partner = self.night.partner
        judged = {song.name: partner.judgements[song.key] for song in self.night.music.there}
        said = {name: each.verdict for name, each in judged.items() if each.proof not in partner.erased}
        for row in of_last:
            if row["verdict"] != said.get(row["relative_path"], row["verdict"]):
                yield f"it says {row['verdict']} of {row['relative_path']}, and the partner says otherwise"

    def legs(self) -> Iterator[str]:
        """Each leg with a receipt has its row in `runs` and its end in the log, and none was ended by a mistake."""
        rows = {(row["run_id"], row["leg"]) for row in self.table("runs")}
        given_up = {run_id for _, commands in self.night.running for run_id in commands.given_up}
        for name, (run_id, leg, receipt) in self.receipts.items():
            where = f"leg {leg} of {run_id}"
            if run_id not in self.runs or self.bucket.lost:
                continue
            if (run_id, leg) not in self.ended:
                yield f"{where} has not ended in the log"
            elif (run_id, leg) not in rows:
                yield f"{where} has ended, and has no row in runs"
            if receipt["ended_by"] == EndedBy.SUPERSEDED and not (run_id in given_up or self._rivals_before(name)):
                yield f"{where} was superseded, and no other run had begun"
            if receipt["ended_by"] == EndedBy.ERROR:
                later = self._settled_later(name)
                order = f" before leg {later[0]} was settled" if later else ""
                yield f"{where} ended with error{order}: {receipt['why']}"

    def _rivals_before(self, name: str) -> list[str]:
        """Return the other runs of which a leg began before a leg ended: these may have answered its files."""
        run_id, _, _ = self.receipts[name]
        ended_at = self.bucket.written_at[f"results/{name}"]
        return [run for (run, _), (began_at, _) in self.begun.items() if run != run_id and began_at < ended_at]

    def _settled_later(self, name: str) -> list[int]:
        """Return the earlier legs of a leg's partition that were settled after it."""
        run_id, leg, _ = self.receipts[name]
        partitions = self.plans[run_id].get("partitions", 1)
        settled_at = self.bucket.written_at[f"results/{name}"]
        return [
            number
            for other, (run, number, _) in self.receipts.items()
            if run == run_id
            and number in range(leg % partitions or partitions, leg, partitions)
            and self.bucket.written_at[f"results/{other}"] > settled_at
        ]

    def rows(self) -> Iterator[str]:
        """Each planned row has one verdict, or remains and is counted so."""
        counts = Counter((row["run_id"], row["manifest_row"]) for row in self.verdicts)
        yield from (f"{count} rows of {key}" for key, count in counts.items() if count > 1)
        by_run = Counter(run for run, _ in counts)
        for run_id in self.runs:
            status = self.statuses[run_id]
            rows = by_run[run_id]
            if status.pruned_at is not None:
                continue
            if rows > status.plan.items or (not status.open_legs and rows + status.remaining != status.plan.items):
                run = Model(self.night).runs[run_id]
                left = [f", leg {leg.number} was left behind" for leg in run.legs if run.was_left_behind(leg)]
                yield f"{run_id}: {status.plan.items} planned, {rows} rows, {status.remaining} remain{''.join(left)}"
        for run_id in {row["run_id"] for row in self.verdicts} - set(self.runs):
            yield f"{run_id} has rows and no plan"

    def answers(self) -> Iterator[str]:
        """An answer is what the partner said, in the request that is named, about those very bytes."""
        for row in self.verdicts:
            if row["verdict"] is None:
                continue
            served = self.served.get(row["verify_request_id"] or "")
            where = f"{row['run_id']} row {row['manifest_row']}"
            if served is None or served.call != "verify":
                yield f"{where} names the request {row['verify_request_id']}, which the partner does not know"
            elif (served.verdict, served.digest) != (row["verdict"], row["audio_sha256"]):
                yield f"{where} says {row['verdict']}, {served.request_id} said {served.verdict} of other bytes or so"
            elif row["accepted"] != served.is_accepted:
                yield f"{where} is accepted={row['accepted']} by {served.verdict}"
            elif bool(served.sidecar) != (row["sidecar_sha256"] is not None):
                yield f"{where} is a pair or none, and {served.request_id} the other"

    def outcomes(self) -> Iterator[str]:
        """No outage, and no mount that goes, makes a row."""
        for row in self.verdicts:
            is_file_gone = row["reason"] in {"missing_audio", "source_changed"}
            is_touched = is_file_gone and self._was_touched(row["audio"])
            if row["verdict"] is None and not is_touched and (why := self._flaw_of_failure(row)):
                yield f"{row['run_id']} row {row['manifest_row']} is {row['outcome']}, {row['reason']}: {why}"

    def _was_touched(self, audio: str) -> bool:
        """Whether a file was taken away or replaced by the world, and not only its mount."""
        drops = self.night.operations.drop_folder
        if drops is not None and drops.was_laid_twice(audio):
            return True
        songs = (song for song in self.night.music.songs if str(self.night.music.folder / song.name) == audio)
        return any(not song.is_there or song.take > 1 for song in songs)

    def _flaw_of_failure(self, row: Row) -> str:
        """Return why a file may not have failed: the partner of a world answers each of them in a quiet hour."""
        if row["outcome"] != "failed" or row["reason"] == "source_changed":
            return "its file was never touched"
        return "the partner would have answered it"

    @property
    def _waiting_requests(self) -> set[str]:
        """Return the requests in journals of legs that nobody has ended: who goes on with their runs publishes them."""
        found: set[str] = set()
        for key, content in self.bucket.objects.items():
            segment = _EXCHANGES_SEGMENT.fullmatch(key)
            if segment and f"_runs/{segment[1]}/legs/{segment[2]}/receipt.json" not in self.receipts:
                with pa.ipc.open_stream(content) as stream:
                    found |= set(stream.read_all()["request_id"].to_pylist())
        return found

    def requests_kept(self) -> Iterator[str]:
        """Each request ID that was received stands in `exchanges`, but for the last second of who could not write."""
        kept = Counter(row["request_id"] for row in self.exchanges if row["request_id"] is not None)
        yield from (f"{request_id} stands there {count} times" for request_id, count in kept.items() if count > 1)
        if self.bucket.lost or self.is_pruned:
            return  # a store that was replaced took some along, and a pruning others
        kept_or_waiting = {*kept, *self._waiting_requests}
        for row in self.verdicts:
            if row["verify_request_id"] is not None and row["verify_request_id"] not in kept_or_waiting:
                yield f"{row['run_id']} row {row['manifest_row']} names {row['verify_request_id']}"
        for served in self.night.partner.served:
            if served.call not in _OF_ITEMS or served.request_id in kept_or_waiting:
                continue
            arrived = served.arrived_at
            if arrived is not None and arrived < min(self._end_of(served.by), self._written_by(served.by)):
                yield f"{served.request_id} ({served.call} of {served.by} at {served.at:.3f})"

    def _end_of(self, process: Process) -> float:
        """Return up to when a process must have kept its requests: never, if it was neither killed nor replaced."""
        end = process.dead_at
        if end is None and process.first_frozen_at is not None and self._was_replaced(process):
            end = process.first_frozen_at
        return math.inf if end is None else process.had_left(LAST_SECONDS, end)

    def _was_replaced(self, process: Process) -> bool:
        """Whether another process has ended a leg that this one had begun."""
        killed = [(run, leg) for run, leg, receipt in self.receipts.values() if receipt["ended_by"] == EndedBy.KILLED]
        return any(self.begun[leg][1] == process.pid for leg in killed if leg in self.begun)

    def _written_by(self, process: Process) -> float:
        """Return up to when a process must have written down what it received, if its store failed until its end.

        What arrived while it wrote for the last time may have come too late for that. One that gave up, or was stopped,
        has tried until its end; what it left to a share that hangs may be written later still.
        """
        has_given_up = any(done.by is process and isinstance(done.error, ResultsError) for done in self.night.done)
        ended_at = process.ended_at if has_given_up else process.dead_at
        if ended_at is None:
            return math.inf
        written = [at for at in self.bucket.journalled_at.get(process, []) if at <= ended_at]
        before = [0.0, 0.0, *written][-2]
        return before if self.bucket.was_failing(before, ended_at) else math.inf

    def calls_of_rows(self) -> Iterator[str]:
        """A row says how many keyed calls were sent for it in its leg: those of all its tries."""
        sent = Counter(
            (row["run_id"], row["leg"], row["manifest_row"])
            for row in self._exchanges_ever
            if row["bytes_sent"] is not None and Call(row["call"]).is_keyed
        )
        for row in self.verdicts:
            calls = sent[row["run_id"], row["leg"], row["manifest_row"]]
            if row["calls"] != calls and not self.bucket.lost:
                where = f"{row['run_id']} leg {row['leg']} row {row['manifest_row']}"
                yield f"{where} says {row['calls']} calls, and {calls} are kept"

    def calls_again(self) -> Iterator[str]:
        """Of one run, no file is asked about again once its answer was kept; one that was in doubt was not kept.

        While proofs are erased, a check of what was accepted may come out wrong: then any refusal is in doubt.
        """
        if self.night.level not in {"quiet", "kills", "two", "clocks"}:
            return
        by_run = defaultdict[str, list[Row]](list)
        for row in self.exchanges:
            if row["call"] == "verify" and row["status"] == 200 and row["manifest_row"] is not None:
                by_run[row["run_id"]].append(row)
        for run_id, rows in by_run.items():
            served = {row["request_id"]: self.served.get(row["request_id"]) for row in rows}
            is_sure = not self._erased_beside([each.at for each in served.values() if each is not None])
            asked = Counter(row["manifest_row"] for row in rows if is_sure or _is_accepted(served[row["request_id"]]))
            for key, count in asked.items():
                if count - 1 > self._interruptions(run_id) + self._times_in_doubt(run_id, key):
                    yield f"{run_id} row {key} was asked about {count} times"

    def _interruptions(self, run_id: str) -> int:
        """Count the processes that worked on a run and were killed or frozen."""
        workers = [process for process, commands in self.night.running if run_id in commands.runs]
        return sum(process.is_dead or process.was_frozen for process in workers)

    def _erased_beside(self, times: list[float]) -> bool:
        """Whether a proof was erased between the first and the last of some times."""
        erased = [each.at for each in self.night.partner.served if each.call == "erase"]
        return any(min(times, default=0.0) < at < max(times, default=0.0) for at in erased)

    def _times_in_doubt(self, run_id: str, row: int) -> int:
        """Count the legs that ended before a check could decide about a row: its answer is believed in a later one."""
        return sum(run == run_id and row in receipt.get("in_doubt", ()) for run, _, receipt in self.receipts.values())

    def slots(self) -> Iterator[str]:
        """No slot is filled twice, and none gets the key."""
        filled = Counter(served.slot for served in self.night.partner.served if served.call == "slot" and served.slot)
        yield from (f"{slot} was filled {count} times" for slot, count in filled.items() if count > 1)
        for served in self.night.partner.served:
            if served.has_key and not served.is_keyed:
                yield f"{served.request_id} ({served.call}) has the key"

    def pauses(self) -> Iterator[str]:
        """Within a pause that the partner told, no process makes a call that shares the lane."""
        told = list[tuple[Process, float, float]]()
        for served in self.night.partner.served:
            if served.call not in _OF_LANE:
                continue
            for teller, since, until in told:
                heard_at = since + self._hearing_seconds(teller, served.by)
                if heard_at < served.at < until - _IN_FLIGHT_SECONDS:
                    yield f"{served.request_id} ({served.call}) of {served.by} at {served.at:.3f}, before {until:.3f}"
            heard_at = served.arrived_at or math.inf
            is_quota = (served.retry_after or 0.0) > _LONGEST_PAUSE_SECONDS  # then usage is asked first, beside others
            if served.retry_after is not None and heard_at < math.inf and not is_quota:
                told.append((served.by, heard_at, heard_at + served.retry_after))

    def _hearing_seconds(self, teller: Process, other: Process) -> float:
        """Return how late a process heeds a pause that one was told; never, if either may have slept."""
        if teller is other:
            return _IN_FLIGHT_SECONDS
        is_told = self.night.level == "two" and not (teller.was_frozen or other.was_frozen)
        return _TELLING_SECONDS if is_told else math.inf

    def stops(self) -> Iterator[str]:
        """A process that was asked to stop a leg begins no more files of it; those in hand it may send again."""
        if self.night.level not in SOUND_STORES:
            return
        asked_at = {asked[1]: at for key, at in self.bucket.written_at.items() if (asked := _STOP.fullmatch(key))}
        for process, commands in self.night.running:
            for leg in commands.legs:
                until = asked_at.get(f"{leg.run_id}/legs/{leg.number:03}", math.inf) + _HEARING_SECONDS
                for served in self.night.partner.served:
                    is_late = until < served.at < (leg.ended_at or math.inf)
                    if not is_late or served.by is not process or served.call != "uploads" or process.was_frozen:
                        continue
                    if not served.has_arrived:  # no row can say of which file the call was
                        continue
                    if served.at - self._in_hand_seconds(served) > until:
                        yield f"{process} made {served.request_id} at {served.at:.3f}, after {until:.3f}"

    def _in_hand_seconds(self, served: Served) -> float:
        """Return for how long the file of a call had been in hand, since the first call of its leg for it."""
        for row in self._exchanges_ever:
            if row["request_id"] == served.request_id:
                of_file = [other["started_at"] for other in self._exchanges_ever if _is_of_same_file(row, other)]
                return (row["started_at"] - min(of_file)).total_seconds()
        return 0.0

    def audit(self) -> Iterator[str]:
        """The audit finds nothing wrong in a store that nobody tampered with."""
        if self.bucket.lost:
            return
        for finding in audit_store(self.results).wrong:
            yield f"{finding.where}: {finding.what}"

    def mount_point(self) -> Iterator[str]:
        """Nothing is made where the store was, while it is away."""
        if self.bucket.lost:
            yield f"{self.bucket.lost} objects were written below the mount point"

    def secrets(self) -> Iterator[str]:
        for key, content in self.bucket.objects.items():
            for secret in _SECRETS:
                if secret in content:
                    yield f"{key} holds {secret!r}"


def _is_of_same_file(one: Row, other: Row) -> bool:
    return all(one[column] == other[column] for column in ("run_id", "leg", "manifest_row"))


def _is_accepted(served: Served | None) -> bool:
    return served is not None and served.is_accepted
