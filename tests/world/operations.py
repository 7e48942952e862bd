"""What else a world does besides verifying its catalog, drawn by a chance of its own.

A world has some kinds of commands, or none: then it is the same world as one without this module.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from commands import Allowance, Commands, Done
from drop_folder import DropFolder
from kernel import Process, World
from music import Music
from partner import Partner

KINDS = ("ingest", "erase", "prune", "refresh", "status", "stop", "bounds")
_NONE_SHARE, _NONE_SHARE_OF_SMALL = 0.5, 0.7  # of the worlds that only verify
_SHARES = {"bounds": 0.0, "ingest": 0.8, "status": 0.3}  # in which a kind begins, of the attempts at a night
_USUAL_SHARE = 0.4
_PRUNED_DAYS = 1
_LONGEST_DELAY = 6.0  # seconds, until a command begins beside others
_LONGEST_REST = 2 * 86_400.0  # of a file that failed, until it is tried again
OLD_SECONDS = 2 * 86_400.0  # since a run ended that may be pruned
Work = Callable[[Commands], Done]


@dataclass(slots=True)
class Operation:
    """A command beside the verifying, and what it told."""

    kind: str
    process: Process
    done: list[Done] = field(default_factory=list)

    @property
    def was_hindered(self) -> bool:
        return self.process.is_dead or self.process.was_frozen or not self.done or self.done[0].error is not None


@dataclass
class Operations:
    """Draws the commands of one world."""

    world: World
    music: Music
    partner: Partner
    is_small: bool
    begun: list[Operation] = field(default_factory=list)
    wanted: list[str] = field(default_factory=list)  # proofs that somebody wants to be erased
    drop_folder: DropFolder | None = None

    def __post_init__(self) -> None:
        self.random = self.world.stream("operations")
        share, most = (_NONE_SHARE_OF_SMALL, 1) if self.is_small else (_NONE_SHARE, 4)
        count = 0 if self.random.random() < share else self.random.randint(1, most)
        drawn = self.random.sample((*KINDS, "ingest"), count)  # a watched folder has more to show than the others
        self.kinds = list(dict.fromkeys(drawn))
        if self.kinds:
            self.world.tell("operations:", *self.kinds, of="world")
        if "ingest" in self.kinds:
            self.drop_folder = DropFolder(self.music.folder.parent, self.music)

    @property
    def config(self) -> str:
        return "" if self.drop_folder is None else self.drop_folder.config

    @property
    def needs_old_nights(self) -> bool:
        return "prune" in self.kinds

    def of_night(self) -> None:
        """Draw what suppliers deliver in this night, and which proofs are to be erased in it."""
        if self.drop_folder is not None:
            self.drop_folder.expect(self.world.now)
        if "erase" in self.kinds:
            proofs = [song.proof for song in self.music.songs]
            self.wanted += self.random.sample(proofs, self.random.randint(1, 3))
            self.wanted += ["p-of-nobody"]
            self.wanted = list(dict.fromkeys(self.wanted))

    def beside(self) -> list[tuple[str, Work, float]]:
        """Draw commands that begin while others work: each with its kind, and after how many seconds."""
        chosen = [kind for kind in self.kinds if self.random.random() < _SHARES.get(kind, _USUAL_SHARE)]
        return [(kind, self._work_of(kind), self.random.uniform(0.0, _LONGEST_DELAY)) for kind in chosen]

    def _work_of(self, kind: str) -> Work:
        random = self.random
        if kind == "ingest":
            return self._ingest(random.choice((1, 2, 3)))
        if kind == "erase":
            return self._erase()
        if kind == "prune":
            return lambda commands: commands.prune(_PRUNED_DAYS)
        if kind == "refresh":
            return Commands.refresh
        if kind == "status":
            return Commands.look
        for_good = random.random() < 0.3
        return lambda commands: commands.stop(for_good=for_good)

    def _ingest(self, passes: int) -> Work:
        assert self.drop_folder is not None
        folder = self.drop_folder.folder
        return lambda commands: commands.ingest(folder, passes)

    def _erase(self) -> Work:
        proofs = tuple(self.wanted)
        return lambda commands: commands.erase(proofs)

    def allowance(self) -> Allowance | None:
        """Draw what a verify may spend; None if it may spend all."""
        if "bounds" not in self.kinds or self.random.random() < 0.3:
            return None
        match self.random.choice(("max_calls", "window", "reserve")):
            case "max_calls":
                return Allowance(max_calls=self.random.randint(3, 20))
            case "window":
                return Allowance(seconds=self.random.randint(1, 2))
            case _:
                return Allowance(of_quota=self.random.randint(3, 20))

    def at_the_end(self) -> list[tuple[str, Work, float]]:
        """Name the commands that bring all in order after the last fault, each with how long to wait before it."""
        ends: list[tuple[str, Work, float]] = []
        if "ingest" in self.kinds:
            ends += [("ingest", self._ingest(1), 0.0), ("ingest", self._ingest(1), _LONGEST_REST)]
        if "erase" in self.kinds:
            ends.append(("erase", self._erase(), 0.0))
        if "prune" in self.kinds:
            ends.append(("prune", self._work_of("prune"), OLD_SECONDS))
        if "refresh" in self.kinds:
            ends.append(("refresh", Commands.refresh, 0.0))
        if "status" in self.kinds:
            ends.append(("status", Commands.look, 0.0))
        return ends
