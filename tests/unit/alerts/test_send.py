"""Each cause is told once, by one process; what nobody took is told by the next. No URL is shown."""

import logging
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from proofsweep.alerts import send as alert_receivers
from proofsweep.alerts.rules import Alert, AlertKind
from proofsweep.alerts.send import Notifier, Receivers, receivers_of
from proofsweep.config.sections import AlertsSettings
from proofsweep.domain.errors import ConfigError, ResultsError
from proofsweep.store import layout
from proofsweep.store.objects import FolderStore, open_store

from ...servers.alert_receivers import Webhook, mailbox, webhook

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
NAMES = ("line 1 (slack)", "line 2 (mailto)")


class Listener(Receivers):
    """Two who are told; those who are `deaf` miss everything."""

    def __init__(self, deaf: int = 0) -> None:
        super().__init__({name: SecretStr(f"json://host/{number}") for number, name in enumerate(NAMES)})
        self.deaf = [*NAMES[:deaf]]
        self.heard: list[str] = []
        self.took: list[tuple[str, str]] = []  # who took what
        self.meanwhile: Callable[[], object] = lambda: None

    def send(self, alerts: Sequence[Alert], told: Sequence[Collection[str]] = ()) -> list[list[str]]:
        self.meanwhile()
        self.heard += [alert.subject for alert in alerts]
        missed = list[list[str]]()
        for alert, marks in zip(alerts, told, strict=True):
            wanted = [name for name in NAMES if self.mark_of(name) not in marks]
            self.took += [(name, alert.subject) for name in wanted if name not in self.deaf]
            missed.append([name for name in wanted if name in self.deaf])
        return missed


def always(*causes: str) -> list[Alert]:
    return [Alert(kind=AlertKind.SUNSET, cause=cause, subject=cause, body="") for cause in causes]


Make = Callable[[Listener, datetime], Notifier]


@pytest.fixture
def notifier(tmp_path: Path) -> Make:
    store = open_store(str(tmp_path))
    return lambda listener, now: Notifier(store=store, receivers=listener, clock=lambda: now)


@pytest.mark.parametrize("found_at", [(0, 1, 6.9, 7.1, 8), (0.1, 0, 0)])
def test_each_cause_is_told_once_by_whichever_process_finds_it(notifier: Make, found_at: Sequence[float]) -> None:
    """The memory is in the store; after seven days a cause that still holds is told again.

    One from the future is forgotten: a clock that was wrong once would else keep it silent for years.
    """
    listener = Listener()

    for days in found_at:
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


@pytest.mark.parametrize("seconds", [7 * 86_400 + 1, 61])
def test_of_processes_that_find_a_cause_at_once_after_a_week_or_a_kill_one_tells_it(
    notifier: Make, seconds: int
) -> None:
    """Each has read what was known before the first one began."""
    first, second, listener = Listener(), Listener(), Listener()

    def killed() -> None:
        raise KeyboardInterrupt

    listener.meanwhile = killed if seconds == 61 else lambda: None
    with suppress(KeyboardInterrupt):
        notifier(listener, NOW).notify(always("a"))
    store = notifier(first, NOW).store

    class Slow(FolderStore):
        """Another process tells the cause between what this one reads and what it writes."""

        def create(self, name: str, content: bytes) -> None:
            notifier(first, NOW + timedelta(seconds=seconds)).notify(always("a"))
            super().create(name, content)

    late = Notifier(store=Slow(Path(store.url)), receivers=second, clock=lambda: NOW + timedelta(seconds=seconds + 1))
    late.notify(always("a"))

    assert (first.heard, second.heard) == (["a"], [])
    assert len(store.names(layout.ALERTS_FOLDER)) == 1


def test_who_missed_a_message_gets_it_once_from_the_next_one(notifier: Make) -> None:
    """Nobody else gets it again. Who took it is remembered whichever line of the file has its URL."""
    listener, urls = Listener(deaf=1), {"line 7 (slack)": "json://host/0", "line 2 (mailto)": "json://host/1"}
    moved = Receivers({name: SecretStr(url) for name, url in urls.items()})

    first = notifier(listener, NOW).notify(always("a"))
    listener.deaf = []
    later = [notifier(listener, NOW + timedelta(minutes=minutes)).notify(always("a")) for minutes in (1, 2)]

    assert listener.took == [(NAMES[1], "a"), (NAMES[0], "a")]
    assert [(each.sent, each.untold, each.missed) for each in (first, *later)] == [
        (["a"], [], [NAMES[0]]),
        (["a"], [], []),
        ([], [], []),
    ]
    assert moved.marks == listener.marks


def test_what_nobody_took_is_told_by_the_next_one(notifier: Make) -> None:
    """To all of them."""
    listener = Listener(deaf=2)

    for minutes in range(3):
        delivery = notifier(listener, NOW + timedelta(minutes=minutes)).notify(always("a"))
        listener.deaf = []

    assert listener.heard == ["a"] * 2
    assert delivery.untold == []


def test_a_cause_that_is_over_is_told_again_when_it_comes_back(notifier: Make) -> None:
    """It alone: one catalog's name may begin another's, and of one catalog another cause may hold."""
    causes = always("failed\tbeta\tmusic", "failed\tbeta\tmusic\trows", "failed\tbeta\tmusic2")
    listener = Listener()

    notifier(listener, NOW).notify(causes)
    notifier(listener, NOW).notify([], over=["failed\tbeta\tmusic"])
    notifier(listener, NOW).notify(causes)

    assert listener.heard[3:] == [causes[0].cause]


def test_no_password_can_be_found_by_what_is_remembered() -> None:
    """Two receivers that differ in a password alone are told apart by their order."""
    one, other = (receivers(f"json://user:{word}@host/", "json://user:third@host/") for word in ("one", "other"))

    assert one.marks == other.marks
    assert len(one.marks) == 2


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"cause": 1}', b"\xff"])
def test_an_object_that_cannot_be_understood_is_as_good_as_none(notifier: Make, tmp_path: Path, content: bytes) -> None:
    """Somebody edited it, or a disk was full."""
    listener = Listener()
    notifier(listener, NOW).notify(always("a"))
    (written,) = (tmp_path / "_alerts").iterdir()
    written.write_bytes(content)

    notifier(listener, NOW).notify(always("a"))
    assert listener.heard == ["a", "a"]


class FullStore(FolderStore):
    def _write(self, *_: object, **__: object) -> None:
        raise ResultsError("No space left on device.")

    def delete(self, *_: object, **__: object) -> None:
        raise ResultsError("Read-only file system.")


def test_a_store_that_cannot_be_written_silences_nobody(notifier: Make, tmp_path: Path) -> None:
    """It may be why the run ended. What was told before is remembered."""
    listener = Listener()
    notifier(listener, NOW).notify(always("a"))

    full = Notifier(store=FullStore(tmp_path), receivers=listener, clock=lambda: NOW)
    delivery = full.notify(always("a", "b"), over=["a"])

    assert listener.heard == ["a", "b"]
    assert (delivery.sent, delivery.untold) == (["b"], [])


SECRET = "s3cr3tT0ken"
ALERT = Alert(
    kind=AlertKind.ROWS_REMAIN,
    cause="c",
    subject="proofsweep: 3 of 4 rows remain",
    body="First line.\n- 3 `x & y`: 1 < 2\nTables: `s3://label/a_b_*`",
)


@pytest.fixture
def hook() -> Iterator[Webhook]:
    with webhook() as hook:
        yield hook


def receivers(*urls: str) -> Receivers:
    return Receivers.read("\n".join(urls), where="The test")


def test_receivers_that_never_answer_have_one_bound_together(hook: Webhook, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three of them and two alerts take no longer than one; who answers gets every alert."""
    receivers(f"json://127.0.0.1:{hook.port}/").send([ALERT])  # apprise takes a second to load
    hook.stalled.clear()
    monkeypatch.setattr(alert_receivers, "_LONGEST_SEND_SECONDS", 0.5)
    began = time.monotonic()

    with webhook() as good:
        hung = [f"json://127.0.0.1:{hook.port}/{number}" for number in range(3)]
        missed = receivers(*hung, f"json://127.0.0.1:{good.port}/good").send([ALERT, ALERT])

    assert missed == [[f"line {number} (json)" for number in (1, 2, 3)]] * 2
    assert time.monotonic() - began < 4.0  # each of them alone would take four
    assert len(good.posts) == 2


def test_no_log_line_and_no_output_shows_a_url(
    hook: Webhook, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Neither apprise nor the library below it, at any level, whether the sending succeeds or fails."""
    caplog.set_level(logging.DEBUG)
    every = receivers(
        f"json://user:{SECRET}@127.0.0.1:{hook.port}/{SECRET}?+X-Token={SECRET}",
        f"json://127.0.0.1:1/{SECRET}",
        f"json://{SECRET}.invalid/{SECRET}",
        f"nosuch://{SECRET}",
        f"https//{SECRET}",
    )

    every.send([ALERT])
    hook.status = 500
    every.send([ALERT])

    shown = caplog.text + "".join(capfd.readouterr()) + repr(every) + repr(every._urls)
    assert SECRET not in shown


def test_a_mail_server_gets_a_readable_message() -> None:
    """The text is the same; in HTML its letters are escaped."""
    with mailbox() as box:
        url = f"mailto://127.0.0.1:{box.port}/?mode=insecure&from=proofsweep@label.example&to=team@label.example"
        missed = receivers(url).send([ALERT])
        (message,) = box.messages

    assert missed == [[]]
    html = message.get_body(("html",))
    assert message["subject"] == ALERT.subject
    assert html is not None
    assert "x&nbsp;&amp;&nbsp;y" in html.get_content() or "x &amp; y" in html.get_content()
    assert "1 < 2" not in html.get_content()


def test_no_url_at_all_is_a_mistake(tmp_path: Path) -> None:
    """The setting says that somebody is to be told; the name of a file is no secret."""
    with pytest.raises(ConfigError, match="holds no alert URL"):
        receivers("\n# nobody\n")
    with pytest.raises(ConfigError, match=r"file of alert URLs .*none cannot be read"):
        receivers_of(AlertsSettings(urls_file=tmp_path / "none"), None)
