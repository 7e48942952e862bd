"""A leg that is asked in the store to stop ends as after Ctrl-C; no other leg does."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.client.stop import StopSwitch
from proofsweep.store.legs import Legs, ask_to_stop, progress_of
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results
from proofsweep.verify.attempt import StopRequests


class CountingStore(FolderStore):
    """A store that counts what is read of requests to stop."""

    reads = 0

    def read(self, name: str) -> bytes | None:
        self.reads += "/stop-" in name
        return super().read(name)


@dataclass
class World:
    """A claimed leg that looks for requests, and the clock it does so by."""

    legs: Legs
    store: CountingStore
    stop: StopSwitch = field(default_factory=StopSwitch)
    seconds: list[float] = field(default_factory=lambda: [100.0])
    aborted: list[float] = field(default_factory=list)

    def requests(self, leg: int) -> StopRequests:
        return StopRequests(
            legs=self.legs,
            leg=leg,
            stop=self.stop,
            drain_seconds=12.0,
            abort=lambda: self.aborted.append(self.seconds[0]),
        )

    def ask(self) -> bool:
        leg = progress_of(self.legs.results, "r")
        assert leg is not None
        return ask_to_stop(self.legs.results, leg)


@pytest.fixture
def world(tmp_path: Path) -> World:
    store, seconds = CountingStore(tmp_path), [100.0]
    legs = Legs(Results(store), "r", lambda: datetime.now(UTC), lambda: seconds[0])
    legs.claim(1)
    return World(legs, store, seconds=seconds)


def test_files_in_flight_have_their_time(world: World) -> None:
    """Then they are abandoned, once; their rows remain."""
    world.ask()
    requests = world.requests(1)

    for _ in range(30):
        requests.look()
        world.seconds[0] += 1.0

    assert world.aborted == [112.0]


def test_a_bucket_is_asked_once_in_four_seconds(world: World) -> None:
    """A leg of a night makes some thousands of such requests, and no more."""
    requests = world.requests(1)

    for _ in range(60):
        requests.look()
        world.seconds[0] += 1.0

    assert world.store.reads == 15


def test_another_claim_of_the_same_leg_is_not_stopped(world: World) -> None:
    """A leg that could not begin is released, and its number claimed again."""
    world.ask()
    world.legs.release(1)
    world.legs.claim(1)

    world.requests(1).look()
    assert world.stop.reason is None
    assert world.ask()
    world.requests(1).look()

    assert world.stop.reason is not None
