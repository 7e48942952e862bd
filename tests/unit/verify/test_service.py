"""What can be known of the service before anything is spent; and threads are made as its items need them."""

import resource
import threading
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from proofsweep.config.sections import RetrySettings
from proofsweep.config.threads import StopSwitch, monotonic
from proofsweep.domain.errors import ConfigError, ProofsweepError, RunMustStop
from proofsweep.domain.exchanges import Call, Failure
from proofsweep.verify.service import Service, ServiceStatus
from proofsweep.verify.workers import Workers, workers_that_fit

from ...worlds.waiting import wait_for
from ..scripted_service import NOW, Scripted, ScriptedService

RESET = NOW + timedelta(hours=30)
NO_CONNECTION = Scripted(status=None)
FIREWALL = Scripted(status=403)  # the service's own has an error code


def test_a_healthy_service_tells_its_version_and_the_quota(opened: Service, service: ScriptedService) -> None:
    """One call of each kind, which belongs to no row, once; the live headroom is the header's, not the body's."""
    health = {"ok": True, "version": "7", "commit": "c0ffee", "deployedAt": NOW.isoformat()}
    usage = {"plan": {"quotaLimit": 1000}, "days": [{"date": "2026-11-20", "used": 5, "remaining": 5}]}
    service.script[Call.HEALTH] = [Scripted(document=health)]
    service.script[Call.USAGE] = [Scripted(document=usage, remaining=900, reset=RESET)]

    status = opened.status()

    assert status == ServiceStatus(version="7", commit="c0ffee", deployed_at=NOW, headroom=900, quota_reset=RESET)
    assert opened.usable() is opened.status() is status
    assert service.calls == [exchange.call for exchange in opened.unattributed] == [Call.HEALTH, Call.USAGE]


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(30.0, ""), (3_600.0, "3,600 s behind the service's"), (-86_400.0, "86,400 s ahead of the service's")],
)
def test_a_clock_that_differs_by_more_than_a_minute_is_told_once(
    opened: Service, capsys: pytest.CaptureFixture[str], seconds: float, told: str
) -> None:
    moment = monotonic()
    opened.clock.record(NOW + timedelta(seconds=seconds), moment, moment)

    opened.status()
    opened.status()

    line = f"proofsweep: this machine's clock is {told}, which counts for answers and runs\n"
    said = [each for each in capsys.readouterr().err.splitlines(keepends=True) if "New results store" not in each]
    assert said == ([line] if told else [])


@pytest.mark.parametrize(
    ("answer", "headroom", "reset"),
    [
        (Scripted(status=429, remaining=0, retry_after=3_600.0, reset=RESET), 0, RESET),
        *((answer, None, None) for answer in (NO_CONNECTION, Scripted(status=500), FIREWALL, Scripted(document={}))),
    ],
)
def test_a_quota_that_is_not_told_is_unknown_unless_it_refuses_the_very_call(
    opened: Service, service: ScriptedService, answer: Scripted, headroom: int | None, reset: datetime | None
) -> None:
    """A run can begin without it: None is no zero. A used-up one tells when it resets."""
    service.usual[Call.USAGE] = answer

    status = opened.status()

    assert (status.version, status.headroom, status.quota_reset) == ("7", headroom, reset)
    assert service.calls[:2] == [Call.HEALTH, Call.USAGE]


@pytest.mark.parametrize(("throttled", "headroom"), [(1, 900), (2, 0)])
def test_a_reading_that_is_throttled_for_a_moment_is_asked_again_before_it_counts(
    opened: Service, service: ScriptedService, throttled: int, headroom: int
) -> None:
    """A busy lane says that no call remains, as a spent quota does."""
    service.script[Call.USAGE] = [Scripted(status=429, remaining=0, retry_after=0.001)] * throttled

    assert opened.status().headroom == headroom
    assert service.calls == [Call.HEALTH, Call.USAGE, Call.USAGE]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Scripted(status=503), RunMustStop),
        (Scripted(status=200, failure=Failure.TIMEOUT), RunMustStop),
        (Scripted(status=200, failure=Failure.CONNECTION), RunMustStop),
        (Scripted(status=None, is_shortage=True), RunMustStop),
        (Scripted(status=200, failure=Failure.BAD_ANSWER), ConfigError),
        (Scripted(status=404), ConfigError),
    ],
)
def test_an_outage_is_told_from_a_wrong_address(
    opened: Service, service: ScriptedService, answer: Scripted, error: type[ProofsweepError]
) -> None:
    """An answer whose body does not come, or not whole, may be the partner's: the service is down, or slow."""
    service.usual[Call.HEALTH] = answer

    with pytest.raises(error) as raised:
        opened.status()

    assert isinstance(raised.value, ConfigError) or getattr(raised.value, "ended_by", None) == "breaker"


@pytest.mark.parametrize(
    ("answer", "ended_by"), [(FIREWALL, "breaker"), (Scripted(status=403, error_code="forbidden"), "key_refused")]
)
def test_a_refused_key_is_told_from_a_firewall_by_the_error_code(
    opened: Service, service: ScriptedService, answer: Scripted, ended_by: str
) -> None:
    """The one is for a person to correct, the other is over sometime."""
    service.usual[Call.PROOFS] = answer

    with pytest.raises(RunMustStop) as stopped:
        opened.answer(lambda partner: partner.proofs())

    assert stopped.value.ended_by == ended_by


@pytest.mark.parametrize(
    ("headroom", "reserve", "sentence"),
    [
        (None, 1_000, ""),
        (3, 0, ""),
        (13, 10, ""),
        (0, 0, "The key's quota is used up; it resets 2026-11-21 18:00 UTC."),
        (2, 0, "The key's quota has too few calls left (2, reserved: 0); it resets"),
        (1_012, 1_010, "The key's quota has too few calls left (1,012, reserved: 1,010); it resets"),
    ],
)
def test_a_leg_begins_with_calls_for_one_item_and_the_last_probe(
    opened: Service, service: ScriptedService, headroom: int | None, reserve: int, sentence: str
) -> None:
    """Or with a quota that is not told; else the sentence says why not, and when to come back."""
    service.usual[Call.USAGE] = Scripted(document={}, remaining=headroom, reset=RESET)

    with pytest.raises(RunMustStop) if sentence else nullcontext() as stopped:
        assert opened.usable(reserve).headroom == headroom

    if stopped is not None:
        assert stopped.value.message.startswith(sentence)
        assert (stopped.value.ended_by, stopped.value.quota_reset) == ("quota", RESET)


def test_a_run_asks_a_service_that_stays_down_with_longer_and_longer_waits(
    opened: Service, service: ScriptedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until its patience is at an end; then it ends as in an outage, and no keyed call was made."""
    waits = list[float]()  # a rest lasts no time, and is added
    monkeypatch.setattr(StopSwitch, "rest", lambda _, seconds: waits.append(seconds))
    opened.retry = RetrySettings(attempts=2, longest_wait_seconds=30.0, breaker_seconds=300.0)
    opened.scheduler.clock = lambda: sum(waits)
    service.usual[Call.HEALTH] = Scripted(status=503)

    with pytest.raises(RunMustStop) as stopped:
        opened.awaited()

    assert stopped.value.ended_by == "breaker"
    assert 300.0 <= sum(waits) <= 301.0
    assert service.calls == [Call.HEALTH] * len(service.calls)
    assert 20 <= len(service.calls) <= 40


def test_a_service_that_was_not_well_when_it_was_asked_the_time_is_asked_again(
    opened: Service, service: ScriptedService
) -> None:
    """The time is asked before a plan, long before a leg begins."""
    service.script[Call.HEALTH] = [Scripted(document={"ok": False})]

    for _ in range(2):
        opened.asked_clock()

    assert opened.status().version == "7"
    assert service.calls == [Call.HEALTH, Call.HEALTH, Call.USAGE]


@dataclass
class Shop:
    """Items that wait for their turn, and then until they may end."""

    workers: Workers
    turns: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    ends: threading.Event = field(default_factory=threading.Event)
    begun: list[int] = field(default_factory=list)

    def work(self, number: int) -> int:
        self.begun.append(number)
        self.turns.acquire()
        self.workers.make_room()
        self.ends.wait()
        return number

    def let_through(self, turns: int) -> None:
        self.ends.set()
        self.turns.release(turns)


@pytest.fixture
def shop() -> Iterator[Shop]:
    """Yield at most 20 threads; those that still work at the end are released."""
    shop = Shop(Workers(20))
    yield shop
    shop.let_through(1_000)
    shop.workers.shutdown()


def test_items_begin_only_as_turns_come_for_them(shop: Shop) -> None:
    """A lane of one call in minutes needs few threads, however many items there are; no lane more than are set."""

    def submit_all() -> None:
        with suppress(RuntimeError):  # the end came first
            for number in range(100):
                shop.workers.submit(shop.work, number)

    threading.Thread(target=submit_all, daemon=True).start()
    wait_for(lambda: len(shop.begun) == 8)

    shop.turns.release(2)
    wait_for(lambda: len(shop.begun) == 10)

    assert shop.begun == list(range(10))
    shop.turns.release(90)
    wait_for(lambda: len(shop.begun) == 20)


def test_items_wait_for_the_threads_that_exist_if_no_other_can_start(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None is lost. Without any thread an item fails, and the next one begins as soon as there is one again."""
    start, left = threading.Thread.start, [0]

    def start_one_of_few(thread: threading.Thread) -> None:
        if left[0] == 0:
            raise RuntimeError("can't start new thread")
        left[0] -= 1
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_one_of_few)
    shop.let_through(31)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        shop.workers.submit(shop.work, 0)
    left[0] = 3

    futures = [shop.workers.submit(shop.work, number) for number in range(30)]

    assert [future.result(10.0) for future in futures] == list(range(30))
    assert left == [0]


@pytest.mark.parametrize(
    ("wanted", "open_files", "workers"),
    [(60, 150, 21), (128, 160, 24), (128, 576, 128), (128, 575, 127), (128, resource.RLIM_INFINITY, 128), (60, 0, 1)],
)
def test_as_many_workers_work_as_have_room_for_their_files(
    monkeypatch: pytest.MonkeyPatch, wanted: int, open_files: int, workers: int
) -> None:
    """Some files are for the rest of the process; one worker always works."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (open_files, open_files))
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)

    assert workers_that_fit(wanted) == workers
