"""Whether the process that holds a leg works on it still, and how far it is, is known by its signs of life."""

import json
import multiprocessing
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.store import layout
from proofsweep.store.heartbeat import STALE_SECONDS, LegProgress, Signs
from proofsweep.store.holder import this_process
from proofsweep.store.objects import FolderStore, json_bytes


@dataclass(slots=True)
class Clock:
    """A host's two clocks, which a test moves; something may happen while one waits."""

    now: datetime = field(default_factory=lambda: datetime(2026, 11, 20, 12, 0, tzinfo=UTC))
    uptime_seconds: float = 100.0
    meanwhile: Callable[[], None] = lambda: None

    def __call__(self) -> datetime:
        return self.now

    def move(self, seconds: float) -> None:
        self.uptime_seconds += seconds
        self.jump(seconds)

    def jump(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def rest(self, seconds: float) -> None:
        self.move(seconds)
        self.meanwhile()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def signs(tmp_path: Path, clock: Clock) -> Signs:
    """The signs of life of this process."""
    return Signs(FolderStore(tmp_path), "r", 1, this_process(clock(), {}), clock)


def of_another(signs: Signs, changes: dict[str, object]) -> Signs:
    """Return the signs of a holder that is this process but for some changes."""
    return replace(signs, holder=replace(signs.holder, **changes))  # type: ignore[arg-type]  # the test's own words


def end(signs: Signs) -> None:
    signs.store.create(layout.receipt_name("r", 1), json_bytes({"ended_by": "quota"}))


def test_a_leg_that_ends_while_it_is_listened_to_is_not_alive(signs: Signs, clock: Clock) -> None:
    elsewhere = of_another(signs, {"machine": "another"})
    clock.jump(3_600)
    clock.meanwhile = lambda: end(signs) if clock.uptime_seconds == 105 else None

    assert not elsewhere.are_alive(clock.rest)
    assert clock.uptime_seconds == 105


def gone_process() -> int:
    """Return the number of a process of this machine that has ended."""
    process = multiprocessing.get_context("spawn").Process(target=int)
    process.start()
    process.join()
    return process.pid or 0


ELSEWHERE = ({"host": "another-host", "machine": "another-host boot"}, {"machine": "host another-boot"})
"""What a lease says of a process whose number means nothing here: containers may share a host name."""


@pytest.mark.parametrize(
    ("changes", "seconds", "is_alive"),
    [
        ({}, 0, True),
        ({}, 30, True),
        ({}, 31, False),
        ({}, -3_600, False),  # from the future: a clock is wrong
        ({"pid": None}, 0, False),  # gone from this machine, at once
        ({"process_started": "1"}, 0, False),  # the number is another process's by now
        *(
            ({"pid": 2**22 + 1} | elsewhere, seconds, seconds < 91)
            for elsewhere in ELSEWHERE
            for seconds in (0, 45, 91)
        ),
    ],
)
def test_a_holder_is_alive_by_its_heartbeat_and_its_process(
    signs: Signs, clock: Clock, changes: dict[str, object], seconds: int, *, is_alive: bool
) -> None:
    """Of a process elsewhere the heartbeat alone tells, by two clocks that may differ."""
    gone = {"pid": gone_process()} if "pid" in changes and not changes["pid"] else {}
    clock.jump(seconds)

    shown = of_another(signs, changes | gone).shown()

    assert shown is not None
    assert shown.is_alive is is_alive


@pytest.mark.parametrize("seconds", [-3 * 3_600, 0, 3 * 3_600])
@pytest.mark.parametrize("where", [{}, *ELSEWHERE])
def test_a_live_leg_is_heard_and_a_killed_one_is_not(
    signs: Signs, clock: Clock, where: dict[str, object], seconds: int
) -> None:
    """Whatever the clocks say, its next heartbeat tells. If none comes, the wait is bounded."""
    held = of_another(signs, where)
    held.beat()
    clock.jump(seconds)
    clock.meanwhile = lambda: held.beat() if clock.uptime_seconds >= 110 else None
    assert held.are_alive(clock.rest)

    clock.meanwhile = lambda: None
    clock.move(31)
    since = clock.uptime_seconds
    assert not held.are_alive(clock.rest)
    assert clock.uptime_seconds <= since + STALE_SECONDS + 1


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff"])
def test_a_heartbeat_that_cannot_be_read_shows_no_life(signs: Signs, clock: Clock, content: bytes) -> None:
    """A power cut may leave it empty."""
    signs.store.create(layout.heartbeat_name("r", 1), content)
    clock.move(31)

    shown = signs.shown()

    assert shown is not None
    assert not shown.is_alive


@pytest.mark.parametrize("content", [b"[]", b"null", b"{"])
def test_a_receipt_that_is_no_object_is_damaged(signs: Signs, content: bytes) -> None:
    """It is not taken for none: the leg would seem to last."""
    signs.store.create(layout.receipt_name("r", 1), content)

    with pytest.raises(ResultsError, match="it is not whole"):
        signs.receipt()


PROGRESS = LegProgress(rows=5_000, finished_before=1_200, counts={"accepted": 30}, rate=1.2345, waiting="a pause")


@pytest.mark.parametrize(
    "document",
    [None, "text", {"rows": 5}, {"rows": 5, "counts": {"accepted": "x"}}, asdict(PROGRESS) | {"waiting": 3}],
)
def test_progress_that_cannot_be_understood_is_none(signs: Signs, document: object) -> None:
    """A display then says that nothing is known, and the sign of life still counts."""
    at = signs.holder.taken_at + timedelta(seconds=5)
    signs.store.create(layout.heartbeat_name("r", 1), json.dumps({"at": at.isoformat(), "progress": document}).encode())

    shown = signs.shown()

    assert shown is not None
    assert (shown.progress, shown.beaten_at) == (None, at)


def test_progress_is_told(signs: Signs) -> None:
    signs.beat(PROGRESS)

    shown = signs.shown()

    assert shown is not None
    assert shown.progress == PROGRESS


def test_machines_of_one_host_name_are_told_apart_without_a_boot_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """As two Macs of one name: a process number says nothing of the other one's processes."""
    read, cards = Path.read_text, iter([1, 2, 1])

    def read_none(path: Path, *given: str, **named: str) -> str:
        if path.name == "boot_id":
            raise FileNotFoundError(path)
        return read(path, *given, **named)

    monkeypatch.setattr(Path, "read_text", read_none)
    monkeypatch.setattr("proofsweep.store.holder.getnode", lambda: next(cards))
    machines = [this_process(datetime(2026, 11, 20, tzinfo=UTC), {}).machine for _ in range(3)]

    assert machines[0] == machines[2] != machines[1]
