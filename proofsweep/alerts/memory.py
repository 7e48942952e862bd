"""Which causes were told when: a cause is told once, and again only if it still holds much later."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from proofsweep.alerts.messages import Alert

IsTold = Callable[[str], bool]  # Says whether a cause was told not long ago


@dataclass(frozen=True, slots=True)
class ToldCauses:
    """Causes that were told, and when."""

    at: Mapping[str, datetime]

    def recent(self, now: datetime, repeat_days: float) -> "ToldCauses":
        """Keep what was told within so many days; one from the future was told by a wrong clock, and is forgotten."""
        since = now - timedelta(days=repeat_days)
        return ToldCauses({cause: at for cause, at in self.at.items() if since < at <= now})

    def without(self, over: Iterable[str]) -> "ToldCauses":
        """Forget causes that are over, so that they are told when they come again; `over` are the begins of causes."""
        begins = tuple(over)
        kept = {cause: at for cause, at in self.at.items() if not any(_begins(cause, begin) for begin in begins)}
        return ToldCauses(kept)

    def having(self, alerts: Iterable[Alert], now: datetime) -> "ToldCauses":
        """Add what was told now."""
        return ToldCauses({**self.at, **{cause: now for alert in alerts for cause in alert.causes}})

    def is_told(self, cause: str) -> bool:
        """Return whether a cause was told."""
        return cause in self.at

    def untold(self, alerts: Iterable[Alert]) -> list[Alert]:
        """Keep the alerts of which some cause was not told."""
        return [alert for alert in alerts if not all(map(self.is_told, alert.causes))]


def _begins(cause: str, begin: str) -> bool:
    return cause == begin or cause.startswith(f"{begin}\t")
