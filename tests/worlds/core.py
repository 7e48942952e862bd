"""The program's core in the words of outer tests: outside tests/unit and tests/architecture only this imports it.

When the core's rooms are laid anew, this module is written anew, and no outer test changes. `proofsweep.results` is
documented for people, so any test may use it.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from itertools import count
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from proofsweep.alerts.rules import ALERTED_STATES
from proofsweep.app import App
from proofsweep.audit.prune import find_prunable, prune
from proofsweep.config.load import load_settings
from proofsweep.config.logs import set_up_logs
from proofsweep.config.sections import IngestSettings
from proofsweep.domain.endings import ENDINGS, EndedBy
from proofsweep.domain.errors import NameTaken, NothingDue, RunIsActive, RunMustStop, SourceError
from proofsweep.domain.items import WorkItem
from proofsweep.domain.runs import AnyRun, Bounds, Operation, Plan
from proofsweep.files.audio import AudioFile, open_audio
from proofsweep.files.files import Files
from proofsweep.files.moving import Moves
from proofsweep.ingest import disposal, folder_state, records, rules
from proofsweep.ingest.one_pass import IngestPass
from proofsweep.operations import recover
from proofsweep.pacing import rate_share
from proofsweep.queries.status import describe_run
from proofsweep.sources import open_catalog, preflight, selection
from proofsweep.store import bounded_calls, heartbeat, holder, journal, latest, layout, lease, listings, objects
from proofsweep.store.bucket_store import BucketStore
from proofsweep.store.legs import Legs
from proofsweep.store.log import EntryKind
from proofsweep.store.objects import Store, open_store
from proofsweep.store.parts import ITEMS, Results, parquet_of
from proofsweep.store.rows import planned_columns
from proofsweep.verify import commit, history
from proofsweep.verify.worker import verify_batch, work_last

__all__ = ["ALERTED_STATES", "AudioFile", "Files", "NameTaken", "NothingDue", "Plan", "Results", "RunIsActive"]
__all__ += ["SourceError", "Store", "open_audio", "set_up_logs"]

Row = dict[str, object]
"""One row of a table, or some of its cells."""

STATES_OF_RUNS = {ending.state for ending in ENDINGS.values()}
"""The states in which flow runs of a run end."""
CHOSEN = {
    "most_pause_seconds": "pacing.rate_share._MOST_PAUSE_SECONDS",
    "probe_wait_seconds": "pacing.circuit_breaker.FIRST_WAIT_SECONDS",
    "first_contact_seconds": "client.transport.FIRST_CONTACT_SECONDS",
    "beside_seconds": "verify.fault._BESIDE_SECONDS",
    "first_wait_seconds": "client.retry._FIRST_WAIT_SECONDS",
    "batch_items": "domain.runs.BATCH_ITEMS",
    "quota_probe_seconds": "verify.leg.QUOTA_PROBE_SECONDS",
    "rows_per_part": "verify.commit.ROWS_PER_PART",
    "small_run_items": "domain.runs.SMALL_RUN_ITEMS",
    "silent_seconds": "queries.status.STALE_SECONDS",
    "stale_seconds": "store.heartbeat.STALE_SECONDS",
}
MOVING = ("ingest/records.py", "ingest/folder_state.py", "files/moving.py", "files/bucket_files.py")
"""The source files of all that changes something when a delivered file is moved."""
MOVING_IN_BUCKETS = ("files/bucket_files.py",), ("create", "remove")
"""What of it is for buckets alone, and its functions."""


def plan(
    catalog: str | Path,
    results: str | None = None,
    *,
    resumes: bool = False,
    partitions: int | None = None,
    **chosen: Any,  # noqa: ANN401 - as options are
) -> str:
    """Plan a run of a catalog, or of the rows that options choose, or `resumes` an unfinished one; give its ID.

    RunIsActive if another process works on such a run; NothingDue if no row is chosen.
    """
    rows = selection.Selection(**chosen)
    with App.here(load_settings(None, results)) as app:
        unfinished = app.run_to_resume(str(catalog)) if resumes else None
        return (unfinished or app.plan(str(catalog), rows, partitions=partitions)).run_id


def work(run_id: str, at_once: int = 1, *chosen: str | None, bounds: Bounds | None = None, partition: int = 0) -> None:
    """Work on the next leg of a partition without Prefect, with a chosen config and results store, until it ends.

    RunIsActive if another process works on the run.
    """
    shared = App.here(load_settings(*chosen))
    with suppress(RunMustStop), shared as app, app.attempt(run_id, bounds=bounds, partition=partition) as context:
        with ThreadPoolExecutor(at_once) as pool:
            list(pool.map(partial(verify_batch, context), context.completed.batches()))
        work_last(context)


def verified(catalog: str | Path, **chosen: Any) -> str:  # noqa: ANN401 - as options are
    """Plan a run, and work on its first leg; give its ID."""
    with App(load_settings()):
        run_id = plan(catalog, **chosen)
        work(run_id)
    return run_id


def remaining(run_id: str) -> int:
    return describe_run(results_at(load_settings().results.url), run_id).remaining


def make_pass(folder: str) -> None:
    """Make one pass over a watched folder, with its runs; RunIsActive if another process watches it."""
    with App(load_settings()) as app, app.watched_folder(folder) as watched:
        for run_id in IngestPass(watched).runs():
            work(run_id)


def use_lane_as_a_pass(over: threading.Event) -> None:
    """Be a pass over new files that knows a rate of 60 calls per second, and can use all of it, until it is over."""
    settings, writes = load_settings(), count(1)
    with App(settings) as app:
        folder = layout.rate_leases_folder(app.service.key_fingerprint, settings.service.base_url)
    store, name = open_store(settings.results.url), f"{folder}/pass.json"
    while not over.wait(1.0):
        lease = rate_share.RateLease(weight=rate_share.Weight.INGEST, writes=next(writes), rate=60.0, learned=10**6)
        store.replace(name, objects.json_bytes(asdict(lease)))
    store.delete(name)


def set_chosen(patch: pytest.MonkeyPatch, **values: float) -> None:
    """Change numbers that are chosen for real runs, so that a test need not wait long or have many files."""
    for name, value in values.items():
        patch.setattr(f"proofsweep.{CHOSEN[name]}", value)


def retry_files_at_once(patch: pytest.MonkeyPatch) -> None:
    """Let the next pass over a watched folder try a file again that has failed."""
    patch.setattr(rules, "_FIRST_RETRY", timedelta(0))


def setting(name: str) -> object:
    return attrgetter(name)(load_settings())


def before_a_sidecar_is_written(patch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do something right after the place of a recovered sidecar was found to be free."""
    write = recover._written
    patch.setattr(recover, "_written", lambda *written, **named: act() or write(*written, **named))


def wrap_writes(wrapped: Callable[[Callable[..., None]], Callable[..., None]]) -> None:
    """Change, for good in this process, each function that writes to results stores or deletes there."""
    for kind in (objects.FolderStore, BucketStore):
        for act in ("create", "replace", "delete"):
            setattr(kind, act, wrapped(getattr(kind, act)))


def write_files_by(write: Callable[[Path, bytes], None]) -> None:
    """Let results stores in folders write the next files in another way."""
    objects._write_durably = write


def listed_rows(location: str) -> tuple[Any, list[tuple[Any, WorkItem]]]:
    """Open a catalog with both kinds of sidecars' names; give it and its rows, each with the item that it becomes."""
    catalog = open_catalog.open_catalog(location)
    return catalog, [(row, preflight.work_item_of(row, catalog.name, "sidecar")) for row in catalog.rows()]


def move_accepted_pair(results: Results, root: str, audio: bytes, sidecar: bytes, is_there: Callable[[], bool]) -> None:
    """Begin a pass over `in` after a kill; if the pair `a` is still there, move it to `ok`, as it is accepted."""
    files = Moves(Files())
    moving = disposal.Disposal(moves=files, watched=f"{root}/in", targets={rules.Disposition.ACCEPTED: f"{root}/ok"})
    context = records.IngestContext(
        results=results,
        environment="beta",
        settings=IngestSettings(),
        sidecar_field="sidecar",
        open_catalog=open_catalog.open_catalog,
        plan=lambda _catalog, run_id: results.plan(run_id),
        clock=lambda: datetime(2026, 11, 22, 12, tzinfo=UTC),
        new_run_id=lambda: "20261122T120000Z_000aa",
    )
    term = next_term(results.store, "watched")
    kept = records.Records(context, folder_state.FolderState.load(term), moving, {})
    files.put_back(f"{root}/in")
    kept.of_killed_pass()
    if is_there():  # else nobody knows it again
        item = WorkItem(manifest_row=0, item_id="a", audio=f"{root}/in/a.wav", sidecar=f"{root}/in/a.sidecar")
        facts = {"audio_version": "v", "sidecar_version": "v", "audio_bytes": len(audio), "reason": None}
        digests = {"audio_sha256": sha256(audio).hexdigest(), "sidecar_sha256": sha256(sidecar).hexdigest()}
        answer = rules.PastAnswer(run_id="r", leg=1, item_id="a", outcome="accepted", **facts, **digests)  # type: ignore[arg-type]
        kept.of_answered([(item, answer)])


def next_term(store: Store, name: str) -> lease.Term:
    """Take the next term of a lease, as after a kill of who held the last one."""
    watched = lease.Lease(store, name, "busy")
    number = watched.last() + 1
    own = holder.this_process(datetime.now(UTC), {})
    store.create(layout.lease_name(name, number), objects.json_bytes(asdict(own)))
    return lease.Term(watched, number, heartbeat.Signs(store, name, number, own, watched.clock))


def results_at(location: str | Path) -> Results:
    """Open the results store in a folder or below a bucket's URL, whether there is one or not."""
    return Results(open_store(str(location)))


def stored_run(run_id: str) -> "StoredRun":
    """Return a run of the store that the settings name."""
    results = results_at(load_settings().results.url)
    return StoredRun(results, results.plan(run_id))


def begin_leg(
    results: Results, run: AnyRun, leg: int, *, is_killed: bool = False, machine: str = "", **facts: object
) -> None:
    """Begin a leg in the log, whatever stands there: for this process, one that is gone, or one of another machine."""
    taken = asdict(holder.this_process(datetime.now(UTC), facts))
    taken |= {"machine": machine} if machine else {"process_started": "earlier"} if is_killed else {}
    results.enter_plan(run)
    results.log.append(EntryKind.BEGUN, run.run_id, lambda _: {"leg": leg, "holder": taken})


def signs_of(results: Results, run: AnyRun, leg: int) -> heartbeat.Signs:
    legs = Legs(results, run)
    return next(legs.signs_of(begun) for begun in legs.open() if begun.leg == leg)


def write_receipt(results: Results, run: AnyRun, leg: int, receipt: dict[str, object]) -> None:
    """Write the receipt of a leg as it is given, and its end in the log."""
    content = objects.json_bytes(receipt)
    results.store.create(layout.receipt_name(run.run_id, leg), content)
    ended = {"leg": leg, "sha256": objects.sha256_hex(content), "ended_by": receipt.get("ended_by", "complete")}
    results.log.append(EntryKind.ENDED, run.run_id, lambda _: ended)


class StoredRun:
    """A run in a results store: each method leaves behind what one step of its processes does."""

    def __init__(self, results: Results, plan: Plan) -> None:
        self.results, self.plan = results, plan

    def list_catalog(self, items: Iterable[str], *, notes_gone: bool = True) -> None:
        """Write what the whole catalog lists, and what is gone from it, as a plan does that leaves rows out."""
        listing = listings.Listing()
        for row, item in enumerate(items):
            listing.add(WorkItem(manifest_row=row, item_id=item, audio=f"/c/{item}", relative_path=item))
        if notes_gone:
            listings.write_gone(self.results, self.plan.run_id, listing, self.plan.environment, self.plan.identity)
        listing.write(self.results, self.plan.run_id)

    def write_items(self, items: Iterable[str]) -> None:
        work = [WorkItem(manifest_row=row, item_id=item, audio=f"/c/{item}") for row, item in enumerate(items)]
        for number, batch in enumerate(self.plan.batches):
            some = work[batch.start : batch.stop]
            table = pa.Table.from_pydict(planned_columns(some), schema=ITEMS)
            self.results.store.create(layout.items_name(self.plan.run_id, number), parquet_of(table))

    def write_plan(self) -> None:
        """Write the plan, which makes the run exist."""
        self.results.write_plan(self.plan)

    def take(self, leg: int | None = None, *, is_killed: bool = False, machine: str = "") -> int:
        """Take a leg, by default the next one, for this process or for one that is gone; give its number.

        Of a process of another machine only its heartbeats are known here.
        """
        record = self.results.log.runs().of(self.plan)
        leg = leg or max((0, *(() if record is None else record.numbers))) + 1
        begin_leg(self.results, self.plan, leg, is_killed=is_killed, machine=machine)
        return leg

    def beat(self, leg: int = 1, **facts: Any) -> None:  # noqa: ANN401 - of many types
        """Write a heartbeat with the progress of a leg."""
        signs_of(self.results, self.plan, leg).beat(heartbeat.LegProgress(**{"rows": self.plan.items} | facts))

    def write_part(self, table: str, rows: Sequence[Row], *, leg: int = 1, seq: int = 0) -> Row:
        """Write a part of a table; give what a receipt says of it."""
        start = self.plan.run_id, self.plan.run_date
        name = layout.runs_name(*start, leg) if table == "runs" else layout.part_name(table, *start, seq, leg)
        return asdict(self.results.create_part(name, table, rows))

    def write_receipt(self, leg: int, ended_by: str, **facts: object) -> None:
        """Write the receipt of a leg, and its end in the log."""
        write_receipt(self.results, self.plan, leg, {"ended_by": ended_by, **facts})

    def end(self, leg: int, ended_by: str, rows: Iterable[tuple[Row, list[Row]]], **facts: object) -> None:
        """Journal finished rows with their calls, and settle the leg: its parts, its receipt and its row in `runs`."""
        journaled = journal.Journal(self.results, self.plan.run_id, leg, "w")
        for row, calls in rows:
            journaled.add(row, calls)
        journaled.flush()
        parts = commit.LegParts.found(self.results, self.plan, leg)
        commit.commit_leg(parts, EndedBy(ended_by), facts)

    def note(self) -> None:
        """Add the run and its legs to all that is derived from runs."""
        history.record_leg(self.results, self.plan)
        latest.refresh(self.results)


def leave_operation(results: Results, run_id: str, kind: str, environment: str, rows: list[Row]) -> None:
    """Leave an operation behind that has these rows of its kind's table; it began when its ID says."""
    began = datetime.strptime(run_id[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    operation_id = f"{run_id[:20]}_{kind}_{run_id[20:]}"
    url = "https://partner.example/v1"
    operation = Operation(operation_id=operation_id, kind=kind, environment=environment, base_url=url, started_at=began)
    results.write_plan(operation)
    begin_leg(results, operation, 1)
    journaled = journal.Journal(results, operation_id, 1, "w", operation.table)
    for row in rows:
        journaled.add({"operation_id": operation_id, "environment": environment} | row, [])
    journaled.flush()
    commit.commit_leg(commit.LegParts(results, operation, 1), EndedBy.COMPLETE, {})


def prune_old(results: Results, days: int, now: datetime) -> list[str]:
    """Prune what is so old, but the newest answers; name the runs of which something went."""
    found = find_prunable(results, days, now)
    return [pruned.run_id for pruned in prune(results, found)]


def wait_less_for_store() -> None:
    """Let this process wait for an answer of its results store for some seconds only."""
    bounded_calls.ANSWER_SECONDS, bounded_calls._SECONDS_WHILE_ONE_HANGS = 6.0, 1.0
