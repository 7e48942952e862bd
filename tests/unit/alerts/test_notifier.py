"""Each cause is told once, and remembered only if somebody got it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.alerts.events import AlertKind
from proofsweep.alerts.messages import Alert, IsTold
from proofsweep.alerts.notifier import Decide, Teller, read_told
from proofsweep.store.store import open_store

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@dataclass(slots=True)
class Listener:
    """Two who are told; `deaf` of them miss everything."""

    deaf: int = 0
    heard: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        """Count them."""
        return 2

    def send(self, alerts: Sequence[Alert]) -> list[list[str]]:
        """Hear alerts."""
        self.heard += [alert.subject for alert in alerts]
        return [["slack", "mailto"][: self.deaf] for _ in alerts]


def alert(cause: str) -> Alert:
    """Make an alert of one cause."""
    return Alert(kind=AlertKind.SUNSET, causes=(cause,), subject=cause, body="")


def always(*causes: str) -> Decide:
    """Decide that these hold."""
    return lambda _is_told: [alert(cause) for cause in causes]


Make = Callable[[Listener, datetime], Teller]


@pytest.fixture
def teller(tmp_path: Path) -> Make:
    """Make a teller of one store."""
    store = open_store(str(tmp_path))
    return lambda listener, now: Teller(store=store, channels=[listener], clock=lambda: now, repeat_days=7.0)


def test_each_cause_is_told_once_by_whichever_process_finds_it(teller: Make) -> None:
    """The memory is in the store; after seven days a cause that still holds is told again."""
    listener = Listener()

    for days in (0, 1, 6.9, 7.1, 8):
        teller(listener, NOW + timedelta(days=days)).tell(always("a"))

    assert listener.heard == ["a", "a"]


def test_an_alert_that_nobody_got_is_tried_again(teller: Make) -> None:
    """The next check sends it."""
    deaf, hearing = Listener(deaf=2), Listener()

    first = teller(deaf, NOW).tell(always("a"))
    second = teller(hearing, NOW).tell(always("a"))

    assert (first.sent, first.missed) == ([], ["slack", "mailto"])
    assert (second.sent, second.missed) == ([alert("a")], [])


def test_an_alert_that_somebody_got_is_not_sent_twice_to_them(teller: Make) -> None:
    """The other's name is told in a line of the run."""
    half = Listener(deaf=1)

    first = teller(half, NOW).tell(always("a"))
    teller(half, NOW).tell(always("a"))

    assert first.missed == ["slack"]
    assert half.heard == ["a"]


def test_what_is_over_is_forgotten_before_it_is_decided(teller: Make) -> None:
    """A second outage is told, if there was a good leg between."""
    listener = Listener()

    teller(listener, NOW).tell(always("a"))
    teller(listener, NOW).tell(always(), over=["a"])
    teller(listener, NOW).tell(always("a"))

    assert listener.heard == ["a", "a"]


def test_a_decision_may_ask_what_was_told(teller: Make) -> None:
    """A message about several suppliers holds only the new ones."""
    listener = Listener()

    def decide(is_told: IsTold) -> list[Alert]:
        return [alert(cause) for cause in ("a", "b") if not is_told(cause)]

    teller(listener, NOW).tell(always("a"))
    teller(listener, NOW).tell(decide)

    assert listener.heard == ["a", "b"]


def test_a_usual_night_writes_nothing(tmp_path: Path, teller: Make) -> None:
    """It has nothing to tell."""
    telling = teller(Listener(), NOW).tell(always(), over=["a"])

    assert telling.hold == []
    assert not (tmp_path / "_alerts").exists()


def test_a_receiver_that_fails_in_the_middle_loses_no_other(tmp_path: Path, teller: Make) -> None:
    """What was sent before is remembered."""
    listener = Listener(deaf=1)

    teller(listener, NOW).tell(always("a", "b"))

    assert read_told(open_store(str(tmp_path))).at.keys() == {"a", "b"}


def test_the_daily_digest_needs_no_person(teller: Make) -> None:
    """It is sent, and is no reason for an exit code."""
    digest = Alert(kind=AlertKind.DIGEST, causes=("d",), subject="d", body="")

    telling = teller(Listener(), NOW).tell(lambda _is_told: [digest, alert("a")])

    assert (telling.sent, telling.urgent) == ([digest, alert("a")], [alert("a")])
