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
from checks_of_commands import checks_of_commands
from kernel import EPOCH, Process
from night import Night
from partner import KEY, Served

from proofsweep.audit.check import audit_store
from proofsweep.domain.endings import EndedBy
from proofsweep.queries.status import RunStatus, describe_run
from proofsweep.store.layout import kind_of
from proofsweep.store.objects import open_store
from proofsweep.store.parts import Results

Row = dict[str, Any]

_LAST_SECONDS = 2.6  # before a kill, of which nothing need be kept: a flush a second, and a slow write
_SECRETS = (KEY.encode(), b"a-secret-policy", b"/slots")
_OF_ITEMS = ("uploads", "slot", "verify")


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
            self.audit,
            self.secrets,
            *checks_of_commands(self),
        ):
            found += [f"{check.__name__}: {problem}" for problem in check()]
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
        runs = (key.split("/")[2] for key in plans)
        return sorted(run for run in runs if not kind_of(run))

    @cached_property
    def statuses(self) -> dict[str, RunStatus]:
        return {run_id: describe_run(self.results, run_id) for run_id in self.runs}

    @cached_property
    def is_pruned(self) -> bool:
        return any("/_pruned/" in key for key in self.bucket.objects)

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
        beside = [done for each in self.night.operations.begun for done in each.done]
        for done in [*self.night.done, *beside]:
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
            elif row["accepted"] != (served.verdict == "valid"):
                yield f"{where} is accepted={row['accepted']} by {served.verdict}"

    def outcomes(self) -> Iterator[str]:
        """No outage, and no mount that goes, makes a row."""
        for row in self.verdicts:
            is_answer = row["verdict"] is not None
            is_file_gone = row["reason"] in {"missing_audio", "source_changed"}
            is_known = is_answer or (is_file_gone and self._was_touched(row["audio"]))
            if not is_known:
                yield f"{row['run_id']} row {row['manifest_row']} is {row['outcome']}, {row['reason']}"

    def _was_touched(self, audio: str) -> bool:
        """Whether a file was taken away or replaced by the world, and not only its mount."""
        drops = self.night.operations.drop_folder
        if drops is not None and drops.was_laid_twice(audio):
            return True
        songs = (song for song in self.night.music.songs if str(self.night.music.folder / song.name) == audio)
        return any(not song.is_there or song.take > 1 for song in songs)

    def requests_kept(self) -> Iterator[str]:
        """Each request ID that was received stands in `exchanges`, but for a kill's last second."""
        kept = {row["request_id"] for row in self.exchanges}
        if self.bucket.lost or self.is_pruned:
            return  # a store that was replaced took some along, and a pruning others
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
