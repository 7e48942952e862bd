"""The rows of a catalog that are chosen: by a condition, by their answer or its age, perhaps the oldest first."""

import heapq
from collections.abc import Callable, Container, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from proofsweep.config.locations import is_bucket
from proofsweep.domain.errors import NothingDue
from proofsweep.domain.headers import CALLS_PER_ITEM
from proofsweep.domain.items import FileFacts, ManifestRow, item_id_of, sidecar_key
from proofsweep.sources.catalog import Catalog, PartOfCatalog
from proofsweep.sources.preflight import work_item_of
from proofsweep.sources.row_choice import RowChoice
from proofsweep.sources.selection import ANY_AGE, Selection
from proofsweep.store.known_rows import version_of_size
from proofsweep.store.listings import Listing
from proofsweep.verify.budget import CALLS_TO_BEGIN

_LAST = datetime.max.replace(tzinfo=UTC)
# An answer that is later than that was given by a wrong clock, and may be of any age. The clocks of machines
# differ by minutes.
_CLOCKS_DIFFER = timedelta(days=1)


TriedAt = Callable[[str, str | None, str | None], datetime | None]
"""Says when an item was tried with this version of its audio and this `sidecar_key`; None if it was not."""


class DueRows(PartOfCatalog):
    """A catalog without the rows that are not due; the others are numbered anew."""

    def __init__(
        self,
        whole: Catalog,
        selection: Selection,
        *,
        sidecar_field: str | None,
        answered_at: TriedAt,
        tried_at: TriedAt,
        now: datetime,
        max_calls: int | None = None,
        planned: Container[tuple[str, str | None, str | None]] = (),
        only: Container[str] | None = None,
    ) -> None:
        """Take the whole catalog, and how it is chosen which of its rows are due.

        The oldest come first only if `max_calls` says how many are taken; an answer much later than `now` is of unknown
        age; items with the versions that a run has `planned` already are not due. Of `only` these items rows are taken;
        None for any.

        Raises:
            UsageError: the condition is none.
            CatalogError: the columns that it may name cannot be read.
        """
        super().__init__(whole)
        self.unmet = 0  # of the skipped rows, those that do not meet the conditions, whether they have an answer or not
        self.listing = Listing()  # all items of the whole catalog; complete after the last row, as `skipped` is
        self._sidecar_field = sidecar_field
        self._conditions = selection.conditions
        self._choice = RowChoice(
            selection.where, selection.modified_since(now), catalog_name=whole.name, tag_names=whole.tag_names
        )
        self._since, self._most = selection.answered_since(now), most_rows(selection, max_calls)
        self._answered_at = answered_at
        self._tried_at = tried_at
        self._now = now
        self._planned, self._only = planned, only

    def rows(self) -> Iterator[ManifestRow]:
        """Yield the rows that are due.

        Raises:
            NothingDue: there is none.
            CatalogError, ResultsError: the catalog or the answers cannot be read.
            UsageError: the condition cannot be worked out for a row.
        """
        self.listing, self.unmet, number = Listing(), 0, 0
        for row in self._due() if self._most is None else self._longest_ago(self._most):
            yield replace(row, number=number)
            number += 1
        self.ignored, self.skipped = self._whole.ignored, self.listing.rows - number
        if number == 0:
            unmet = f"; rows that do not meet {self._conditions}: {self.unmet:,}" if self._conditions else ""
            left_out = self.skipped - self.unmet
            is_told = left_out or self._since is not None
            answered = f"; rows whose answer is new enough: {left_out:,}" if is_told else ""
            raise NothingDue(f"{self.location}: nothing is due{unmet}{answered}", skipped=self.skipped)

    def _due(self) -> Iterator[ManifestRow]:
        for row, is_met in self._choice.judged(self._whole.rows()):
            self.listing.add(item := work_item_of(row, self.name, self._sidecar_field))
            is_chosen = is_met and (self._only is None or item.item_id in self._only)
            self.unmet += not is_chosen
            if is_chosen and self._is_due(row, item.item_id):
                yield replace(row, is_touched=True) if self._is_touched(row, item.item_id) else row

    def _is_due(self, row: ManifestRow, item_id: str) -> bool:
        known = (item_id, row.audio_version, sidecar_key(row.sidecar, row.sidecar_version))
        return known not in self._planned and not self._is_answered(*known)

    def _is_touched(self, row: ManifestRow, item_id: str) -> bool:
        """Whether only the time of a file may differ; an object's version is none of time."""
        facts = row.audio_facts
        if not isinstance(facts, FileFacts) or row.refused is not None or is_bucket(row.audio or ""):
            return False
        return self._is_answered(item_id, *version_of_size(facts.size_bytes, is_pair=row.sidecar is not None))

    def _is_answered(self, item_id: str, audio_version: str | None, sidecar: str | None) -> bool:
        since = self._since
        answered_at = None if since is None else self._answered_at(item_id, audio_version, sidecar)
        if since is None or answered_at is None:
            return False
        until = _LAST if since == ANY_AGE else self._now + _CLOCKS_DIFFER
        return since <= answered_at <= until

    def _longest_ago(self, most: int) -> list[ManifestRow]:
        """Choose rows by when they were tried; only so many are in memory. Audio that is not there comes last."""

        def tried(row: ManifestRow) -> tuple[datetime, int]:
            never = _LAST if row.audio_facts is None else ANY_AGE
            sidecar = sidecar_key(row.sidecar, row.sidecar_version)
            return self._tried_at(item_id_of(row, self.name), row.audio_version, sidecar) or never, row.number

        return heapq.nsmallest(most, self._due(), key=tried)


def most_rows(selection: Selection, max_calls: int | None) -> int | None:
    """Return how many rows are taken at most, the longest untried first; None for all."""
    if not selection.oldest_first or max_calls is None:
        return None
    return max(1, (max_calls - CALLS_TO_BEGIN) // CALLS_PER_ITEM)
