"""The overview of all accounts, from their settings. No key is read here: it only looks at results stores."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from proofsweep.answers.overview.gather import ShownAccount, ShownStore, overview_of
from proofsweep.answers.overview.values import Overview, Schedule
from proofsweep.settings import Settings
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.store import open_store


def overview_for(accounts: Sequence[Settings], now: datetime, schedule: Callable[[], Schedule | None]) -> Overview:
    """Gather the overview of some accounts: ResultsError if one of their stores cannot be read."""
    return overview_of(list(_stores(accounts)), now, schedule)


def _stores(accounts: Sequence[Settings]) -> Iterator[ShownStore]:
    """Yield each store once, with its accounts; a config without accounts shows all that is in its store."""
    for url in dict.fromkeys(each.results.url for each in accounts):
        of_store = [each for each in accounts if each.results.url == url and each.account is not None]
        shown = [
            ShownAccount(
                name=str(each.account),
                environment=each.service.environment,
                key_ends_at=each.service.key_expires_at,
            )
            for each in of_store
        ]
        yield ShownStore(results=Results(open_store(url)), accounts=shown)


def names_of_stores(accounts: Sequence[Settings]) -> str:
    """Name the stores of some accounts for a person."""
    return ", ".join(store.results.store.url for store in _stores(accounts))
