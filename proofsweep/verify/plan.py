"""Plan a run: read the catalog, judge each row by its listing, write the items, then the plan; or count only.

Rows are chosen by a condition, by their answer or its age, perhaps the oldest first.
"""

import heapq
import secrets
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import chain

from proofsweep import __version__
from proofsweep.config.locations import is_bucket, resolved_location, url_of
from proofsweep.config.sections import CatalogSettings, ServiceSettings
from proofsweep.domain import runs
from proofsweep.domain.errors import CatalogError, NothingDue
from proofsweep.domain.exchanges import CALLS_PER_ITEM
from proofsweep.domain.items import FileFacts, ManifestRow, item_id_of, sidecar_key, utf8_text
from proofsweep.domain.runs import INGEST, OUTCOMES, Plan, new_run_id
from proofsweep.sources.catalog import Catalog, PartOfCatalog
from proofsweep.sources.files import Files
from proofsweep.sources.preflight import work_item_of
from proofsweep.sources.row_choice import RowChoice
from proofsweep.sources.selection import ANY_AGE, Selection
from proofsweep.store.completed_rows import CompletedRows
from proofsweep.store.known_rows import AnswerTimes, HashedItems, version_of_size
from proofsweep.store.ledger import Ledger
from proofsweep.store.legs import CatalogLease
from proofsweep.store.listings import Listing, write_gone
from proofsweep.store.parts import Results
from proofsweep.store.tables import ANSWERED
from proofsweep.verify.budget import CALLS_TO_BEGIN
from proofsweep.verify.check_file import known_good_items
from proofsweep.verify.item import Clock
from proofsweep.verify.survey import (
    CredentialCheck,
    Survey,
    UnsentRow,
    ignored_entries,
    items_of,
    refuse_hopeless,
    survey_catalog,
    unsent_rows,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planner:
    """Plans runs of open catalogs for one service and one results store."""

    results: Results
    service: ServiceSettings
    catalogs: CatalogSettings
    clock: Clock

    @property
    def environment(self) -> str:
        return self.service.environment

    def identity_of(self, listing: Catalog) -> str:
        """Return what the runs of one catalog have in common: its name in the settings, else where it is."""
        return self.catalogs.name or resolved_location(listing.location)

    def chosen_rows(
        self,
        whole: Catalog,
        selection: Selection,
        max_calls: int | None = None,
        *,
        only: Container[str] | None = None,
        after: Plan | None = None,
        beside: Plan | None = None,
    ) -> Catalog:
        """Return the catalog with just the rows that are chosen; CatalogError or UsageError if they cannot be read.

        Of `only` these items; neither what the plan `after` has, nor what remains of the plan `beside`.
        """
        if selection.is_of_all_rows and after is None and beside is None:
            return whole
        elsewhere = chain(
            () if after is None else self.results.items(after),
            () if beside is None else CompletedRows.load(self.results, beside).items(),
        )
        return DueRows(
            whole,
            selection,
            sidecar_field=self.service.sidecar_field,
            answered_at=AnswerTimes(self.results, self.environment, ANSWERED).of,
            tried_at=AnswerTimes(self.results, self.environment, OUTCOMES).of,
            now=self.clock(),
            max_calls=max_calls,
            planned=HashedItems(
                hash((item.item_id, item.audio_version, sidecar_key(item.sidecar, item.sidecar_version)))
                for item in elsewhere
            ),
            only=only,
        )

    def survey(self, listing: Catalog) -> Survey:
        """Read chosen rows once; NothingDue if there is none, ConfigError if none could ever be sent."""
        survey = survey_catalog(listing, self.service.sidecar_field, self._credential_check(listing))
        self._refuse_unsendable(survey, listing)
        return survey

    def unsent(self, listing: Catalog) -> Iterator[UnsentRow]:
        """Yield the chosen rows that will not be sent, as the catalog is read; NothingDue if no row is chosen."""
        return unsent_rows(listing, self.service.sidecar_field, self._credential_check(listing))

    def plan(
        self,
        listing: Catalog,
        selection: Selection,
        may_begin: Callable[[], object],
        run_id: str | None = None,
        *,
        partitions: int = 1,
    ) -> Plan:
        """Write a run's items and then its plan; without a plan there is no run. One of few files has one partition.

        `may_begin` is called when the catalog is read and counted; if it raises, nothing was written.

        Raises:
            CatalogError: the catalog cannot be read, or is empty; nothing was written.
            RunIsActive: a run of the catalog is worked on.
            ResultsError: the results store cannot be written.
        """
        identity, now, store = self.identity_of(listing), self.clock(), self.results.store
        term = None if listing.kind == INGEST else CatalogLease(store, self.environment, identity).last_over()
        after_entry = Ledger(store).newest()
        run_id, survey, items = run_id or new_run_id(now, secrets.token_hex(3)), Survey(), Listing()
        for item in items_of(listing.rows(), listing.name, self.service.sidecar_field, self._credential_check(listing)):
            survey.note(item)
            items.add(item)
        self._refuse_unsendable(survey, listing)
        may_begin()
        plan = Plan(
            run_id=run_id,
            created_at=now.isoformat(),
            environment=self.environment,
            base_url=self.service.base_url,
            catalog=listing.location,
            catalog_kind=listing.kind,
            catalog_digest=listing.digest(),
            items=survey.items,
            eligible=survey.eligible,
            pairs=survey.pairs,
            audio_bytes=survey.audio_bytes,
            batch_items=runs.BATCH_ITEMS,
            reasons=dict(survey.reasons),
            ignored=ignored_entries(listing),
            proofsweep_version=__version__,
            catalog_root=None if listing.root is None else url_of(listing.root),
            skipped=listing.skipped,
            unmet=listing.unmet if isinstance(listing, DueRows) else 0,
            tag_names=[*dict.fromkeys(map(utf8_text, listing.tag_names()))],
            selection=selection.text,
            catalog_identity=identity,
            catalog_term=term,
            after_entry=after_entry,
            partitions=1 if survey.items <= runs.SMALL_RUN_ITEMS else partitions,
        )
        for number, table in enumerate(items.tables(plan.batch_items)):
            self.results.write_items(run_id, number, table)
        if isinstance(listing, DueRows) and listing.skipped and not plan.lists_a_part:
            write_gone(self.results, run_id, listing.listing, self.environment, identity)
            listing.listing.write(self.results, run_id)
        self.results.write_plan(plan)
        return plan

    def _credential_check(self, listing: Catalog) -> CredentialCheck | None:
        """Return what leaves out WAVs without a credential, if wanted; passes over folders ask for each file."""
        is_wanted = self.catalogs.skip_without_credential and listing.kind != INGEST
        return CredentialCheck(Files(listing.root)) if is_wanted else None

    def _refuse_unsendable(self, survey: Survey, listing: Catalog) -> None:
        """Refuse a run that could send nothing because of a wrong setting."""
        known_good_items(self.service)
        refuse_hopeless(survey, listing)


def catalog_has_changed(plan: Plan, open_catalog: Callable[[], Catalog]) -> bool:
    """Return whether the catalog is not what it was when the run was planned; one that is gone has changed too.

    The files of an ingest pass are a part of their catalog; each is compared with its plan when read.
    """
    try:
        return plan.catalog_kind != INGEST and open_catalog().digest() != plan.catalog_digest
    except CatalogError:
        return True


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
