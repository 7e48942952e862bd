"""Each cause is told once to each receiver, by one process, and what one of them missed is told by the next."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from proofsweep.alerts.rules import Alert, AlertKind
from proofsweep.alerts.send import Notifier, Receivers, attempts_in
from proofsweep.domain.errors import ConfigError
from proofsweep.store.objects import open_store

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
NAMES = ("line 1 (slack)", "line 2 (mailto)")


class Listener(Receivers):
    """Two who are told; those who are `deaf` miss everything."""

    def __init__(self, deaf: int = 0, trouble: ConfigError | None = None) -> None:
        super().__init__({} if trouble else dict.fromkeys(NAMES, SecretStr("")), trouble)
        self.deaf = NAMES[:deaf]
        self.heard: list[str] = []
        self.bodies: list[str] = []
        self.meanwhile: Callable[[], object] = lambda: None

    def send(self, alerts: Sequence[Alert], taken: Sequence[Collection[str]] = ()) -> list[list[str]]:
        """Hear alerts."""
        self.meanwhile()
        self.heard += [alert.subject for alert in alerts]
        self.bodies += [alert.body for alert in alerts]
        return [[name for name in self.deaf if name not in names] for names in taken]


def alert(cause: str, *subjects: str) -> Alert:
    """Make an alert of one cause."""
    return Alert(kind=AlertKind.SUNSET, cause=cause, subject=cause, body="", subjects=subjects)


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


def test_a_cause_that_others_find_meanwhile_is_not_told_again(notifier: Make) -> None:
    """The first one is still sending. If it was killed, the next one sends after a minute."""
    first, second = Listener(), Listener()
    first.meanwhile = lambda: notifier(second, NOW).notify(always("a"))
    notifier(first, NOW).notify(always("a"))

    def killed() -> None:
        raise KeyboardInterrupt

    first.meanwhile = killed
    with pytest.raises(KeyboardInterrupt):
        notifier(first, NOW).notify(always("b"))
    for seconds in (59, 61, 200):
        notifier(second, NOW + timedelta(seconds=seconds)).notify(always("b"))

    assert (first.heard, second.heard) == (["a"], ["b"])


def test_a_message_ends_with_the_page_that_shows_it(notifier: Make) -> None:
    """Only the cause is remembered, so another address tells nothing anew."""
    listener = Listener()

    for page in ("https://a.example", "https://b.example"):
        replace(notifier(listener, NOW), page=page).notify(always("a"))

    assert listener.bodies == ["\nSee: https://a.example"]


def test_what_one_missed_is_sent_to_that_one_by_the_next(notifier: Make) -> None:
    """Whether it still holds or not; then nobody is told any more."""
    half, later = Listener(deaf=1), NOW + timedelta(hours=1)

    first = notifier(half, NOW).notify(always("a", "b"))
    second = notifier(half, later).notify(always("a"), over=["b"])
    healed = Listener()
    notifier(healed, later).notify([], over=["a"])
    notifier(healed, later).notify([])

    assert first.missed == second.missed == ["line 1 (slack)"]
    assert (second.sent, half.heard) == ({"a", "b"}, ["a", "b", "a", "b"])
    assert healed.bodies == ["This could not be told at 2026-11-20 12:00 UTC, and is over.\n"] * 2


def test_a_cause_that_nobody_could_be_told_waits_for_receivers(notifier: Make, tmp_path: Path) -> None:
    """The file with their URLs is not there."""
    listener = Listener()

    for _ in range(2):
        with pytest.raises(ConfigError):
            notifier(Listener(trouble=ConfigError("It is away.")), NOW).notify(always("a"))
    with pytest.raises(ConfigError):
        notifier(Listener(trouble=ConfigError("It is away.")), NOW).notify([], over=["a"])
    notifier(listener, NOW + timedelta(hours=1)).notify([])

    assert listener.heard == ["a"]
    assert attempts_in(open_store(str(tmp_path))) == {}


def test_a_cause_of_several_is_over_when_it_is_over_for_each(notifier: Make) -> None:
    """One alert for all; whoever has it later is added."""
    listener = Listener()

    notifier(listener, NOW).notify([alert("a", "one"), alert("a", "two")])
    notifier(listener, NOW).notify([alert("a", "three")], over=["a\tone"])
    notifier(listener, NOW).notify([alert("a", "four")], over=["a\ttwo"])
    notifier(listener, NOW).notify([], over=["a\tthree"])
    notifier(listener, NOW).notify([alert("a", "one")])
    assert listener.heard == ["a"]
    notifier(listener, NOW).notify([], over=["a"])
    notifier(listener, NOW).notify([alert("a", "one")])

    assert listener.heard == ["a", "a"]


def test_a_cause_from_the_future_is_forgotten(notifier: Make) -> None:
    """A clock that was wrong once would else keep it silent for years."""
    listener = Listener()

    for seconds in (3600, 0, 0):
        notifier(listener, NOW + timedelta(seconds=seconds)).notify(always("a"))

    assert listener.heard == ["a", "a"]


def test_the_begin_of_a_cause_that_is_over_names_whole_parts_of_it(notifier: Make) -> None:
    """One catalog's name may begin another's."""
    listener, causes = Listener(), always("rows\tbeta\tmusic\tquota", "rows\tbeta\tmusic2\tquota", "key\tbeta")

    notifier(listener, NOW).notify(causes)
    notifier(listener, NOW).notify([], over=["rows\tbeta\tmusic", "key\tbeta"])
    notifier(listener, NOW).notify(causes)

    assert listener.heard[3:] == [causes[0].cause, causes[2].cause]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"cause": 1}', b"\xff", b"null"])
def test_an_object_that_cannot_be_understood_is_as_good_as_none(notifier: Make, tmp_path: Path, content: bytes) -> None:
    """Somebody edited it, or a disk was full."""
    listener = Listener()
    notifier(listener, NOW).notify(always("a"))
    (written,) = (tmp_path / "_alerts").iterdir()
    written.write_bytes(content)

    assert attempts_in(open_store(str(tmp_path))) == {}
    notifier(listener, NOW).notify(always("a"))
    assert listener.heard == ["a", "a"]
