"""Send each cause once, to chat, mail and webhooks through apprise. The receivers' URLs hold secrets: none is shown."""

import json
import logging
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain

from pydantic import SecretStr

from proofsweep.alerts.rules import Alert
from proofsweep.config.secret_places import shown_file
from proofsweep.config.sections import AlertsSettings
from proofsweep.config.threads import Thread, monotonic, some_at_once
from proofsweep.domain.errors import ConfigError, NameTaken, ProofsweepError, ResultsError
from proofsweep.domain.text import text_of_file
from proofsweep.store import layout
from proofsweep.store.objects import REQUESTS_AT_ONCE, Store, json_bytes, sha256_hex

_LONGEST_SEND_SECONDS = 30.0  # of all receivers together; apprise waits 4 s for each step of HTTP, 15 s for SMTP
_TOLD_AGAIN_AFTER = timedelta(days=7)  # a cause that still holds so much later
_SENDING = timedelta(seconds=60)  # a process that has told nothing of its attempt after so long was killed
_MOST_URL_BYTES = 65_536  # bounds what a wrong path can fill the memory with

Gather = Callable[[], tuple[Sequence[Alert], Sequence[str]]]
"""Gives the alerts that hold, and the causes that are over; called only if somebody is to be told."""


def complaints_of(open_notifier: Callable[[], "Notifier | None"], gather: Gather) -> list[str]:
    """Tell whoever is named; return one line if that failed. It never raises an error."""
    try:
        notifier = open_notifier()
        if notifier is None:
            return []
        delivery = notifier.notify(*gather())
    except ProofsweepError as error:
        return [f"Nobody could be told: {error.message}"]
    except Exception as error:  # noqa: BLE001 - whatever is wrong with an alert must not end a run
        return [f"Nobody could be told, through a mistake of this program ({type(error).__name__})."]
    if not delivery.missed:
        return []
    return [delivery.missed_line]


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What the store remembers of a cause: who was told of it, or that a process tells it."""

    cause: str
    at: datetime  # when the first one was told, or when the process began to tell it
    taken: frozenset[str] = frozenset()  # who was told, by the marks of receivers
    token: str = field(default_factory=lambda: secrets.token_hex(8))  # no two processes write the same bytes

    def content(self) -> bytes:
        written = {"at": self.at.isoformat(), "taken": sorted(self.taken)}
        return json_bytes(asdict(self) | written)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A cause that this process tells now, to those who were not told before."""

    alert: Alert
    before: Memory  # with those who were told before
    claims: Sequence[str] = ()  # the objects that keep other processes from telling it


@dataclass(frozen=True, slots=True, kw_only=True)
class Notifier:
    """Sends each alert once in a week to each receiver; the store remembers the causes that were told, and to whom."""

    store: Store
    receivers: "Receivers"
    clock: Callable[[], datetime]
    page: str | None = None  # of the flow run, at the end of each message

    def notify(self, hold: Sequence[Alert], over: Iterable[str] = ()) -> "Delivery":
        """Forget the causes that are over, and send what holds; who missed a message gets it the next time."""
        with suppress(ResultsError):
            for cause in over:
                self.store.delete(name_of(cause))
        by_cause = {alert.cause: alert for alert in hold}
        alerts = list(by_cause.values())
        attempts = list(filter(None, map(self._begun, alerts)))
        missed: list[list[str]] = []
        if attempts:
            missed = self._send(attempts)
        sent: list[str] = []
        untold: list[str] = []
        for attempt, names in zip(attempts, missed, strict=True):
            before = attempt.before.taken
            missing = {self.receivers.mark_of(name) for name in names}
            taken = (self.receivers.marks - missing) | before
            if taken > before:
                sent.append(attempt.alert.cause)
            elif not taken:
                untold.append(attempt.alert.cause)
            # A store that cannot be written silences nobody: at worst the cause is told once more.
            with suppress(ResultsError):
                self._end(attempt, taken)
        names_missed = dict.fromkeys(chain.from_iterable(missed))
        return Delivery(alerts, sent, untold, list(names_missed))

    def _send(self, attempts: Sequence[Attempt]) -> list[list[str]]:
        messages: list[Alert] = []
        told: list[frozenset[str]] = []
        for attempt in attempts:
            messages.append(attempt.alert.with_page(self.page))
            told.append(attempt.before.taken)
        return self.receivers.send(messages, told)

    def _begun(self, alert: Alert) -> Attempt | None:
        """Begin to tell a cause; None if everybody was told, or another process tells it now."""
        now = self.clock()
        before = Memory(cause=alert.cause, at=now)
        attempt = Attempt(alert=alert, before=before)
        try:
            told = read_memory(self.store, name_of(alert.cause))
            if told is not None and timedelta() <= now - told.at < _TOLD_AGAIN_AFTER:
                before = told
            attempt = replace(attempt, before=before)
            if self.receivers.marks <= before.taken:
                return None
            # An attempt is an object that is created once, named after what was known before. So of several processes
            # that find the cause at once, also after a week or a kill, one tells it.
            claims = [_name_of_attempt(alert.cause, told)]
            while (other := read_memory(self.store, claims[-1])) is not None:
                if timedelta() <= now - other.at < _SENDING:
                    return None
                claims.append(_name_of_attempt(alert.cause, other))
            claim = Memory(cause=alert.cause, at=now)
            self.store.create(claims[-1], claim.content())
            if read_memory(self.store, name_of(alert.cause)) != told:  # another process has told it meanwhile
                self.store.delete(claims[-1])
                return None
        except NameTaken:
            return None
        except ResultsError:
            # The store may be the cause, and silences nobody: then each process tells it.
            return attempt
        return replace(attempt, claims=claims)

    def _end(self, attempt: Attempt, taken: frozenset[str]) -> None:
        """Remember who was told, and then let others tell the rest."""
        if taken != attempt.before.taken:
            memory = Memory(cause=attempt.alert.cause, at=attempt.before.at, taken=taken)
            self.store.replace(name_of(memory.cause), memory.content())
        for name in reversed(attempt.claims):
            self.store.delete(name)


def _digest_of(text: str) -> str:
    return sha256_hex(text.encode())[:16]


def name_of(cause: str) -> str:
    return f"{layout.ALERTS_FOLDER}/{_digest_of(cause)}.json"


def _name_of_attempt(cause: str, before: Memory | None) -> str:
    """Name the attempt that comes after a memory, or after an attempt that came to no end."""
    after = "first" if before is None else before.token
    name = f"{_digest_of(cause)}-{_digest_of(after)}"
    return f"{layout.ALERTS_FOLDER}/{name}.json"


def sent_lately(store: Store, now: datetime) -> list[Memory]:
    """Return the causes that somebody was told of in the last seven days, without those that are known to be over."""
    names = store.names(layout.ALERTS_FOLDER)
    memories = some_at_once(names, partial(read_memory, store), REQUESTS_AT_ONCE)
    told: list[Memory] = []
    for memory in memories:
        # A process may have begun to tell a cause and told nobody of it yet.
        if memory is None or not memory.taken:
            continue
        if now - memory.at < _TOLD_AGAIN_AFTER:
            told.append(memory)
    return told


def read_memory(store: Store, name: str) -> Memory | None:
    """Read what is remembered; None if nothing is. What cannot be understood is as old as can be."""
    content = store.read(name)
    if content is None:
        return None
    try:
        fields = json.loads(content)
        at = datetime.fromisoformat(fields["at"]).astimezone(UTC)
        taken = frozenset(fields["taken"])
        return Memory(cause=str(fields["cause"]), at=at, taken=taken, token=str(fields["token"]))
    except (ValueError, TypeError, KeyError):
        # Its token is that of its bytes: the attempt that comes after it still has a name of its own.
        token = sha256_hex(content)[:16]
        return Memory(cause="", at=datetime.min.replace(tzinfo=UTC), token=token)


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of alerts: those that hold, the causes that were sent now or nobody took, and who missed one."""

    hold: Sequence[Alert]
    sent: Collection[str] = ()
    untold: Collection[str] = ()
    missed: Sequence[str] = ()

    def line_of(self, alert: Alert) -> str:
        state = "told before"
        if alert.cause in self.sent:
            state = "sent"
        elif alert.cause in self.untold:
            state = "not sent"
        return f"{state:<12}{alert.subject}"

    @property
    def missed_line(self) -> str:
        who = ", ".join(self.missed)
        return f"An alert was not taken by {who} of the alert URLs; check it there, and try: proofsweep alerts test"


class Receivers:
    """Those who are told. Nothing of them is shown but their lines, and the kind of each, such as `slack`."""

    def __init__(self, urls: Mapping[str, SecretStr]) -> None:
        self._urls = urls
        self._marks: dict[str, str] = {}
        for name, url in urls.items():
            # Two URLs that differ in a password alone have one mark: a number tells them apart.
            mark = _mark_of(url)
            alike = sum(other.startswith(mark) for other in self._marks.values())
            self._marks[name] = f"{mark}-{alike}"

    @classmethod
    def read(cls, text: str, *, where: str) -> "Receivers":
        """Read one URL a line, without `#` comments; ConfigError if none. One that apprise cannot use takes nothing."""
        _silence_libraries()
        urls: dict[str, SecretStr] = {}
        lines = text.removeprefix("\ufeff").splitlines()
        for number, line in enumerate(lines, start=1):
            content = line.strip()
            if content and not content.startswith("#"):
                url = SecretStr(content)
                kind = _kind_of(url)
                urls[f"line {number} ({kind})"] = url
        if not urls:
            raise ConfigError(f"{where} holds no alert URL; see docs/alerts.md.")
        return cls(urls)

    @property
    def names(self) -> Collection[str]:
        return self._urls.keys()

    @property
    def marks(self) -> frozenset[str]:
        """What receivers are remembered by, whichever line of the file they have; no secret can be found by it."""
        return frozenset(self._marks.values())

    def mark_of(self, name: str) -> str:
        return self._marks[name]

    def send(self, alerts: Sequence[Alert], told: Sequence[Collection[str]] = ()) -> list[list[str]]:
        """Send alerts at once; for each, name who did not take it in 30 seconds: one that hangs keeps nobody.

        Those who were `told` of an alert before, by their marks, do not get it.
        """
        taken: dict[str, set[int]] = {}  # by receiver, the numbers of the alerts that it has
        threads: list[Thread] = []
        for name, url in self._urls.items():
            mark = self._marks[name]
            has = {number for number, marks in enumerate(told) if mark in marks}
            taken[name] = has
            # A daemon: the process ends even if a receiver never answers.
            thread = Thread(target=_send, args=(url, alerts, has), daemon=True, name="alert")
            threads.append(thread)
        for thread in threads:
            thread.start()
        end = monotonic() + _LONGEST_SEND_SECONDS
        for thread in threads:
            left = end - monotonic()
            thread.join(max(0.0, left))
        # Copies: the thread of a receiver that hangs may still write its own.
        in_time = {name: frozenset(numbers) for name, numbers in taken.items()}
        missed: list[list[str]] = []
        for number in range(len(alerts)):
            names = [name for name, numbers in in_time.items() if number not in numbers]
            missed.append(names)
        return missed


def _send(url: SecretStr, alerts: Sequence[Alert], taken: set[int]) -> None:
    import apprise  # noqa: PLC0415 - a run that tells nobody imports none of it

    asset = apprise.AppriseAsset(app_id="proofsweep", app_desc="proofsweep", app_url="", async_mode=False)
    receiver = apprise.Apprise(asset=asset)
    receiver.add(url.get_secret_value())
    for number, alert in enumerate(alerts):
        if number in taken:
            continue
        kind = apprise.NotifyType(alert.severity)
        plain = apprise.NotifyFormat.TEXT
        if receiver.notify(alert.body, title=alert.subject, notify_type=kind, body_format=plain):
            taken.add(number)


def _mark_of(url: SecretStr) -> str:
    """Return a digest of a URL without its passwords, as apprise shows it, and without its options."""
    import apprise  # noqa: PLC0415 - see above

    receiver = apprise.Apprise.instantiate(url.get_secret_value())
    shown = "" if receiver is None else receiver.url(privacy=True)  # type: ignore[no-untyped-call]
    without_options = str(shown).partition("?")[0]
    return sha256_hex(without_options.encode())[:8]


def _kind_of(url: SecretStr) -> str:
    import apprise  # noqa: PLC0415 - see above

    text = url.get_secret_value()
    if apprise.Apprise.instantiate(text) is None:
        return "no URL of apprise"
    return text.partition("://")[0].lower()


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
                content = file.read(_MOST_URL_BYTES)
        except OSError as error:
            unread = f"The file of alert URLs {where} cannot be read ({error.strerror})"
            raise ConfigError(f"{unread}: see alerts.urls_file.") from error
        return Receivers.read(text_of_file(content, "replace"), where=f"The file {where}")
    if alerts.urls_block is None:
        return None
    if read_block is None:
        raise ConfigError("The settings keep the alert URLs in a Prefect Secret block, which cannot be read here.")
    text = read_block(alerts.urls_block)
    return Receivers.read(text, where=f"The secret block {alerts.urls_block}")
