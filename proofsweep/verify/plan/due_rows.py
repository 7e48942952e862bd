"""The rows of a catalog that are due: without an answer, or with one that is too old, perhaps the oldest first."""

import heapq
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from proofsweep.catalog.open_catalog import Catalog
from proofsweep.contract.limits import CALLS_PER_ITEM
from proofsweep.errors import NothingDue, UsageError
from proofsweep.model.items import FileFacts, ManifestRow, Unlisted, item_id_of
from proofsweep.store.plans_and_parts import ListedItems
from proofsweep.verify.budget.bounds import duration_of
from proofsweep.verify.budget.budget import CALLS_TO_BEGIN

TriedAt = Callable[[str, str | None, str | None], datetime | None]
"""Says when an item was tried with these versions of its audio and sidecar; None if it was not."""

_NEVER = datetime.min.replace(tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)
# An answer that is later than that was given by a wrong clock, and may be of any age. Chosen: any value from the
# minutes by which the clocks of machines differ to the youngest age that somebody asks for does.
_CLOCKS_DIFFER = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DueRules:
    """Which rows of a catalog are planned.

    Attributes:
        answered_since: rows with an answer that is not older are left out, while their files are unchanged; None
            leaves none of them out.
        most: of the others, so many are planned: those that were never tried first, then those that were tried longest
            ago; None plans all, in the catalog's order.
    """

    answered_since: datetime | None = None
    most: int | None = None


def due_rules(
    now: datetime,
    *,
    since_last: bool = False,
    max_age: str | None = None,
    oldest_first: bool = False,
    max_calls: int | None = None,
) -> DueRules | None:
    """Return which rows of a catalog are due; None if all are.

    Raises:
        UsageError: the options contradict each other, or a time span cannot be read.
    """
    if since_last and max_age is not None:
        raise UsageError("Give --since-last or --max-age, not both: the first one leaves out answers of any age.")
    if oldest_first and max_calls is None:
        raise UsageError("--oldest-first needs --max-calls: it verifies as many rows as these calls are enough for.")
    if not (since_last or max_age is not None or oldest_first):
        return None
    since = _NEVER if since_last else None
    most = max(1, (max_calls - CALLS_TO_BEGIN) // CALLS_PER_ITEM) if oldest_first and max_calls is not None else None
    return DueRules(answered_since=since if max_age is None else now - duration_of(max_age), most=most)


def selection_of(
    *,
    since_last: bool = False,
    max_age: str | None = None,
    oldest_first: bool = False,
    root: str | None = None,
    allow_outside: bool = False,
) -> str:
    """Write the options that choose rows, as on the command line; a run goes on only with those it was planned with."""
    flags = {"--since-last": since_last, "--oldest-first": oldest_first, "--allow-outside": allow_outside}
    values = {"--max-age": max_age, "--root": root}
    given = [*(flag for flag, is_given in flags.items() if is_given)]
    return " ".join([*given, *(f"{option} {value}" for option, value in values.items() if value is not None)])


class DueRows:
    """A catalog without the rows that are not due; the others are numbered anew.

    Attributes:
        skipped: rows that were left out; complete after the last row.
        listed: the items of the whole catalog; complete after the last row.
    """

    def __init__(
        self,
        whole: Catalog,
        rules: DueRules,
        *,
        answered_at: TriedAt,
        tried_at: TriedAt,
        now: datetime,
        planned: Container[tuple[str, str | None, str | None]] = (),
    ) -> None:
        """Take the whole catalog.

        Args:
            whole: the catalog.
            rules: which of its rows are due.
            answered_at: says when an item was answered.
            tried_at: says when an item was tried, with any outcome.
            now: an answer that is much later is of unknown age.
            planned: items with the versions that a run has planned already; they are not due.
        """
        self.name, self.location, self.kind, self.root = whole.name, whole.location, whole.kind, whole.root
        self.skipped, self.listed = 0, ListedItems()
        self._whole = whole
        self._rules = rules
        self._answered_at = answered_at
        self._tried_at = tried_at
        self._now = now
        self._planned = planned
        self.ignored, self.reported_run = whole.ignored, whole.reported_run

    def rows(self) -> Iterator[ManifestRow]:
        """Yield the rows that are due.

        Raises:
            NothingDue: there is none.
            CatalogError, ResultsError: the catalog or the answers cannot be read.
        """
        self.listed, number = ListedItems(), 0
        for row in self._due() if self._rules.most is None else self._longest_ago(self._rules.most):
            yield replace(row, number=number)
            number += 1
        self.ignored, self.skipped = self._whole.ignored, self.listed.rows - number
        if number == 0:
            message = f"{self.location}: nothing is due; rows whose answer is new enough: {self.skipped:,}"
            raise NothingDue(message, skipped=self.skipped)

    def digest(self) -> str:
        """Return the whole catalog's digest: answers make no other catalog of it."""
        return self._whole.digest()

    def _due(self) -> Iterator[ManifestRow]:
        for row in self._whole.rows():
            self.listed.add(item_id := item_id_of(row, self.name))
            if self._is_due(row, item_id):
                yield row

    def _is_due(self, row: ManifestRow, item_id: str) -> bool:
        if (item_id, _version(row.audio_facts), _version(row.sidecar_facts)) in self._planned:
            return False
        since = self._rules.answered_since
        answered_at = None if since is None else self._time_of(row, self._answered_at)
        if since is None or answered_at is None:
            return True
        until = _LAST if since == _NEVER else self._now + _CLOCKS_DIFFER
        return not since <= answered_at <= until

    def _longest_ago(self, most: int) -> list[ManifestRow]:
        """Choose rows by when they were tried; only so many are in memory. Audio that is not there comes last."""

        def tried(row: ManifestRow) -> tuple[datetime, int]:
            never = _LAST if row.audio_facts is None else _NEVER
            return self._time_of(row, self._tried_at) or never, row.number

        return heapq.nsmallest(most, self._due(), key=tried)

    def _time_of(self, row: ManifestRow, tried_at: TriedAt) -> datetime | None:
        return tried_at(item_id_of(row, self.name), _version(row.audio_facts), _version(row.sidecar_facts))


def _version(facts: FileFacts | Unlisted | None) -> str | None:
    return facts.version if isinstance(facts, FileFacts) else None
