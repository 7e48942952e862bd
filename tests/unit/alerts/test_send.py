"""Each cause is told once, and remembered only if somebody got it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.alerts.events import AlertKind
from proofsweep.alerts.messages import Alert
from proofsweep.alerts.send import Notifier, Receivers, read_sent, still_sent
from proofsweep.store.store import open_store

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


class Listener(Receivers):
    """Two who are told; `deaf` of them miss everything."""

    def __init__(self, deaf: int = 0) -> None:
        super().__init__([])
        self.deaf = deaf
        self.heard: list[str] = []
        self.bodies: list[str] = []

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
    return Alert(kind=AlertKind.SUNSET, cause=cause, subject=cause, body="")


def always(*causes: str) -> list[Alert]:
    """Return alerts of these causes."""
    return [alert(cause) for cause in causes]


Make = Callable[[Listener, datetime], Notifier]


@pytest.fixture
def notifier(tmp_path: Path) -> Make:
    """Make a notifier of one store."""
    store = open_store(str(tmp_path))
    return lambda listener, now: Notifier(store=store, receivers=listener, clock=lambda: now, repeat_days=7.0)


def test_each_cause_is_told_once_by_whichever_process_finds_it(notifier: Make) -> None:
    """The memory is in the store; after seven days a cause that still holds is told again."""
    listener = Listener()

    for days in (0, 1, 6.9, 7.1, 8):
        notifier(listener, NOW + timedelta(days=days)).notify(always("a"))

    assert listener.heard == ["a", "a"]


def test_a_message_ends_with_the_page_that_shows_it(notifier: Make) -> None:
    """Only the cause is remembered, so another address tells nothing anew."""
    listener = Listener()

    for page in ("https://a.example", "https://b.example"):
        replace(notifier(listener, NOW), page=page).notify(always("a"))

    assert listener.bodies == ["\nSee: https://a.example"]


def test_an_alert_that_somebody_got_is_not_sent_twice_to_them(notifier: Make) -> None:
    """The other's name is told in a line of the run."""
    half = Listener(deaf=1)

    first = notifier(half, NOW).notify(always("a"))
    notifier(half, NOW).notify(always("a"))

    assert first.missed == ["slack"]
    assert half.heard == ["a"]


def test_a_receiver_that_fails_in_the_middle_loses_no_other(tmp_path: Path, notifier: Make) -> None:
    """What was sent before is remembered."""
    listener = Listener(deaf=1)

    notifier(listener, NOW).notify(always("a", "b"))

    assert read_sent(open_store(str(tmp_path))).keys() == {"a", "b"}


def test_a_cause_from_the_future_is_forgotten() -> None:
    """A clock that was wrong once would else keep it silent for years."""
    assert still_sent({"a": NOW + timedelta(seconds=1)}, NOW, 7.0, []) == {}


def test_the_begin_of_a_cause_that_is_over_names_whole_parts_of_it() -> None:
    """One catalog's name may begin another's."""
    sent = {"rows\tbeta\tmusic\tquota": NOW, "rows\tbeta\tmusic2\tquota": NOW, "key\tbeta": NOW}

    assert still_sent(sent, NOW, 7.0, ["rows\tbeta\tmusic", "key\tbeta"]).keys() == {"rows\tbeta\tmusic2\tquota"}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"a": 1}', b'{"a": "yesterday"}', b"\xff", b"null"])
def test_an_object_that_cannot_be_understood_is_as_good_as_none(tmp_path: Path, content: bytes) -> None:
    """Somebody edited it, or a disk was full."""
    store = open_store(str(tmp_path))
    store.replace("_alerts/told.json", content)

    assert read_sent(store) == {}
