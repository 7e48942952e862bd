"""What a process of a world does: each command as the program does it, without Prefect and the terminal."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from kernel import Process, current_process, here
from virtual_threads import futures, time

from proofsweep.app import App
from proofsweep.config import threads
from proofsweep.config.load import Settings
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import NothingDue, ProofsweepError
from proofsweep.domain.runs import Bounds
from proofsweep.queries.status import describe_run, unfinished_runs
from proofsweep.sources.selection import ALL_ROWS, Selection
from proofsweep.store.lease import legs_of, open_legs
from proofsweep.verify.attempt import settle_last_legs, unfinished_partitions
from proofsweep.verify.worker import verify_batch, work_last

_BATCHES_AT_ONCE = 2
_LOOK_SECONDS = 0.5  # between two looks at the processes of partitions


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


class Commands:
    """The commands of one process."""

    def __init__(self, settings: Settings, max_calls: int | None = None, window_seconds: float | None = None) -> None:
        self.settings = settings
        self.runs: list[str] = []  # that it began to work on, even if it was killed
        # begins a process for each of some partitions of a run, as Dask does; None to work on them in turn.
        self.begin_workers: Callable[[str, list[int]], list[Process]] | None = None
        self.stopped: list[tuple[int, float]] = []  # which processes it asked to stop, and when
        self.max_calls, self.window_seconds = max_calls, window_seconds
        self.closes_at: float | None = None  # its window, in seconds of the world

    def _bounds(self, app: App) -> Bounds:
        """Return what this process may do from now on: a window is told by its own clock."""
        bounds = app.bounds(max_calls=self.max_calls)
        if self.window_seconds is None:
            return bounds
        self.closes_at = here().now + self.window_seconds
        return replace(bounds, closes_at=threads.utc_now() + timedelta(seconds=self.window_seconds))

    def verify(self, location: Path, selection: Selection = ALL_ROWS, *, partitions: int = 1) -> Done:
        settings = self.settings.model_copy(update={"partitions": partitions})
        done = Done(f"verify {location.name} {selection.text}")
        app = App(settings)
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

    def stop(self) -> Done:
        """Ask all legs that are at work to stop, as a person does."""
        done, app = Done("stop"), App(self.settings)
        try:
            for plan in unfinished_runs(app.results):
                for leg in open_legs(app.results.store, plan):
                    legs_of(app.results.store, plan)[0].ask_to_stop(leg)
                    self.stopped.append((leg.holder.pid, here().now))
        except ProofsweepError as error:
            done.error = error
        finally:
            app.close()
        return _told(done)

    def _work_on(self, app: App, run_id: str, bounds: Bounds, done: Done) -> None:
        done.runs.append(run_id)
        self.runs.append(run_id)
        plan = app.results.plan(run_id)
        partitions = [0]
        if plan.partitions > 1:
            settle_last_legs(app.results, plan, app.planner.clock)
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

    @staticmethod
    def work_on_partition(app: App, run_id: str, partition: int, bounds: Bounds, sharers: int = 1) -> None:
        """Work on the next leg of a partition; a leg that stops has said why in its receipt."""
        with app.attempt(run_id, partition=partition, sharers=sharers, bounds=bounds) as leg:
            with futures.ThreadPoolExecutor(_BATCHES_AT_ONCE) as pool:
                list(pool.map(lambda rows: verify_batch(leg, rows), leg.completed.batches()))
            work_last(leg)


def _told(done: Done) -> Done:
    here().tell("ENDS", done)
    return done
