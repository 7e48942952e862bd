"""The overview of all accounts, from their settings. No key is read here: it only looks at results stores."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from proofsweep.answers.overview.gather import ShownAccount, ShownStore, overview_of
from proofsweep.answers.overview.values import FlowSchedule, Overview
from proofsweep.settings import Settings
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.store import Store, open_store


def overview_for(
    accounts: Sequence[Settings],
    now: datetime,
    schedule: Callable[[], FlowSchedule | None],
    opened: Callable[[str], Store] = open_store,
) -> Overview:
    """Gather the overview of some accounts: ResultsError if one of their stores cannot be read."""
    return overview_of(list(_stores(accounts, opened)), now, schedule)


def _stores(accounts: Sequence[Settings], opened: Callable[[str], Store]) -> Iterator[ShownStore]:
    """Yield each store once, with its accounts; a config without accounts shows all that is in its store."""
    for url in dict.fromkeys(each.results.url for each in accounts):
        shown = [
            ShownAccount(
                name=each.account,
                environment=each.service.environment,
                key_ends_at=each.service.key_expires_at,
            )
            for each in accounts
            if each.results.url == url and each.account is not None
        ]
        yield ShownStore(results=Results(opened(url)), accounts=shown)


def names_of_stores(accounts: Sequence[Settings]) -> str:
    """Name the stores of some accounts for a person."""
    return ", ".join(dict.fromkeys(open_store(each.results.url).url for each in accounts))
