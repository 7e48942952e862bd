"""Plan a run: read the catalog, judge each row by its listing, write the items, then the plan; or count only.

Rows are chosen by a condition, by their answer or its age, perhaps the oldest first.
"""

import heapq
import posixpath
import secrets
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import islice, tee

from proofsweep import __version__
from proofsweep.config.locations import identity_of, one_line, path_within, url_of
from proofsweep.config.sections import ANYWHERE, CatalogSettings, ServiceSettings
from proofsweep.config.threads import monotonic
from proofsweep.domain import runs
from proofsweep.domain.errors import CatalogError, ConfigError, NothingDue, RunMustStop
from proofsweep.domain.exchanges import CALLS_PER_ITEM
from proofsweep.domain.items import (
    ManifestRow,
    Mode,
    WorkItem,
    proof_id_of,
    raw_bytes,
    sidecar_key,
    utf8_text,
    version_of_audio,
)
from proofsweep.domain.reasons import Reason, about
from proofsweep.domain.runs import INGEST, MANIFEST, OUTCOMES, Plan, new_run_id
from proofsweep.domain.text import counted
from proofsweep.files.files import Files, kind_of
from proofsweep.files.folder_listing import Cause
from proofsweep.sources.catalog import Catalog, PartOfCatalog
from proofsweep.sources.not_in_list import MOST_FOUND
from proofsweep.sources.open_catalog import open_catalog
from proofsweep.sources.preflight import work_item_of
from proofsweep.sources.row_choice import RowChoice
from proofsweep.sources.selection import ANY_AGE, Selection
from proofsweep.store.known_rows import LAST, AnswerTimes, HashedItems, version_of_size
from proofsweep.store.legs import refuse_if_active
from proofsweep.store.listings import Listing, gone_since, places_of_others, write_gone
from proofsweep.store.parts import Results
from proofsweep.store.tables import ANSWERED
from proofsweep.verify.budget import CALLS_OF_A_PROOF, CALLS_TO_BEGIN
from proofsweep.verify.check_file import known_good_items
from proofsweep.verify.duplicates import PossibleCopies
from proofsweep.verify.earlier_places import EarlierPlaces
from proofsweep.verify.first_look import FirstLook
from proofsweep.verify.item import Clock

NOT_IN_LIST = "not_in_list"  # of audio that is no row
_TO_BE_LISTED = "add it to a list, or leave it out with catalog.exclude"
# An answer that is later than that was given by a wrong clock, and may be of any age. The clocks of machines
# differ by minutes.
_CLOCKS_DIFFER = timedelta(days=1)


@dataclass(slots=True)
class Survey:
    """What a catalog holds: rows, and how many of them can be sent."""

    copies: PossibleCopies | None = None  # None if none are sought
    items: int = 0
    eligible: int = 0
    pairs: int = 0
    audio_bytes: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)  # of each reason, what is wrong with the first row
    touched: int = 0  # eligible rows that may have the bytes of their answer

    def add(self, item: WorkItem) -> None:
        self.items += 1
        if item.ineligible is not None:
            reason = str(item.ineligible.reason)
            self.reasons[reason] += 1
            self.examples.setdefault(reason, item.ineligible.detail)
            return
        self.eligible += 1
        self.pairs += item.mode is Mode.LEGACY_PAIR
        self.audio_bytes += item.audio_bytes or 0
        self.touched += item.is_touched
        if self.copies is not None and not item.is_touched:
            self.copies.add(item)

    @property
    def may_be_free(self) -> int:
        """How many eligible rows may cost no call, which only their bytes tell."""
        return self.touched + (0 if self.copies is None else self.copies.count)


@dataclass(frozen=True, slots=True)
class UnsentRow:
    where: str  # the manifest and the line; empty in a folder
    file: str  # the audio as seen from the catalog's root; empty if the row names none
    reason: str
    detail: str
    tags: Mapping[str, str]
    what_to_do: str


def ignored_entries(catalog: Catalog) -> dict[str, int]:
    """Count the entries of a scan that gave no item, by cause; leave out causes that did not occur."""
    return {cause.value: catalog.ignored[cause] for cause in Cause if catalog.ignored[cause]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Planner:
    """Plans runs of open catalogs for one service and one results store."""

    results: Results
    service: ServiceSettings
    catalogs: CatalogSettings
    clock: Clock

    def identity_of(self, listing: Catalog) -> str:
        """Return what the runs of one catalog have in common: its name in the settings, else where it is."""
        return identity_of(listing.location, self.catalogs.name)

    def has_changed(self, plan: Plan) -> bool:
        """Whether a catalog is not what it was when a run was planned; one that is gone has changed too.

        Of an ingest pass, each file is compared with its plan when it is read.
        """
        if plan.catalog_kind == INGEST:
            return False
        as_planned = self.catalogs.model_copy(update={"root": plan.catalog_root or ANYWHERE})
        try:
            return open_catalog(plan.catalog, as_planned, is_checked=False).digest() != plan.catalog_digest
        except CatalogError:
            return True

    def lists_beside(self, listing: Catalog) -> list[str]:
        """Return other lists of the same files that count, the newest first, if this one was never verified before.

        A list that comes under a new file name is another catalog: what it lacks is not gone.
        """
        plans = self.results.log.runs().plans(self.service.environment)
        identity = self.identity_of(listing)
        if listing.kind != MANIFEST or any(plan.identity == identity for plan in plans):
            return []
        root = None if listing.root is None else url_of(listing.root)
        lists = [plan for plan in plans if plan.catalog_kind == MANIFEST and plan.catalog_root == root]
        # Without a root the files may lie anywhere, so only the place of the lists tells.
        if root is None:
            folder = posixpath.dirname(listing.location)
            lists = [plan for plan in lists if posixpath.dirname(plan.catalog) == folder]
        return list(dict.fromkeys(plan.catalog for plan in lists))

    def items(self, listing: Catalog) -> Iterator[WorkItem]:
        """Yield the rows as items, each judged.

        CatalogError, after the last one, if the ID of one is that of other audio in this environment.
        """
        earlier = EarlierPlaces(self.results, self.service.environment, self.identity_of(listing), listing)
        for item in self.judged(listing, listing.rows()):
            earlier.add(item)
            yield item
        earlier.refuse_other_audio(listing.listing if isinstance(listing, DueRows) else None)

    def judged(self, listing: Catalog, rows: Iterable[ManifestRow]) -> Iterator[WorkItem]:
        """Yield rows as items, each judged by its listing, and by a look into what its name makes doubtful."""
        items = ((row, work_item_of(row, listing.name, self.service.sidecar_field)) for row in rows)
        skips = self.catalogs.skip_without_credential and listing.kind != INGEST  # a pass asks for each file
        return FirstLook(Files(listing.root), skips_without_credential=skips).looked(items)

    def survey(self, listing: Catalog) -> Survey:
        """Read chosen rows once; NothingDue if there is none, ConfigError if none could ever be sent."""
        survey = self._new_survey(listing)
        for item in self.items(listing):
            survey.add(item)
        self._refuse_hopeless(survey, listing)
        return survey

    def unsent(self, listing: Catalog) -> Iterator[UnsentRow]:
        """Yield the chosen rows that will not be sent, as the catalog is read; NothingDue if no row is chosen."""
        rows, same_rows = tee(listing.rows())
        for row, item in zip(rows, self.judged(listing, same_rows), strict=True):
            unfit = item.ineligible
            if unfit is None:
                continue
            file = item.relative_path or utf8_text(item.audio)
            detail = unfit.detail.removeprefix(f"{row.where}: ")
            remedy = about(unfit.reason, "ineligible").remedy
            yield UnsentRow(row.where, file if item.audio else "", str(unfit.reason), detail, row.tags, remedy)

    def not_in_list(self, listing: Catalog) -> Iterator[UnsentRow]:
        """Yield the first audio beside the files of a list that no catalog lists, once all rows have been read."""
        beside = islice(listing.files_beside(), MOST_FOUND)
        found = {raw_bytes(location): location for location in beside}
        if found:
            for place in places_of_others(self.results, self.service.environment, self.identity_of(listing)):
                found.pop(place, None)
        for location in found.values():
            file = location if listing.root is None else path_within(location, listing.root)
            yield UnsentRow("", utf8_text(file), NOT_IN_LIST, "No list names this file.", {}, _TO_BE_LISTED)

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

        `may_begin` is called when the catalog is read and counted. If it raises, or the catalog cannot be read
        (CatalogError) or is worked on (RunIsActive), nothing was written.
        """
        identity, began = self.identity_of(listing), monotonic()
        read_after = None
        if listing.kind != INGEST:
            read_after = refuse_if_active(self.results, self.service.environment, identity)
        survey, items = self._new_survey(listing), Listing()
        self._take(listing, survey, items)
        self._refuse_hopeless(survey, listing)
        with _waiting_rows_told(survey.items):
            may_begin()
        # The plan is of the moment when its reading began. Only now the clock of the service is surely known.
        created_at = self.clock() - timedelta(seconds=monotonic() - began)
        run_id = run_id or new_run_id(created_at, secrets.token_hex(3))
        is_small = survey.items <= runs.SMALL_RUN_ITEMS
        plan = Plan(
            run_id=run_id,
            created_at=created_at.isoformat(),
            environment=self.service.environment,
            base_url=self.service.base_url,
            catalog=listing.location,
            catalog_kind=listing.kind,
            catalog_digest=listing.digest(),
            items=survey.items,
            eligible=survey.eligible,
            pairs=survey.pairs,
            may_be_free=survey.may_be_free,
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
            read_after=read_after,
            partitions=1 if is_small else partitions,
        )
        items.write(self.results, run_id, "items", plan.batch_items)
        if isinstance(listing, DueRows) and listing.skipped and not plan.lists_a_part:
            write_gone(self.results, run_id, listing.listing, self.service.environment, identity)
            listing.listing.write(self.results, run_id)
        self.results.write_plan(plan)
        return plan

    def _take(self, listing: Catalog, survey: Survey, items: Listing) -> None:
        """Read the chosen rows; NothingDue if there is none, unless a run must say that the catalog lists less.

        Nothing else does: what is gone would need attention until another file is due.
        """
        try:
            self._take_all(listing, survey, items)
        except NothingDue as nothing:
            if nothing.unmet or not self._lists_less(listing):
                raise

    def _take_all(self, listing: Catalog, survey: Survey, items: Listing) -> None:
        for item in self.items(listing):
            survey.add(item)
            items.add(item)

    def _lists_less(self, listing: Catalog) -> bool:
        """Whether the catalog of which nothing is due has listed files before that it lists no more."""
        if not isinstance(listing, DueRows):
            return False
        identity = self.identity_of(listing)
        return bool(gone_since(self.results, listing.listing, self.service.environment, identity))

    def _new_survey(self, listing: Catalog) -> Survey:
        if not self.catalogs.dedupe or listing.kind == INGEST:  # nobody waits for the forecast of a pass
            return Survey()
        return Survey(copies=PossibleCopies(Files(listing.root)))

    def _refuse_hopeless(self, survey: Survey, listing: Catalog) -> None:
        """Refuse a run that could send nothing for a reason that a person corrects at once."""
        known_good_items(self.service)
        # If rows were left out, it is not the whole catalog that cannot be sent.
        if listing.skipped or not survey.items:
            return
        # One supplier's pairs, or links that lead outside, end no pass over a watched folder: each row says why.
        if listing.kind == INGEST:
            return
        if survey.reasons[Reason.SIDECAR_FIELD_UNKNOWN] == survey.items:
            raise ConfigError(
                f"The catalog holds nothing but legacy pairs ({survey.items:,}), and the sidecar's wire name is not "
                "set: ask the partner for it and set service.sidecar_field."
            )
        if survey.reasons[Reason.OUTSIDE_CATALOG] == survey.items:
            root = one_line(posixpath.join(listing.root or "", ""))
            raise CatalogError(
                f"{listing.location}: every row ({survey.items:,}) leads outside the catalog's root {root}: if that is "
                'meant, set catalog.root to the folder that holds the files, or to "anywhere"'
            )


@contextmanager
def _waiting_rows_told(rows: int) -> Iterator[None]:
    """Say in what stops a run before it begins how many rows wait, since no run says it."""
    try:
        yield
    except RunMustStop as stop:
        message = f"{stop.message} No run has begun; {counted(rows, 'row')} waiting."
        raise RunMustStop(message, ended_by=stop.ended_by, quota_reset=stop.quota_reset, catalog=stop.catalog) from stop


def _versions_of(item: WorkItem) -> tuple[str, str | None, str | None]:
    """Return what tells an item with these versions of its files from one with others."""
    version = version_of_audio(item.audio, item.audio_version)
    return item.item_id, version, sidecar_key(item.sidecar, item.sidecar_version)


class DueRows(PartOfCatalog):
    """A catalog without the rows that are not due; the others are numbered anew."""

    def __init__(
        self,
        whole: Catalog,
        selection: Selection,
        planner: Planner,
        *,
        max_calls: int | None = None,
        apart_from: Iterable[WorkItem] = (),
        only: Container[str] | None = None,
    ) -> None:
        """Take the whole catalog, and how it is chosen which of its rows are due.

        The oldest come first only if `max_calls` says how many are taken. Items `apart_from` those with the same
        versions are due, of `only` these IDs if they are given. UsageError if the condition is none, CatalogError if
        the columns that it may name cannot be read.
        """
        super().__init__(whole)
        self.unmet = 0  # of the skipped rows, those that do not meet the conditions, whether they have an answer or not
        self.listing = Listing()  # all items of the whole catalog; complete after the last row, as `skipped` is
        now, service = planner.clock(), planner.service
        self._sidecar_field, self._conditions = service.sidecar_field, selection.conditions
        self._choice = RowChoice(
            selection.where, selection.modified_since(now), catalog_name=whole.name, tag_names=whole.tag_names
        )
        self._since = selection.answered_since(now)
        until = LAST if self._since == ANY_AGE else now + _CLOCKS_DIFFER
        self._calls: int | None = None
        if selection.oldest_first and max_calls is not None:
            self._calls = max(max_calls - CALLS_TO_BEGIN, CALLS_PER_ITEM)
        self._answers = AnswerTimes(planner.results, service.environment, ANSWERED, until)
        self._tries = AnswerTimes(planner.results, service.environment, OUTCOMES, until)
        self._only = only
        self._planned = HashedItems(hash(_versions_of(item)) for item in apart_from)

    def rows(self) -> Iterator[ManifestRow]:
        """Yield the rows that are due; NothingDue if none is, UsageError if the condition cannot be worked out."""
        self.listing = Listing()
        self.unmet = 0
        number = 0
        due = self._due() if self._calls is None else self._longest_ago(self._calls)
        for row, _ in due:
            yield replace(row, number=number)
            number += 1
        self.ignored = self._whole.ignored
        self.skipped = self.listing.rows - number
        if number == 0:
            raise self._nothing_due()

    def _nothing_due(self) -> NothingDue:
        why = f"{self.location}: nothing is due"
        if self._conditions:
            why += f"; rows that do not meet {self._conditions}: {self.unmet:,}"
        answered = self.skipped - self.unmet
        if answered or self._since is not None:
            why += f"; rows whose answer is new enough: {answered:,}"
        return NothingDue(why, skipped=self.skipped, unmet=self.unmet)

    def _due(self) -> Iterator[tuple[ManifestRow, WorkItem]]:
        for row, is_met in self._choice.judged(self._whole.rows()):
            item = work_item_of(row, self.name, self._sidecar_field)
            self.listing.add(item)
            versions = _versions_of(item)
            is_chosen = is_met and (self._only is None or item.item_id in self._only)
            self.unmet += not is_chosen
            if is_chosen and versions not in self._planned and not self._is_answered(*versions):
                yield replace(row, is_touched=self._is_touched(row, item)), item

    def _is_touched(self, row: ManifestRow, item: WorkItem) -> bool:
        """Whether only the time of a file may differ."""
        if item.audio_bytes is None or row.refused is not None or kind_of(item.audio).has_version_of_content:
            return False
        version = version_of_size(item.audio_bytes, is_pair=item.sidecar is not None)
        return self._is_answered(item.item_id, *version)

    def _is_answered(self, item_id: str, audio_version: str | None, sidecar: str | None) -> bool:
        if self._since is None:
            return False
        answered_at = self._answers.of(item_id, audio_version, sidecar)
        return answered_at is not None and self._since <= answered_at

    def _longest_ago(self, calls: int) -> Iterator[tuple[ManifestRow, WorkItem]]:
        """Choose rows by when they were tried; only so many are in memory. Audio that is not there comes last.

        One is chosen also if the calls are not enough for it.
        """

        def tried(due: tuple[ManifestRow, WorkItem]) -> tuple[datetime, int]:
            row, item = due
            never = LAST if row.audio_facts is None else ANY_AGE
            return self._tries.of(*_versions_of(item)) or never, row.number

        oldest = heapq.nsmallest(calls // CALLS_PER_ITEM, self._due(), key=tried)
        for place, (row, item) in enumerate(oldest):
            calls -= CALLS_PER_ITEM if proof_id_of(item.audio) is None else len(CALLS_OF_A_PROOF)
            if place > 0 and calls < 0:
                return
            yield row, item
