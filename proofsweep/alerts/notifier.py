"""Send each cause once, whoever finds it: the end of a leg, or a check."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from proofsweep.alerts.messages import Alert
from proofsweep.alerts.receivers import Receivers
from proofsweep.errors import ProofsweepError
from proofsweep.model import layout
from proofsweep.store.store import Store

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


def still_sent(sent: Sent, now: datetime, repeat_days: float, over: Iterable[str] = ()) -> Sent:
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
