"""Settings that lead to a service in this very process, an empty store, and what earlier runs have left behind."""

from collections.abc import Sequence

from proofsweep.store.known_rows import AcceptedItem, PastAnswers

from ..wired import app, catalog, change, config, service, settings

__all__ = ["app", "catalog", "change", "config", "service", "settings"]


class KnownPast(PastAnswers):
    """What earlier legs and runs have left behind, as the test says."""

    def __init__(self, items: Sequence[AcceptedItem] = ()) -> None:
        self.items, self.was_read = list(items), list[str]()

    def accepted(self) -> list[AcceptedItem]:
        return self.items

    def files_read(self, most: int) -> list[str]:
        return self.was_read[:most]
