"""Send each cause once, to chat, mail and webhooks through apprise. Their URLs hold secrets, so nothing shows them."""

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apprise
from pydantic import SecretStr

from proofsweep.alerts.messages import Alert
from proofsweep.errors import ConfigError, ProofsweepError
from proofsweep.model import layout
from proofsweep.store.store import Store
from proofsweep.text import text_of_file

# Bounds what a wrong path can fill the memory with: hundreds of receivers.
_MOST_URL_BYTES = 65_536

# How long all receivers together can keep a run from ending; apprise waits 4 s for each step of HTTP, 15 s for SMTP.
_LONGEST_SEND_SECONDS = 30.0


def urls_in_file(path: Path) -> str:
    """Read the URLs from a file; ConfigError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return text_of_file(file.read(_MOST_URL_BYTES), "replace")
    except OSError as error:
        why = error.strerror
        raise ConfigError(f"The file of alert URLs {path} cannot be read ({why}): see alerts.urls_file.") from error


class Receivers:
    """Those who are told. Nothing of them is shown but the kind of each, such as `slack`."""

    def __init__(self, urls: Sequence[SecretStr]) -> None:
        self._urls = urls

    @classmethod
    def read(cls, text: str, *, where: str) -> "Receivers":
        """Read and check the URLs, one a line; an empty line and one that begins with `#` are ignored.

        ConfigError if there is none, or apprise cannot use one. The error does not show it.
        """
        _silence_libraries()
        lines = {number: line.strip() for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), start=1)}
        urls = {number: SecretStr(line) for number, line in lines.items() if line and not line.startswith("#")}
        if not urls:
            raise ConfigError(f"{where} holds no alert URL; see docs/alerts.md.")
        for number, url in urls.items():
            if apprise.Apprise.instantiate(url.get_secret_value()) is None:
                raise ConfigError(f"{where}, line {number}: this is no URL of apprise; see docs/alerts.md.")
        return cls(list(urls.values()))

    def __len__(self) -> int:
        return len(self._urls)

    def send(self, alerts: Sequence[Alert]) -> list[list[str]]:
        """Send alerts to all receivers at once; for each alert, name the kinds of those that did not take it in time.

        All together have 30 seconds: a receiver that hangs keeps neither another one nor the run.
        """
        taken: list[set[int]] = [set() for _ in self._urls]
        threads = [
            threading.Thread(target=_send, args=(url, alerts, its_own), daemon=True, name="alert")
            for url, its_own in zip(self._urls, taken, strict=True)
        ]
        for thread in threads:
            thread.start()
        end = time.monotonic() + _LONGEST_SEND_SECONDS
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
        in_time = [(_kind_of(url), frozenset(its_own)) for url, its_own in zip(self._urls, taken, strict=True)]
        return [[kind for kind, its_own in in_time if number not in its_own] for number in range(len(alerts))]


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
    return url.get_secret_value().partition("://")[0].lower()


def _silence_libraries() -> None:
    """Apprise names a receiver's URL in some of its lines, at any level; the HTTP library below it at level DEBUG."""
    logging.getLogger("apprise").setLevel(logging.CRITICAL + 1)
    logging.getLogger("urllib3").setLevel(logging.WARNING)


Sent = dict[str, datetime]  # when each cause was sent


def read_sent(store: Store) -> Sent:
    """Read which causes were sent when; nothing if there is no such object, or if it cannot be understood."""
    content = store.read(layout.sent_alerts_name())
    try:
        cells = json.loads(content or b"{}")
        return {str(cause): datetime.fromisoformat(at).astimezone(UTC) for cause, at in cells.items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def write_sent(store: Store, sent: Sent) -> None:
    """Write which causes were sent when. Of two processes that write at once, one loses; its causes are sent again."""
    cells = {cause: at.isoformat() for cause, at in sorted(sent.items())}
    store.replace(layout.sent_alerts_name(), json.dumps(cells, indent=2, ensure_ascii=False).encode("utf-8", "replace"))


def still_sent(sent: Sent, now: datetime, repeat_days: float, over: Iterable[str]) -> Sent:
    """Keep what was sent within so many days and is not over; `over` are the begins of causes.

    A cause from the future was sent by a wrong clock, and is forgotten.
    """
    since, begins = now - timedelta(days=repeat_days), [f"{begin}\t" for begin in over]
    return {
        cause: at
        for cause, at in sent.items()
        if since < at <= now and not any(f"{cause}\t".startswith(begin) for begin in begins)
    }


Gather = Callable[[], tuple[Sequence[Alert], Sequence[str]]]
"""Gives the alerts that hold, and the begins of the causes that are over; called only if somebody is to be told."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of alerts: those that hold, those sent now, and who did not get them."""

    hold: Sequence[Alert]
    sent: Sequence[Alert]
    missed: Sequence[str]
    has_receivers: bool = True

    def line_of(self, alert: Alert) -> str:
        """Say what became of one alert."""
        is_known = self.has_receivers and not self.missed
        state = "sent" if alert in self.sent else "told before" if is_known else "not sent"
        return f"{state:<12}{alert.subject}"

    @property
    def missed_line(self) -> str:
        """Say who did not get an alert."""
        names = ", ".join(self.missed)
        return f"An alert was not taken by {names}; check the URL there, and try: proofsweep alerts test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notifier:
    """Sends the alerts whose causes were not sent in the last `repeat_days`, and remembers them in the store.

    Each message ends with the address of the flow run's page, if there is one.
    """

    store: Store
    receivers: Receivers
    clock: Callable[[], datetime]
    repeat_days: float
    page: str | None = None

    def notify(self, hold: Sequence[Alert], over: Iterable[str] = ()) -> Delivery:
        """Forget the causes that are over, send what is new, and remember what somebody got."""
        before = read_sent(self.store)
        known = still_sent(before, self.clock(), self.repeat_days, over)
        new = [alert for alert in hold if alert.cause not in known]
        missed = self.receivers.send([alert.with_page(self.page) for alert in new]) if new else []
        sent = [alert for alert, names in zip(new, missed, strict=True) if len(names) < len(self.receivers)]
        after = known | {alert.cause: self.clock() for alert in sent}
        if after != before:
            write_sent(self.store, after)
        return Delivery(hold, sent, list(dict.fromkeys(name for names in missed for name in names)))


def complaints_of(open_notifier: Callable[[], Notifier | None], gather: Gather) -> list[str]:
    """Tell whoever is named; return one line if that failed. It never raises an error."""
    try:
        notifier = open_notifier()
        delivery = None if notifier is None else notifier.notify(*gather())
    except ProofsweepError as error:
        return [f"Nobody could be told: {error.message}"]
    except Exception as error:  # noqa: BLE001 - whatever is wrong with an alert must not end a run
        return [f"Nobody could be told, through a mistake of this program ({type(error).__name__})."]
    return [] if delivery is None or not delivery.missed else [delivery.missed_line]
