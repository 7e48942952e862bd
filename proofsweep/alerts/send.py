"""Send each cause once, to chat, mail and webhooks through apprise. Their URLs hold secrets, so nothing shows them."""

import json
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apprise
from pydantic import SecretStr

from proofsweep.alerts.rules import Alert, AlertKind
from proofsweep.config.sections import AlertsSettings
from proofsweep.domain.errors import ConfigError, NameTaken, ProofsweepError
from proofsweep.domain.text import minute_of, text_of_file
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
    """Sends each alert to all who have not taken it in the last week; the store remembers who has."""

    store: Store
    receivers: "Receivers"
    clock: Callable[[], datetime]
    page: str | None = None  # of the flow run, at the end of each message

    def notify(self, hold: Sequence[Alert], over: Iterable[str] = ()) -> "Delivery":
        """Forget what is over, send what holds and what others could not; ConfigError if nobody can be told."""
        together: dict[str, Alert] = {}
        for alert in hold:
            together[alert.cause] = alert.beside(together.get(alert.cause, alert))
        mine = [each for each in self._due(together, list(over)) if self._is_begun(each)]
        missed = [list[str]() for _ in mine]
        if mine and not self.receivers.trouble:
            alerts = [each.message().with_page(self.page) for each in mine]
            missed = self.receivers.send(alerts, [each.took for each in mine])
        told, untold = set[str](), set[str]()
        for each, lack in zip(mine, missed, strict=True):
            took = {*each.took, *self.receivers.names} - set(lack)
            (told if took else untold).add(each.alert.cause)
            self._keep(replace(each, is_ended=True, took=tuple(sorted(took))))
        if self.receivers.trouble:
            raise self.receivers.trouble
        return Delivery(
            [*together.values()], told, untold, list(dict.fromkeys(name for lack in missed for name in lack))
        )

    def _is_begun(self, attempt: "Attempt") -> bool:
        """Create an attempt in place of the one before; False if another process makes it."""
        try:
            self.store.create(attempt.name, attempt.content())
        except NameTaken:
            return False
        self.store.delete(replace(attempt, number=attempt.number - 1).name)
        return True

    def _due(self, hold: Mapping[str, Alert], over: Sequence[str]) -> Iterator["Attempt"]:
        """Yield an attempt for each cause that somebody must still hear of; keep in mind what is over for others."""
        now, before = self.clock(), attempts_in(self.store)
        for cause in dict.fromkeys([*hold, *before]):
            was, alert = before.get(cause), hold.get(cause)
            last = was.after(over) if was and self._is_young(was) else None
            if alert and (last is None or last.is_over):
                yield Attempt(alert=alert, number=was.number + 1 if was else 1, since=now, tried_at=now)
            elif was and last:
                now_said = alert.beside(last.alert) if alert else last.alert
                if last.is_due(self.receivers.names, now):
                    yield replace(last, alert=now_said, number=was.number + 1, tried_at=now, is_ended=False)
                elif was.is_ended and (was.is_over, was.alert.subjects) != (last.is_over, now_said.subjects):
                    self._keep(replace(last, alert=replace(last.alert, subjects=now_said.subjects)))
            elif was:
                self.store.delete(was.name)

    def _is_young(self, attempt: "Attempt") -> bool:
        """Whether it counts; one from the future was made by a wrong clock."""
        return self.clock() - _TOLD_AGAIN_AFTER < attempt.since <= self.clock()

    def _keep(self, attempt: "Attempt") -> None:
        """Write what became of an attempt; forget a cause that is too old, or is over and was told to all."""
        is_known = attempt.is_over and not set(self.receivers.names) - set(attempt.took) and not self.receivers.trouble
        if is_known or not self._is_young(attempt):
            self.store.delete(attempt.name)
        else:
            self.store.replace(attempt.name, attempt.content())


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    alert: Alert
    number: int
    since: datetime  # the first attempt
    tried_at: datetime
    took: tuple[str, ...] = ()  # the receivers that have it
    is_ended: bool = False
    is_over: bool = False  # whether the cause is; then it is remembered for those only who have not heard of it

    @property
    def name(self) -> str:
        return f"{layout.ALERTS_FOLDER}/{sha256_hex(self.alert.cause.encode())[:16]}-{self.number:06}.json"

    def message(self) -> Alert:
        """Return what is sent; it says if it comes late."""
        over = ", and is over" if self.is_over else ""
        late = f"This could not be told at {minute_of(self.since)}{over}.\n" if self.tried_at > self.since else ""
        return replace(self.alert, body=late + self.alert.body)

    def is_due(self, receivers: Iterable[str], now: datetime) -> bool:
        return bool(set(receivers) - set(self.took)) and (self.is_ended or not now - _SENDING < self.tried_at <= now)

    def after(self, over: Sequence[str]) -> "Attempt":
        """Take away what is over, by the begins of causes: all of it, or some of the subjects that have the cause."""
        subjects, cause, begins = self.alert.subjects, f"{self.alert.cause}\t", tuple(f"{each}\t" for each in over)
        left = tuple(each for each in subjects if not f"{cause}{each}\t".startswith(begins))
        is_over = not left if subjects else cause.startswith(begins)
        return replace(self, alert=replace(self.alert, subjects=left or subjects), is_over=self.is_over or is_over)

    def content(self) -> bytes:
        return json_bytes(asdict(self))


def attempts_in(store: Store) -> dict[str, Attempt]:
    """Read the last attempt of each cause; delete one that cannot be understood."""
    found: dict[str, Attempt] = {}
    for name in store.names(layout.ALERTS_FOLDER):
        try:
            it = json.loads(store.read(name) or b"")
            text = it["alert"] | {"kind": AlertKind(it["alert"]["kind"]), "subjects": tuple(it["alert"]["subjects"])}
            times = {each: datetime.fromisoformat(it[each]).astimezone(UTC) for each in ("since", "tried_at")}
            attempt = Attempt(**it | times | {"alert": Alert(**text), "took": tuple(it["took"])})
            found[attempt.alert.cause] = attempt
        except (ValueError, TypeError, AttributeError, KeyError):
            store.delete(name)
    return found


class Receivers:
    """Those who are told. Nothing of them is shown but their lines, and the kind of each, such as `slack`."""

    def __init__(self, urls: Mapping[str, SecretStr], trouble: ConfigError | None = None) -> None:
        self._urls = urls
        self.trouble = trouble  # why nobody can be told

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

    def send(self, alerts: Sequence[Alert], taken: Sequence[Collection[str]] = ()) -> list[list[str]]:
        """Send alerts at once; for each, name who did not take it in 30 seconds: one that hangs keeps nobody."""
        got = {name: {each for each, names in enumerate(taken) if name in names} for name in self._urls}
        threads = [
            threading.Thread(target=_send, args=(url, alerts, got[name]), daemon=True, name="alert")
            for name, url in self._urls.items()
        ]
        for thread in threads:
            thread.start()
        end = time.monotonic() + _LONGEST_SEND_SECONDS
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
        in_time = {name: frozenset(its_own) for name, its_own in got.items()}
        return [[name for name, its_own in in_time.items() if each not in its_own] for each in range(len(alerts))]


def _send(url: SecretStr, alerts: Sequence[Alert], taken: set[int]) -> None:
    asset = apprise.AppriseAsset(app_id="proofsweep", app_desc="proofsweep", app_url="", async_mode=False)
    receiver = apprise.Apprise(asset=asset)
    receiver.add(url.get_secret_value())
    for number, alert in enumerate(alerts):
        if number not in taken and receiver.notify(
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


def urls_in_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return text_of_file(file.read(_MOST_URL_BYTES), "replace")
    except OSError as error:
        why = error.strerror
        raise ConfigError(f"The file of alert URLs {path} cannot be read ({why}): see alerts.urls_file.") from error


def receivers_of(alerts: AlertsSettings, read_block: Callable[[str], str] | None) -> Receivers | None:
    """Read who is told; None if the settings name nobody. ConfigError if the URLs cannot be read or used."""
    if alerts.urls_file is not None:
        return Receivers.read(urls_in_file(alerts.urls_file), where=f"The file {alerts.urls_file}")
    if alerts.urls_block is None:
        return None
    if read_block is None:
        raise ConfigError("The settings keep the alert URLs in a Prefect Secret block, which cannot be read here.")
    return Receivers.read(read_block(alerts.urls_block), where=f"The secret block {alerts.urls_block}")
