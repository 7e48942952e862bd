"""Send each cause once, whoever finds it: the end of a leg, or a check."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from proofsweep.alerts.events import Severity
from proofsweep.alerts.messages import Alert, SentCauses, WasSent
from proofsweep.errors import ProofsweepError
from proofsweep.model import layout
from proofsweep.store.store import Store


def read_sent(store: Store) -> SentCauses:
    """Read which causes were sent when; nothing if there is no such object, or if it cannot be understood."""
    content = store.read(layout.sent_alerts_name())
    try:
        cells = json.loads(content or b"{}")
        return SentCauses({str(cause): datetime.fromisoformat(at).astimezone(UTC) for cause, at in cells.items()})
    except (ValueError, TypeError, AttributeError):
        return SentCauses({})


def write_sent(store: Store, sent: SentCauses) -> None:
    """Write which causes were sent when. Of two processes that write at once, one loses; its causes are sent again."""
    cells = {cause: at.isoformat() for cause, at in sorted(sent.at.items())}
    store.replace(layout.sent_alerts_name(), json.dumps(cells, indent=2, ensure_ascii=False).encode("utf-8", "replace"))


Decide = Sequence[Alert] | Callable[[WasSent], Sequence[Alert]]
"""The alerts that hold now, or what says them; that may ask which causes were sent."""

Gather = Callable[[], tuple[Decide, Sequence[str]]]
"""Gives what decides, and the begins of the causes that are over; it is called only if there is somebody to tell."""


class Channel(Protocol):
    """A way by which alerts reach somebody."""

    def send(self, alerts: Sequence[Alert]) -> list[list[str]]:
        """Send alerts; for each, name those who did not get it."""
        ...

    def __len__(self) -> int:
        """Count those who get them."""
        ...


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of alerts: those that hold, those sent now, and who did not get them."""

    hold: Sequence[Alert]
    sent: Sequence[Alert]
    missed: Sequence[str]
    has_receivers: bool = True

    @property
    def urgent(self) -> list[Alert]:
        """Those that hold and need a person: not the daily digest."""
        return [alert for alert in self.hold if alert.severity is not Severity.INFO]

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

    `page_of` gives the address of a page that shows what an alert is about; None if nobody serves one.
    """

    store: Store
    channels: Sequence[Channel]
    clock: Callable[[], datetime]
    repeat_days: float
    page_of: Callable[[Alert], str | None] = lambda _: None

    def notify(self, decide: Decide, over: Iterable[str] = ()) -> Delivery:
        """Forget the causes that are over, decide, send what is new, and remember what somebody got."""
        before = read_sent(self.store)
        known = before.recent(self.clock(), self.repeat_days).without(over)
        hold = decide(known.was_sent) if callable(decide) else decide
        new = known.unsent(hold)
        linked = [alert.with_page(self.page_of(alert)) for alert in new]
        by_channel = [channel.send(linked) for channel in self.channels] if new else []
        missed = [[name for names in each for name in names] for each in zip(*by_channel, strict=True)]
        everybody = sum(map(len, self.channels))
        sent = [alert for alert, names in zip(new, missed, strict=True) if len(names) < everybody]
        after = known.having(sent, self.clock())
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
