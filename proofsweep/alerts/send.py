"""Send each cause once, to chat, mail and webhooks through apprise. The receivers' URLs hold secrets: none is shown."""

import json
import logging
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain

import apprise
from pydantic import SecretStr

from proofsweep.alerts.rules import Alert
from proofsweep.config.secret_places import shown_file
from proofsweep.config.sections import AlertsSettings
from proofsweep.config.threads import Thread, monotonic
from proofsweep.domain.errors import ConfigError, NameTaken, ProofsweepError, ResultsError
from proofsweep.domain.text import text_of_file
from proofsweep.store import layout
from proofsweep.store.objects import Store, json_bytes, sha256_hex

_LONGEST_SEND_SECONDS = 30.0  # of all receivers together; apprise waits 4 s for each step of HTTP, 15 s for SMTP
_TOLD_AGAIN_AFTER = timedelta(days=7)  # a cause that still holds so much later
_SENDING = timedelta(seconds=60)  # a process that has told nothing of its attempt after so long was killed
_MOST_URL_BYTES = 65_536  # bounds what a wrong path can fill the memory with

Gather = Callable[[], tuple[Sequence[Alert], Sequence[str]]]
"""Gives the alerts that hold, and the begins of the causes that are over; called only if somebody is to be told."""


def complaints_of(open_notifier: Callable[[], "Notifier | None"], gather: Gather) -> list[str]:
    """Tell whoever is named; return one line if that failed. It never raises an error."""
    try:
        notifier = open_notifier()
        delivery = None if notifier is None else notifier.notify(*gather())
    except ProofsweepError as error:
        return [f"Nobody could be told: {error.message}"]
    except Exception as error:  # noqa: BLE001 - whatever is wrong with an alert must not end a run
        return [f"Nobody could be told, through a mistake of this program ({type(error).__name__})."]
    return [] if delivery is None or not delivery.missed else [delivery.missed_line]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notifier:
    """Sends each alert that nobody was told of in the last week; the store remembers the causes that were told."""

    store: Store
    receivers: "Receivers"
    clock: Callable[[], datetime]
    page: str | None = None  # of the flow run, at the end of each message

    def notify(self, hold: Sequence[Alert], over: Iterable[str] = ()) -> "Delivery":
        """Forget what is over, by the begins of causes, and send what holds; what nobody took is sent the next time."""
        with suppress(ResultsError):
            self._forget(tuple(f"{each}\t" for each in over))
        alerts = list({alert.cause: alert for alert in hold}.values())
        mine = [alert for alert in alerts if self._is_begun(alert.cause)]
        missed = self.receivers.send([alert.with_page(self.page) for alert in mine]) if mine else []
        untold = [alert.cause for alert, lack in zip(mine, missed, strict=True) if {*lack} == {*self.receivers.names}]
        sent = [alert.cause for alert in mine if alert.cause not in untold]
        with suppress(ResultsError):
            for cause in untold:
                self.store.delete(_name_of(cause))
            for cause in sent:
                self.store.replace(_name_of(cause), self._memory(cause, is_sent=True))
        return Delivery(alerts, sent, untold, list(dict.fromkeys(chain.from_iterable(missed))))

    def _is_begun(self, cause: str) -> bool:
        """Write down that this process tells a cause; False if it was told, or another process tells it now.

        A store that cannot be written, which may be the cause, silences nobody: then each process tells it.
        """
        name = _name_of(cause)
        try:
            if self._holds(name):
                return False
            self.store.delete(name)
            self.store.create(name, self._memory(cause, is_sent=False))
        except (NameTaken, ResultsError) as error:
            return isinstance(error, ResultsError)
        return True

    def _memory(self, cause: str, *, is_sent: bool) -> bytes:
        own = secrets.token_hex(8)  # so that no two processes write the same bytes
        return json_bytes({"cause": cause, "at": self.clock().isoformat(), "is_sent": is_sent, "token": own})

    def _holds(self, name: str) -> bool:
        """Whether a memory counts; one from the future was made by a wrong clock."""
        cause, at, is_sent = _read(self.store, name)
        return bool(cause) and timedelta() <= self.clock() - at < (_TOLD_AGAIN_AFTER if is_sent else _SENDING)

    def _forget(self, begins: tuple[str, ...]) -> None:
        for name in self.store.names(layout.ALERTS_FOLDER) if begins else []:
            if f"{_read(self.store, name)[0]}\t".startswith(begins):
                self.store.delete(name)


def _name_of(cause: str) -> str:
    return f"{layout.ALERTS_FOLDER}/{sha256_hex(cause.encode())[:16]}.json"


def _read(store: Store, name: str) -> tuple[str, datetime, bool]:
    """Return a cause, when it was told, and whether that came to its end; an empty cause if it cannot be understood."""
    try:
        found = json.loads(store.read(name) or b"")
        return found["cause"], datetime.fromisoformat(found["at"]).astimezone(UTC), found["is_sent"]
    except (ValueError, TypeError, KeyError):
        return "", datetime.min.replace(tzinfo=UTC), False


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of alerts: those that hold, the causes that were sent now or nobody took, and who missed one."""

    hold: Sequence[Alert]
    sent: Collection[str] = ()
    untold: Collection[str] = ()
    missed: Sequence[str] = ()

    def line_of(self, alert: Alert) -> str:
        state = "sent" if alert.cause in self.sent else "not sent" if alert.cause in self.untold else "told before"
        return f"{state:<12}{alert.subject}"

    @property
    def missed_line(self) -> str:
        who = ", ".join(self.missed)
        return f"An alert was not taken by {who} of the alert URLs; check it there, and try: proofsweep alerts test"


class Receivers:
    """Those who are told. Nothing of them is shown but their lines, and the kind of each, such as `slack`."""

    def __init__(self, urls: Mapping[str, SecretStr]) -> None:
        self._urls = urls

    @classmethod
    def read(cls, text: str, *, where: str) -> "Receivers":
        """Read one URL a line, without `#` comments; ConfigError if none. One that apprise cannot use takes nothing."""
        _silence_libraries()
        lines = {number: line.strip() for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), start=1)}
        urls = {number: SecretStr(line) for number, line in lines.items() if line and not line.startswith("#")}
        if not urls:
            raise ConfigError(f"{where} holds no alert URL; see docs/alerts.md.")
        return cls({f"line {number} ({_kind_of(url)})": url for number, url in urls.items()})

    @property
    def names(self) -> Collection[str]:
        return self._urls.keys()

    def send(self, alerts: Sequence[Alert]) -> list[list[str]]:
        """Send alerts at once; for each, name who did not take it in 30 seconds: one that hangs keeps nobody."""
        got = {name: set[int]() for name in self._urls}
        threads = [
            Thread(target=_send, args=(url, alerts, got[name]), daemon=True, name="alert")
            for name, url in self._urls.items()
        ]
        for thread in threads:
            thread.start()
        end = monotonic() + _LONGEST_SEND_SECONDS
        for thread in threads:
            thread.join(max(0.0, end - monotonic()))
        in_time = {name: frozenset(its_own) for name, its_own in got.items()}
        return [[name for name, its_own in in_time.items() if each not in its_own] for each in range(len(alerts))]


def _send(url: SecretStr, alerts: Sequence[Alert], taken: set[int]) -> None:
    asset = apprise.AppriseAsset(app_id="proofsweep", app_desc="proofsweep", app_url="", async_mode=False)
    receiver = apprise.Apprise(asset=asset)
    receiver.add(url.get_secret_value())
    for number, alert in enumerate(alerts):
        if receiver.notify(
            alert.body,
            title=alert.subject,
            notify_type=apprise.NotifyType(alert.severity),
            body_format=apprise.NotifyFormat.TEXT,
        ):
            taken.add(number)


def _kind_of(url: SecretStr) -> str:
    is_usable = apprise.Apprise.instantiate(url.get_secret_value()) is not None
    return url.get_secret_value().partition("://")[0].lower() if is_usable else "no URL of apprise"


def _silence_libraries() -> None:
    """Apprise names a receiver's URL in some of its lines, at any level; the HTTP library below it at level DEBUG."""
    logging.getLogger("apprise").setLevel(logging.CRITICAL + 1)
    logging.getLogger("urllib3").setLevel(logging.WARNING)


def receivers_of(alerts: AlertsSettings, read_block: Callable[[str], str] | None) -> Receivers | None:
    """Read who is told; None if the settings name nobody. ConfigError if the URLs cannot be read or used."""
    if (path := alerts.urls_file) is not None:
        where = shown_file(path, "alerts.urls_file")
        try:
            with path.open("rb") as file:
                return Receivers.read(text_of_file(file.read(_MOST_URL_BYTES), "replace"), where=f"The file {where}")
        except OSError as error:
            unread = f"The file of alert URLs {where} cannot be read ({error.strerror})"
            raise ConfigError(f"{unread}: see alerts.urls_file.") from error
    if alerts.urls_block is None:
        return None
    if read_block is None:
        raise ConfigError("The settings keep the alert URLs in a Prefect Secret block, which cannot be read here.")
    return Receivers.read(read_block(alerts.urls_block), where=f"The secret block {alerts.urls_block}")
