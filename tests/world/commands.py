"""What a process of a world does: each command as the program does it, without Prefect and the terminal."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from kernel import Process, current_process, here
from loading import Surroundings
from virtual_threads import futures, time

from proofsweep.app import App
from proofsweep.audit.prune import find_prunable, prune
from proofsweep.config.load import Settings
from proofsweep.config.threads import sleep, utc_now
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import NothingDue, ProofsweepError, ResultsError, RunIsActive, RunMustStop, UsageError
from proofsweep.domain.runs import INGEST, Bounds
from proofsweep.ingest.one_pass import IngestPass
from proofsweep.ingest.watched_folder import WatchedFolder
from proofsweep.operations.erase import ProofList, erase_proofs
from proofsweep.queries.status import describe_run, only_active_run, stop_run
from proofsweep.queries.store_status import store_status
from proofsweep.sources.selection import ALL_ROWS, Selection
from proofsweep.store.latest import refresh
from proofsweep.verify.attempt import recover_last_legs, supersede, unfinished_partitions
from proofsweep.verify.resume import unfinished_runs
from proofsweep.verify.worker import verify_batch, work_last

_BATCHES_AT_ONCE = 2
_LOOK_SECONDS = 0.5  # between two looks at the processes of partitions
_BETWEEN_PASSES = 60.0
_STOP_SECONDS = 60.0
UNFINISHED = "unfinished"  # the state of an operation that is to be repeated


@dataclass
class Done:
    """What a command told when it ended."""

    command: str
    by: Process | None = field(default_factory=current_process)
    runs: list[str] = field(default_factory=list)
    states: list[str] = field(default_factory=list)  # of its runs, as it saw them last
    error: ProofsweepError | None = None
    is_nothing_due: bool = False

    @property
    def is_whole(self) -> bool:
        return self.error is None and all(state == EndedBy.COMPLETE for state in self.states)

    def __str__(self) -> str:
        if self.error is not None:
            return f"{self.command}: {type(self.error).__name__}: {self.error.message}"
        return f"{self.command}: {'nothing due' if self.is_nothing_due else ', '.join(self.states)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What a person lets one verify spend; None where there is no limit."""

    max_calls: int | None = None
    seconds: int | None = None  # until its window closes
    of_quota: int | None = None  # calls, of those that the quota has left when it begins; the others are the reserve


@dataclass(slots=True, kw_only=True)
class WorkedLeg:
    """A leg that a process began, in seconds of the world."""

    run_id: str
    number: int
    bounds: Bounds
    allowed: Allowance
    began_at: float
    ended_at: float | None = None


class Commands:
    """The commands of one process."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.runs: list[str] = []  # that it began to work on, even if it was killed
        # begins a process for each of some partitions of a run, as Dask does; None to work on them in turn.
        self.begin_workers: Callable[[str, list[int]], list[Process]] | None = None
        self.legs: list[WorkedLeg] = []
        self.allowed = Allowance()
        self.given_up: list[str] = []  # runs that it was to end for good

    def verify(
        self, location: Path, selection: Selection = ALL_ROWS, *, partitions: int = 1, allowed: Allowance | None = None
    ) -> Done:
        self.allowed = allowed or self.allowed
        done = Done(f"verify {location.name} {selection.text}")
        app = App(self._settings_for(partitions))
        try:
            for run_id, bounds in app.runs_of_catalog(None, str(location), self._bounds(app), selection):
                self._work_on(app, run_id, bounds, done)
        except NothingDue:
            done.is_nothing_due = True
        except ProofsweepError as error:
            done.error = error
        finally:
            app.close()
        return _told(done)

    def resume(self, run_id: str | None = None) -> Done:
        done = Done("resume")
        app = App(self.settings)
        try:
            newest = app.run_to_resume() if run_id is None else app.results.plan(run_id)
            if newest is not None:
                self._work_on(app, newest.run_id, self._bounds(app), done)
        except ProofsweepError as error:
            done.error = error
        finally:
            app.close()
        return _told(done)

    def _settings_for(self, partitions: int) -> Settings:
        settings = self.settings.model_copy(update={"partitions": partitions})
        if self.allowed.of_quota is None:
            return settings
        reserve = max(0, Surroundings.partner.quota - self.allowed.of_quota)
        return settings.model_copy(update={"bounds": settings.bounds.model_copy(update={"reserve": reserve})})

    def _bounds(self, app: App) -> Bounds:
        until = None
        if self.allowed.seconds is not None:
            until = f"{utc_now() + timedelta(seconds=self.allowed.seconds):%Y-%m-%dT%H:%M:%S}Z"
        return app.bounds(max_calls=self.allowed.max_calls, until=until)

    def _work_on(self, app: App, run_id: str, bounds: Bounds, done: Done) -> None:
        done.runs.append(run_id)
        self.runs.append(run_id)
        plan = app.results.plan(run_id)
        partitions = [0]
        if plan.partitions > 1:
            recover_last_legs(app.results, plan, app.planner.clock)
            partitions = unfinished_partitions(app.results, plan)
        if plan.partitions > 1 and self.begin_workers is not None:
            workers = self.begin_workers(run_id, partitions)
            while not all(worker.is_over for worker in workers):
                time.sleep(_LOOK_SECONDS)
        else:
            for partition in partitions:
                self.work_on_partition(app, run_id, partition, bounds)
        done.states.append(str(describe_run(app.results, run_id).ended_by))

    def work_beside_others(self, run_id: str, partition: int, sharers: int) -> Done:
        """Work on one partition of a run that another process has begun, while others work on the rest."""
        done = Done(f"partition {partition} of {run_id}")
        self.runs.append(run_id)
        app = App(self.settings)
        try:
            self.work_on_partition(app, run_id, partition, app.bounds(), sharers)
        except ProofsweepError as error:
            done.error = error
        finally:
            app.close()
        return _told(done)

    def work_on_partition(self, app: App, run_id: str, partition: int, bounds: Bounds, sharers: int = 1) -> None:
        """Work on the next leg of a partition; a leg that stops has said why in its receipt."""
        began_at = here().now
        with app.attempt(run_id, partition=partition, sharers=sharers, bounds=bounds) as leg:
            worked = WorkedLeg(run_id=run_id, number=leg.number, bounds=bounds, allowed=self.allowed, began_at=began_at)
            self.legs.append(worked)
            with futures.ThreadPoolExecutor(_BATCHES_AT_ONCE) as pool:
                list(pool.map(lambda rows: verify_batch(leg, rows), leg.completed.batches()))
            work_last(leg)
        worked.ended_at = here().now

    # --- A watched folder

    def ingest(self, folder: Path, passes: int = 1) -> Done:
        """Make passes over a watched folder. Of several, one goes on after what may be over at the next one."""
        done = Done(f"ingest {folder.name}")
        app = App(self.settings)
        try:
            with app.watched_folder(str(folder)) as watched:
                for number in range(passes):
                    if number:
                        sleep(_BETWEEN_PASSES)
                    self._pass(app, watched, done, goes_on=number + 1 < passes)
        except ProofsweepError as error:
            done.error = error
        finally:
            app.close()
        return _told(done)

    def _pass(self, app: App, watched: WatchedFolder, done: Done, *, goes_on: bool) -> None:
        one_pass = IngestPass(watched)
        try:
            for run_id in one_pass.runs():
                self._work_on(app, run_id, app.bounds(), done)
        except (RunMustStop, RunIsActive, ResultsError):
            if not goes_on or watched.term.is_lost():
                raise
        here().tell(one_pass.report.line(watched.path))

    # --- What else a person does with a store

    def erase(self, proofs: Sequence[str]) -> Done:
        def ask(app: App, done: Done) -> None:
            report = erase_proofs(app.operations(), ProofList(tuple(proofs)))
            is_whole = report.stopped is None and not report.failed and not report.not_asked
            done.states.append(str(EndedBy.COMPLETE) if is_whole else UNFINISHED)

        return self._do("erase", ask)

    def prune(self, days: int) -> Done:
        def delete(app: App, _done: Done) -> None:
            found = find_prunable(app.results, days, app.service.asked_clock(), app.environment)
            here().tell("prunes", *(each.run_id for each in prune(app.results, found)))

        return self._do("prune", delete)

    def refresh(self) -> Done:
        return self._do("refresh", lambda app, _done: refresh(app.results))

    def look(self) -> Done:
        """Look at the whole store, at the last run of each catalog, and at what is unfinished."""

        def show(app: App, _done: Done) -> None:
            for catalog in store_status(app.results, utc_now()).catalogs:
                run = describe_run(app.results, catalog.last_run)
                here().tell("status", catalog.last_run, run.state, run.finished, "of", run.plan.items)
            list(unfinished_runs(app.results))

        return self._do("status", show)

    def stop(self, *, for_good: bool = False) -> Done:
        """Stop the one active run; or give the newest unfinished one up."""
        return self._do("stop for good" if for_good else "stop", self._give_up if for_good else self._stop)

    def _stop(self, app: App, _done: Done) -> None:
        run_id = only_active_run(app.results, app.environment)
        if run_id is None:
            raise UsageError("There is nothing to stop.")
        here().tell("stopped", run_id, stop_run(app.results, run_id, _STOP_SECONDS).run.state)

    def _give_up(self, app: App, done: Done) -> None:
        plan = next(unfinished_runs(app.results), None)
        if plan is None:
            raise UsageError("There is nothing to stop.")
        if plan.catalog_kind == INGEST:
            raise UsageError("A pass goes on with it.")
        stopped = stop_run(app.results, plan.run_id, _STOP_SECONDS)
        if (stopped.has_ended or stopped.is_silent) and not stopped.run.is_over:
            self.given_up.append(plan.run_id)
            supersede(app.results, stopped.run.plan, utc_now, is_given_up=True)
            done.states.append(str(EndedBy.SUPERSEDED))

    def _do(self, name: str, work: Callable[[App, Done], object]) -> Done:
        done = Done(name)
        app = App(self.settings)
        try:
            work(app, done)
        except ProofsweepError as error:
            done.error = error
        finally:
            app.close()
        return _told(done)


def _told(done: Done) -> Done:
    here().tell("ENDS", done)
    return done
