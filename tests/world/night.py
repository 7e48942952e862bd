"""One world from beginning to end: nights of a catalog, and a last night without any fault."""

import fcntl
import shutil
import tempfile
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from bucket import URL, Bucket
from commands import Commands, Done
from disturbances import Disturbances
from kernel import Process, StuckError, World
from levels import SMALL_BELOW
from loading import Surroundings, set_sizes
from mount import FOLDER, Mount
from music import Music
from operations import OLD_SECONDS, Operation, Operations
from partner import HOST, KEY, Partner

from proofsweep.config.load import Settings, load_settings
from proofsweep.sources.selection import ALL_ROWS, Selection

_LEVELS_WITH_LISTS = {"kills", "two", "clocks", "lag", "all"}  # other catalogs of partly the same files
_SIZES = ((25_000, 10_000, 200), (1, 3, 2), (2, 2, 2), (1, 10_000, 200))  # of parts, batches and small runs
_LONGEST_SECONDS = 4 * 3600.0  # of virtual time, that one command may take
_NAMED_SHARE = 0.5  # of those who resume name the run
_APART_SHARE = 0.7  # of the runs with partitions have a process for each of them
_ATTEMPTS, _ATTEMPTS_OF_SMALL = 5, 3  # in one night, each after a fault
_LAST_ATTEMPTS = 4  # after all faults: each may go on with one unfinished run
_BETWEEN_SECONDS = 6 * 3600.0  # two nights
Found = TypeVar("Found")
_CONFIG = """
[service]
base_url = "http://{host}/v1"
environment = "beta"
api_key_file = "{folder}/key"
sidecar_field = "sidecar"
allow_plain_http = true
[catalog.columns]
id = "id"
[results]
url = "{results}"
must_exist = {must_exist}
[pace]
workers = 4
first_rate = {first_rate}
"""


@dataclass
class Night:
    """Plays the world of a level and a seed. `files` overrides how many there are; events in `without` are left out."""

    level: str
    seed: int
    files: int | None = None
    without: Collection[int] = ()
    done: list[Done] = field(default_factory=list)
    running: list[tuple[Process, Commands]] = field(default_factory=list)
    has_withdrawn: bool = False
    last: Done | None = None  # what the last verify told, after all faults

    def __post_init__(self) -> None:
        self.world = World(f"{self.level} {self.seed}")
        self.random, self.lists = self.world.stream("night"), self.world.stream("lists")
        rate, burst = self.random.choice(((200.0, 50.0), (40.0, 20.0), (20.0, 5.0), (6.0, 3.0)))
        sizes = _SIZES[1:3] if self.level == "two" else _SIZES  # only these have several batches, and so partitions
        set_sizes(*self.world.stream("sizes").choice(sizes))
        self.partner = Partner(rate=rate, burst=burst)
        self.bucket = Bucket()
        Surroundings.partner, Surroundings.bucket = self.partner, self.bucket
        # A share that may go, with the settings of nights; the others are buckets, which nobody unmounts.
        is_either = self.level == "all" and self.world.stream("mount").random() < 0.5
        self.is_mounted = self.level == "mounts" or is_either
        self.url = FOLDER if self.is_mounted else URL
        if self.is_mounted:
            Mount.begin(self.bucket)
        self.folder = Path(tempfile.gettempdir(), "proofsweep-world", f"{self.level}-{self.seed}")
        self.folder.parent.mkdir(exist_ok=True)
        self._lock = self.folder.with_suffix(".lock").open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)  # the same world may be played by another process, at the same place
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        self.music = Music(self.folder / "music", self.partner)
        self.operations = Operations(self.world, self.music, self.partner, self.is_small)
        self.settings = self._settings(rate)
        drawn = self.random.randint(4, 5) if self.is_small else self.random.randint(6, 12)
        self.music.make(self.files or drawn)
        self.disturbances = Disturbances(
            self.level,
            self.world,
            self.partner,
            self.bucket,
            self.music,
            self.without,
            drop_folder=self.operations.drop_folder,
            is_mounted=self.is_mounted,
        )
        if self.operations.drop_folder is not None and self.level in {"mounts", "all"}:
            self.operations.drop_folder.mount()

    def _settings(self, rate: float) -> Settings:
        (self.folder / "key").write_text(KEY)
        config = self.folder / "config.toml"
        first_rate = self.random.choice((6.0, rate))
        shown = {"host": HOST, "folder": self.folder, "results": self.url, "first_rate": first_rate}
        shown["must_exist"] = str(self.is_mounted).lower()
        config.write_text(_CONFIG.format(**shown) + self.operations.config)
        return load_settings(str(config))

    @property
    def is_small(self) -> bool:
        return self.seed < SMALL_BELOW

    # --- The whole

    def play(self) -> None:
        """Play all nights until all faults are over; StuckError if something never ends."""
        self.nights = self.random.randint(1, 1 if self.is_small else 3)
        if self.operations.needs_old_nights:
            self.nights = max(2, self.nights)
        for number in range(self.nights):
            if number:
                self._change_the_catalog()
            self.disturbances.of_night()
            self.operations.of_night()
            self._work()
            self._pass_time(self.random.choice((30.0, 600.0, _BETWEEN_SECONDS)))
            if self.operations.needs_old_nights:
                self._pass_time(OLD_SECONDS)
        self._calm()
        if self.lists.random() < 0.5:
            self._change_the_catalog()

    def play_last(self) -> None:
        """Play one more night, in which nothing is disturbed: verify until a run is made that had not begun before."""
        begun = {key.split("/")[2] for key in self.bucket.objects if key.endswith("/plan.json")}
        for number in range(_LAST_ATTEMPTS):
            self.last = self._run(lambda commands: commands.verify(self.music.folder), f"last{number}")
            if not begun & {*self.last.runs}:  # else it went on with an unfinished run first
                break
            self._pass_time(60.0)
        for kind, work, wait in self.operations.at_the_end():
            self._pass_time(wait)
            self._begin_beside(f"last-{kind}", work, 0.0, is_threatened=False)
            self._wait_for([self.operations.begun[-1].process])

    def asked(self, question: Callable[[], Found]) -> Found:
        """Let a process of its own answer a question about the world, such as by what commands tell."""
        answers: list[Found] = []
        process = self.world.process("question")
        self.world.run_process(process, lambda: answers.append(question()))
        self._wait_for([process])
        if process.error is not None:
            raise process.error
        return answers[0]

    def close(self) -> None:
        self.world.end()
        shutil.rmtree(self.folder, ignore_errors=True)
        self._lock.close()

    def _work(self) -> None:
        """Let commands work on the catalog until one tells that all is done, or they tried often enough."""
        for attempt in range(_ATTEMPTS_OF_SMALL if self.is_small else _ATTEMPTS):
            processes = self._start(attempt)
            self._wait_for(processes)
            told = [done for done in self.done if done.by in processes]
            if len(told) == len(processes) and all(done.is_whole for done in told):
                return
            self._pass_time(self.random.choice((0.5, 5.0, 45.0)))

    def _start(self, attempt: int) -> list[Process]:
        most = 2 if self.is_small else 3
        count = self.random.randint(2, most) if self.disturbances.has("two", "gateway") else 1
        processes = []
        for number in range(count):
            work = self._drawn_command(attempt)
            delay = self.random.choice((0.0, 0.0, self.random.uniform(0.0, 3.0)))
            processes.append(self._process(work, f"p{len(self.running) + 1}", delay if number else 0.0))
        for kind, work, delay in self.operations.beside():
            self._begin_beside(f"{kind}{len(self.running) + 1}", work, delay)
        return processes

    def _begin_beside(
        self, name: str, work: Callable[[Commands], Done], delay: float, *, is_threatened: bool = True
    ) -> None:
        """Let a command begin beside those that verify; nobody waits for it."""
        told: list[Done] = []
        process = self._process(work, name, delay, told=told, is_threatened=is_threatened)
        kind = name.removeprefix("last-").rstrip("0123456789")
        self.operations.begun.append(Operation(kind, process, told))

    def _drawn_command(self, attempt: int) -> Callable[[Commands], Done]:
        location = self.music.folder
        if attempt and self.random.random() < 0.4:
            return self._drawn_resume()
        if attempt and self.level in _LEVELS_WITH_LISTS and self.lists.random() < 0.1:
            return lambda commands: commands.stop(for_good=True)
        partitions = self.random.choice((1, 2, 3)) if self.disturbances.has("two", "gateway") else 1
        apart = self.world.stream("apart")
        is_apart = partitions > 1 and apart.random() < _APART_SHARE
        partitions = apart.choice((2, 3) if self.is_small else (2, 6)) if is_apart else partitions
        choices = [ALL_ROWS, ALL_ROWS, Selection(since_last=True), Selection(max_age="1d")]
        selection = self.random.choice(choices)
        if self.level in _LEVELS_WITH_LISTS and self.lists.random() < 0.3:
            location = self._drawn_list()
        allowed = self.operations.allowance()

        def verify(commands: Commands) -> Done:
            commands.begin_workers = self._begin_workers if is_apart else None
            return commands.verify(location, selection, partitions=partitions, allowed=allowed)

        return verify

    def _drawn_resume(self) -> Callable[[Commands], Done]:
        """Resume the run that was worked on last by its ID, or whichever is unfinished."""
        worked_on = [run_id for _, commands in self.running for run_id in commands.runs]
        if worked_on and self.world.stream("apart").random() < _NAMED_SHARE:
            return lambda commands: commands.resume(worked_on[-1])
        return Commands.resume

    def _begin_workers(self, run_id: str, partitions: list[int]) -> list[Process]:
        """Begin a process for each partition of a run, all in the same moment."""
        return [self._begin_worker(run_id, partition, len(partitions)) for partition in partitions]

    def _begin_worker(self, run_id: str, partition: int, sharers: int) -> Process:
        name = f"p{len(self.running) + 1}"
        return self._process(lambda commands: commands.work_beside_others(run_id, partition, sharers), name)

    def _drawn_list(self) -> Path:
        """Write a list of some of the songs: another catalog, whose files are partly the same."""
        there = self.music.there
        songs = self.lists.sample(there, self.lists.randint(1, len(there)))
        return self.music.write_list(f"list-{self.lists.randint(1, 2)}.csv", songs)

    # --- Processes

    def _process(
        self,
        work: Callable[[Commands], Done],
        name: str,
        delay: float = 0.0,
        *,
        told: list[Done] | None = None,
        is_threatened: bool = True,
    ) -> Process:
        told = self.done if told is None else told
        host = self.random.choice(self.disturbances.hosts)
        process = self.world.process(name, host=host, skew=self.disturbances.skews[host])
        commands = Commands(self.settings)
        self.running.append((process, commands))

        def begin() -> None:
            self.world.tell("BEGINS on", host, of=process)
            self.world.run_process(process, lambda: told.append(work(commands)))

        self.world.at(self.world.now + delay, begin)
        if is_threatened:
            threaten = self.disturbances.threaten_pass if name.startswith("ingest") else self.disturbances.threaten
            threaten(process, delay)
        return process

    def _run(self, work: Callable[[Commands], Done], name: str) -> Done:
        before = len(self.done)
        process = self.world.process(name, host="one")
        commands = Commands(self.settings)
        self.running.append((process, commands))
        self.world.run_process(process, lambda: self.done.append(work(commands)))
        self._wait_for([process])
        return self.done[before] if len(self.done) > before else Done(f"{name} told nothing")

    def _wait_for(self, processes: list[Process]) -> None:
        late = self.world.now + _LONGEST_SECONDS
        left = list(processes)

        def are_over() -> bool:
            while left and left[-1].is_over:
                left.pop()
            return not left

        self.world.run(late, are_over)
        stuck = [str(process) for process in processes if not process.is_over]
        if stuck:
            raise StuckError(f"{', '.join(stuck)} did not end in {_LONGEST_SECONDS / 3600:.0f} h")

    def _pass_time(self, seconds: float) -> None:
        until = self.world.now + seconds
        self.world.at(until, lambda: None)
        self.world.run(until, lambda: self.world.now >= until)

    def _change_the_catalog(self) -> None:
        """Let files come, go and change between two nights, and proofs be withdrawn."""
        music, random = self.music, self.music.random
        self.disturbances.give_music()
        if random.random() < 0.5:
            music.add()
        there = music.there
        if random.random() < 0.3 and len(there) > 6:
            music.remove(random.choice(there))
        if random.random() < 0.4:
            music.change(random.choice(music.there))
        # Of few files, a second one that is refused is a registry that is wrong.
        if random.random() < 0.4 and not self.has_withdrawn and "erase" not in self.operations.kinds:
            withdrawn = random.choice(music.there)
            self.world.tell("withdrawn", withdrawn.name)
            self.partner.judgements[withdrawn.key].verdict = "unregistered"
            self.has_withdrawn = True

    def _calm(self) -> None:
        """End all faults, and let what they left behind become old."""
        world = self.world
        self.disturbances.end()
        for process, _ in self.running:
            process.dies_at_write = process.dies_at_step = process.fails_at_request = None
        self._pass_time(400.0)  # whoever was frozen goes on, and ends
        self._wait_for([process for process, _ in self.running])
        self._pass_time(120.0)
        world.tell("CALM", of="world")
