"""Plan a run: read the catalog, judge each row by its listing, write the items, then the plan; or count only."""

import secrets
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from itertools import chain

from proofsweep import __version__
from proofsweep.config.locations import resolved_location, url_of
from proofsweep.config.sections import CatalogSettings, ServiceSettings
from proofsweep.domain import runs
from proofsweep.domain.errors import CatalogError
from proofsweep.domain.items import sidecar_key, utf8_text
from proofsweep.domain.runs import INGEST, OUTCOMES, Plan, new_run_id
from proofsweep.sources.catalog import Catalog
from proofsweep.sources.files import Files
from proofsweep.sources.selection import Selection
from proofsweep.store.completed_rows import CompletedRows
from proofsweep.store.known_rows import AnswerTimes, HashedItems
from proofsweep.store.ledger import Ledger
from proofsweep.store.legs import CatalogLease
from proofsweep.store.listings import Listing, write_gone
from proofsweep.store.parts import Results
from proofsweep.store.tables import ANSWERED
from proofsweep.verify.check_file import known_good_items
from proofsweep.verify.due_rows import DueRows
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
