"""Each cause is told once, and remembered only if somebody got it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.alerts.events import AlertKind
from proofsweep.alerts.messages import Alert, WasSent
from proofsweep.alerts.notifier import Decide, Notifier, read_sent
from proofsweep.store.store import open_store

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@dataclass(slots=True)
class Listener:
    """Two who are told; `deaf` of them miss everything."""

    deaf: int = 0
    heard: list[str] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        """Count them."""
        return 2

    def send(self, alerts: Sequence[Alert]) -> list[list[str]]:
        """Hear alerts."""
        self.heard += [alert.subject for alert in alerts]
        self.bodies += [alert.body for alert in alerts]
        return [["slack", "mailto"][: self.deaf] for _ in alerts]


def alert(cause: str) -> Alert:
    """Make an alert of one cause."""
    return Alert(kind=AlertKind.SUNSET, causes=(cause,), subject=cause, body="")


def always(*causes: str) -> Decide:
    """Decide that these hold."""
    return lambda _is_told: [alert(cause) for cause in causes]


Make = Callable[[Listener, datetime], Notifier]


@pytest.fixture
def notifier(tmp_path: Path) -> Make:
    """Make a notifier of one store."""
    store = open_store(str(tmp_path))
    return lambda listener, now: Notifier(store=store, channels=[listener], clock=lambda: now, repeat_days=7.0)


def test_each_cause_is_told_once_by_whichever_process_finds_it(notifier: Make) -> None:
    """The memory is in the store; after seven days a cause that still holds is told again."""
    listener = Listener()

    for days in (0, 1, 6.9, 7.1, 8):
        notifier(listener, NOW + timedelta(days=days)).notify(always("a"))

    assert listener.heard == ["a", "a"]


def test_a_message_ends_with_the_page_that_shows_it(tmp_path: Path) -> None:
    """Of its run, if somebody serves one; only the cause is remembered, so another address tells nothing anew."""
    listener, store, addresses = Listener(), open_store(str(tmp_path)), iter(["https://a.example", "https://b.example"])

    def page_of(told: Alert) -> str:
        return f"{next(addresses)}/runs/{told.run_id}"

    for _ in range(2):
        notifier = Notifier(store=store, channels=[listener], clock=lambda: NOW, repeat_days=7.0, page_of=page_of)
        notifier.notify([replace(alert("a"), run_id="r1")])

    assert listener.bodies == ["\nSee: https://a.example/runs/r1"]


def test_an_alert_that_nobody_got_is_tried_again(notifier: Make) -> None:
    """The next check sends it."""
    deaf, hearing = Listener(deaf=2), Listener()

    first = notifier(deaf, NOW).notify(always("a"))
    second = notifier(hearing, NOW).notify(always("a"))

    assert (first.sent, first.missed) == ([], ["slack", "mailto"])
    assert (second.sent, second.missed) == ([alert("a")], [])


def test_an_alert_that_somebody_got_is_not_sent_twice_to_them(notifier: Make) -> None:
    """The other's name is told in a line of the run."""
    half = Listener(deaf=1)

    first = notifier(half, NOW).notify(always("a"))
    notifier(half, NOW).notify(always("a"))

    assert first.missed == ["slack"]
    assert half.heard == ["a"]


def test_what_is_over_is_forgotten_before_it_is_decided(notifier: Make) -> None:
    """A second outage is told, if there was a good leg between."""
    listener = Listener()

    notifier(listener, NOW).notify(always("a"))
    notifier(listener, NOW).notify(always(), over=["a"])
    notifier(listener, NOW).notify(always("a"))

    assert listener.heard == ["a", "a"]


def test_a_decision_may_ask_what_was_told(notifier: Make) -> None:
    """A message about several suppliers holds only the new ones."""
    listener = Listener()

    def decide(was_sent: WasSent) -> list[Alert]:
        return [alert(cause) for cause in ("a", "b") if not was_sent(cause)]

    notifier(listener, NOW).notify(always("a"))
    notifier(listener, NOW).notify(decide)

    assert listener.heard == ["a", "b"]


def test_a_usual_night_writes_nothing(tmp_path: Path, notifier: Make) -> None:
    """It has nothing to tell."""
    delivery = notifier(Listener(), NOW).notify(always(), over=["a"])

    assert delivery.hold == []
    assert not (tmp_path / "_alerts").exists()


def test_a_receiver_that_fails_in_the_middle_loses_no_other(tmp_path: Path, notifier: Make) -> None:
    """What was sent before is remembered."""
    listener = Listener(deaf=1)

    notifier(listener, NOW).notify(always("a", "b"))

    assert read_sent(open_store(str(tmp_path))).at.keys() == {"a", "b"}


def test_the_daily_digest_needs_no_person(notifier: Make) -> None:
    """It is sent, and is no reason for an exit code."""
    digest = Alert(kind=AlertKind.DIGEST, causes=("d",), subject="d", body="")

    delivery = notifier(Listener(), NOW).notify(lambda _is_told: [digest, alert("a")])

    assert (delivery.sent, delivery.urgent) == ([digest, alert("a")], [alert("a")])
