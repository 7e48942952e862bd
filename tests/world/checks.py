"""What must be true of each world, whatever happened in it: by the bytes of its store and the partner's own ledger."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from bucket import URL
from kernel import EPOCH, Process
from night import Night
from partner import KEY, NEXT_KEY, Served

from proofsweep.audit.check import audit_store
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ProofsweepError
from proofsweep.queries.status import describe_run
from proofsweep.store.objects import open_store
from proofsweep.store.parts import Results

Row = dict[str, Any]

_LAST_SECONDS = 2.6  # before a kill, of which nothing need be kept: a flush a second, and a slow write
_SECRETS = (KEY.encode(), NEXT_KEY.encode(), b"a-secret-policy", b"/slots")
_OF_ITEMS = ("uploads", "slot", "verify")
_OF_LANE = ("uploads", "verify")
_IN_FLIGHT_SECONDS = 0.1  # how long a call may be on its way
_CLOSING_SECONDS, _HEARING_SECONDS = 2.0, 6.0  # how late a window and a request to stop are heard, at most
_THROTTLED = 429
_LONGEST_PAUSE_SECONDS = 3_600.0
_TELLING_SECONDS = 3.0  # until all processes know of a pause


class Checks:
    """Checks one world that was played; each problem is a sentence, which begins with the name of its check."""

    def __init__(self, night: Night) -> None:
        self.night, self.bucket = night, night.bucket
        self.results = Results(open_store(URL))

    def problems(self) -> list[str]:
        found: list[str] = []
        for check in (
            self.tasks,
            self.last_night,
            self.rows,
            self.answers,
            self.outcomes,
            self.requests_kept,
            self.calls_again,
            self.slots,
            self.pauses,
            self.bounds,
            self.audit,
            self.secrets,
        ):
            try:
                found += [f"{check.__name__}: {problem}" for problem in check()]
            except ProofsweepError as error:  # a store that cannot be read is a problem, and not the end
                found.append(f"{check.__name__}: {error.message}")
        return found

    # --- What is there

    def table(self, name: str) -> list[Row]:
        """Return all rows of a table, as any reader of the Parquet files sees them."""
        parts = sorted(key for key in self.bucket.objects if key.startswith(f"results/{name}/"))
        rows: list[Row] = []
        for part in parts:
            rows += pq.read_table(pa.BufferReader(self.bucket.objects[part])).to_pylist()
        return rows

    @cached_property
    def verdicts(self) -> list[Row]:
        return self.table("verdicts")

    @cached_property
    def exchanges(self) -> list[Row]:
        return self.table("exchanges")

    @cached_property
    def runs(self) -> list[str]:
        plans = (key for key in self.bucket.objects if key.endswith("/plan.json"))
        return sorted(key.split("/")[2] for key in plans)

    @cached_property
    def served(self) -> dict[str, Served]:
        return {served.request_id: served for served in self.night.partner.served}

    # --- The checks

    def tasks(self) -> Iterator[str]:
        """No thread and no process ended by a mistake of the program."""
        yield from self.night.world.errors
        for process in self.night.world.processes:
            if process.error is not None:
                yield f"{process}: {type(process.error).__name__}: {process.error}"
        for done in self.night.done:
            if "mistake" in str(done) or EndedBy.ERROR in done.states:
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
        said = {song.name: self.night.partner.judge(*song.key).verdict for song in self.night.music.there}
        for row in of_last:
            if row["verdict"] != said.get(row["relative_path"]):
                yield f"it says {row['verdict']} of {row['relative_path']}, and the partner says otherwise"

    def rows(self) -> Iterator[str]:
        """Each planned row has one verdict, or remains and is counted so."""
        counts = Counter((row["run_id"], row["manifest_row"]) for row in self.verdicts)
        yield from (f"{count} rows of {key}" for key, count in counts.items() if count > 1)
        by_run = Counter(run for run, _ in counts)
        for run_id in self.runs:
            status = describe_run(self.results, run_id)
            rows = by_run[run_id]
            if rows > status.plan.items or (not status.open_legs and rows + status.remaining != status.plan.items):
                yield f"{run_id}: {status.plan.items} planned, {rows} rows, {status.remaining} remain"
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
            is_answer = row["verdict"] is not None
            is_file_gone = row["reason"] in {"missing_audio", "source_changed"}
            is_known = is_answer or (is_file_gone and self._was_touched(row["relative_path"]))
            if not is_known:
                yield f"{row['run_id']} row {row['manifest_row']} is {row['outcome']}, {row['reason']}"

    def _was_touched(self, name: str | None) -> bool:
        """Whether a file was taken away or replaced by the world, and not only its mount."""
        song = next((song for song in self.night.music.songs if song.name == name), None)
        return song is not None and (not song.is_there or song.take > 1)

    def requests_kept(self) -> Iterator[str]:
        """Each request ID that was received stands in `exchanges`, but for a kill's last second."""
        kept = Counter(row["request_id"] for row in self.exchanges if row["request_id"] is not None)
        yield from (f"{request_id} stands there {count} times" for request_id, count in kept.items() if count > 1)
        if self.bucket.lost:
            return  # a store that was replaced took some along
        for row in self.verdicts:
            if row["verify_request_id"] is not None and row["verify_request_id"] not in kept:
                yield f"{row['run_id']} row {row['manifest_row']} names {row['verify_request_id']}"
        for served in self.night.partner.served:
            if served.call not in _OF_ITEMS or served.request_id in kept:
                continue
            arrived = served.arrived_at
            if arrived is None or arrived == math.inf:
                continue
            if arrived < _end_of(served.by) - _LAST_SECONDS:
                yield f"{served.request_id} ({served.call} of {served.by} at {served.at:.3f})"

    def calls_again(self) -> Iterator[str]:
        """Of one run, no file is asked about again once its answer was kept."""
        if self.night.level not in {"quiet", "kills", "two", "clocks"}:
            return
        by_run = defaultdict[str, list[Row]](list)
        for row in self.exchanges:
            if row["call"] == "verify" and row["status"] == 200 and row["manifest_row"] is not None:
                by_run[row["run_id"]].append(row)
        for run_id, rows in by_run.items():
            for key, count in Counter(row["manifest_row"] for row in rows).items():
                kept = count - 1 - self._interruptions(run_id)
                if kept > 0:
                    yield f"{run_id} row {key} was asked about {count} times"

    def _interruptions(self, run_id: str) -> int:
        """Count the processes that worked on a run and were killed or frozen."""
        workers = [process for process, commands in self.night.running if run_id in commands.runs]
        return sum(process.is_dead or process.was_frozen for process in workers)

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

    def bounds(self) -> Iterator[str]:
        """No process makes more calls than it was given, but again; none begins a file after its window or a stop."""
        stopped = dict(asked for _, commands in self.night.running for asked in commands.stopped)
        for process, commands in self.night.running:
            served = [each for each in self.night.partner.served if each.by is process]
            calls = sum(each.is_keyed and each.status != _THROTTLED for each in served)
            if commands.max_calls is not None and calls > commands.max_calls:
                yield f"{process} made {calls} calls of {commands.max_calls}"
            closes_at, stopped_at = commands.closes_at, stopped.get(process.pid)
            until = min(
                math.inf if closes_at is None else closes_at + _CLOSING_SECONDS,
                math.inf if stopped_at is None else stopped_at + _HEARING_SECONDS,
            )
            if not process.was_frozen:
                late = (each for each in served if each.call == "uploads" and each.at > until)
                yield from (f"{process} made {each.request_id} at {each.at:.3f}, after {until:.3f}" for each in late)

    def audit(self) -> Iterator[str]:
        """The audit finds nothing wrong in a store that nobody tampered with."""
        if self.bucket.lost:
            return
        for finding in audit_store(self.results).wrong:
            yield f"{finding.where}: {finding.what}"

    def secrets(self) -> Iterator[str]:
        for key, content in self.bucket.objects.items():
            for secret in _SECRETS:
                if secret in content:
                    yield f"{key} holds {secret!r}"


def _end_of(process: Process) -> float:
    """Return when a process was killed; never, if it was not."""
    return math.inf if process.dead_at is None else process.dead_at


def instant(seconds: float) -> datetime:
    return datetime.fromtimestamp(EPOCH + seconds)  # noqa: DTZ006
