"""What a process of a world does: each command as the program does it, without Prefect and the terminal."""

from dataclasses import dataclass, field
from pathlib import Path

from kernel import here
from virtual_threads import futures

from proofsweep.app import App
from proofsweep.config.load import Settings
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import NothingDue, ProofsweepError
from proofsweep.domain.runs import Bounds
from proofsweep.queries.status import describe_run
from proofsweep.sources.selection import ALL_ROWS, Selection
from proofsweep.verify.attempt import settle_last_legs, supersede, unfinished_partitions
from proofsweep.verify.worker import verify_batch, work_last

_BATCHES_AT_ONCE = 2


@dataclass
class Done:
    """What a command told when it ended."""

    command: str
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

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.runs: list[str] = []  # that it began to work on, even if it was killed
        self.given_up: list[str] = []  # runs

    def verify(self, location: Path, selection: Selection = ALL_ROWS, *, partitions: int = 1) -> Done:
        settings = self.settings.model_copy(update={"partitions": partitions})
        done = Done(f"verify {location.name} {selection.text}")
        app = App(settings)
        try:
            for run_id, bounds in app.runs_of_catalog(None, str(location), app.bounds(), selection):
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
                self._work_on(app, newest.run_id, app.bounds(), done)
        except ProofsweepError as error:
            done.error = error
        finally:
            app.close()
        return _told(done)

    def give_up(self) -> Done:
        """Give up the newest unfinished run, as `stop --for-good` does."""
        done = Done("stop --for-good")
        app = App(self.settings)
        try:
            plan = app.run_to_resume()
            if plan is not None:
                supersede(app.results, plan, app.planner.clock)
                self.given_up.append(plan.run_id)
                done.states.append(str(EndedBy.SUPERSEDED))
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
        for partition in partitions:
            self.work_on_partition(app, run_id, partition, bounds)
        done.states.append(str(describe_run(app.results, run_id).ended_by))

    @staticmethod
    def work_on_partition(app: App, run_id: str, partition: int, bounds: Bounds) -> None:
        """Work on the next leg of a partition; a leg that stops has said why in its receipt."""
        with app.attempt(run_id, partition=partition, bounds=bounds) as leg:
            with futures.ThreadPoolExecutor(_BATCHES_AT_ONCE) as pool:
                list(pool.map(lambda rows: verify_batch(leg, rows), leg.completed.batches()))
            work_last(leg)


def _told(done: Done) -> Done:
    here().tell("ENDS", done)
    return done
