"""Tell each cause once, whoever finds it: the end of a leg, or a check."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from proofsweep.domain.alerts.memory import IsTold
from proofsweep.domain.alerts.messages import Alert
from proofsweep.storage.results.store import Store
from proofsweep.storage.results.told_alerts import read_told, write_told

Decide = Callable[[IsTold], Sequence[Alert]]
"""Gives the alerts that hold now; it may ask which causes were told."""


class Channel(Protocol):
    """A way by which alerts reach somebody."""

    def send(self, alert: Alert) -> list[str]:
        """Send an alert; name those who did not get it."""
        ...

    def __len__(self) -> int:
        """Count those who are told."""
        ...


@dataclass(frozen=True, slots=True)
class Telling:
    """What became of alerts: those that hold, those sent now, and who did not get them."""

    hold: Sequence[Alert]
    sent: Sequence[Alert]
    missed: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Teller:
    """Sends the alerts whose causes were not told in the last `repeat_days`, and remembers them in the store."""

    store: Store
    channels: Sequence[Channel]
    clock: Callable[[], datetime]
    repeat_days: float

    def tell(self, decide: Decide, over: Iterable[str] = ()) -> Telling:
        """Forget the causes that are over, decide, send what is new, and remember what somebody got.

        Raises:
            ResultsError: the store cannot be read or written.
        """
        before = read_told(self.store)
        told = before.recent(self.clock(), self.repeat_days).without(over)
        hold = decide(told.is_told)
        missed: list[str] = []
        sent: list[Alert] = []
        for alert in told.untold(hold):
            without = [name for channel in self.channels for name in channel.send(alert)]
            missed += without
            if len(without) < sum(map(len, self.channels)):
                sent.append(alert)
        after = told.having(sent, self.clock())
        if after != before:
            write_told(self.store, after)
        return Telling(hold, sent, list(dict.fromkeys(missed)))
