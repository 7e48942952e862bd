"""What a catalog holds, as its rows are read: what can be sent, what cannot and why, and whether a run is of use."""

import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import tee

from proofsweep.config.locations import one_line
from proofsweep.config.threads import some_at_once
from proofsweep.domain.errors import CatalogError, ConfigError, SourceError
from proofsweep.domain.items import ManifestRow, Mode, WorkItem, utf8_text
from proofsweep.domain.reasons import Ineligible, Reason, remedy_for
from proofsweep.domain.runs import INGEST
from proofsweep.sources.audio import open_audio
from proofsweep.sources.catalog import Catalog
from proofsweep.sources.files import Files
from proofsweep.sources.names import Cause
from proofsweep.sources.preflight import work_item_of

_AT_ONCE = 16  # files that are open at once: each waits for its disk or bucket
_LEFT_OUT = Ineligible(
    Reason.NO_CREDENTIAL,
    "The WAV has no sidecar, and its chunks hold no manifest: catalog.skip_without_credential leaves such files out.",
)


@dataclass(slots=True)
class Survey:
    """What a catalog holds."""

    items: int = 0
    eligible: int = 0
    pairs: int = 0
    audio_bytes: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)  # of each reason, what is wrong with the first row

    def note(self, item: WorkItem) -> None:
        self.items += 1
        if item.ineligible is not None:
            reason = str(item.ineligible.reason)
            self.reasons[reason] += 1
            self.examples.setdefault(reason, item.ineligible.detail)
            return
        self.eligible += 1
        self.pairs += item.mode is Mode.LEGACY_PAIR
        self.audio_bytes += item.audio_bytes or 0


def survey_catalog(catalog: Catalog, sidecar_field: str | None, check: "CredentialCheck | None" = None) -> Survey:
    survey = Survey()
    for item in items_of(catalog.rows(), catalog.name, sidecar_field, check):
        survey.note(item)
    return survey


@dataclass(frozen=True, slots=True)
class UnsentRow:
    where: str  # the manifest and the line; empty in a folder
    file: str  # the audio as seen from the catalog's root; empty if the row names none
    reason: str
    detail: str
    tags: Mapping[str, str]

    @property
    def what_to_do(self) -> str:
        return remedy_for(self.reason)


def unsent_rows(
    catalog: Catalog, sidecar_field: str | None, check: "CredentialCheck | None" = None
) -> Iterator[UnsentRow]:
    rows, same_rows = tee(catalog.rows())
    for row, item in zip(rows, items_of(same_rows, catalog.name, sidecar_field, check), strict=True):
        if (unfit := item.ineligible) is not None:
            file = (item.relative_path or utf8_text(item.audio)) if item.audio else ""
            detail = unfit.detail.removeprefix(f"{row.where}: ")
            yield UnsentRow(row.where, file, str(unfit.reason), detail, row.tags)


def refuse_hopeless(survey: Survey, catalog: Catalog) -> None:
    """Refuse a catalog of which no row can be sent for a reason that a person corrects at once.

    If rows were left out, it is not the whole catalog that cannot be sent.

    Raises:
        ConfigError: each row has a sidecar, and the sidecar's wire name is not set.
        CatalogError: every row leads outside the catalog's root; a pass over a watched folder says so of each file.
    """
    if catalog.skipped or not survey.items:
        return
    if survey.reasons[Reason.SIDECAR_FIELD_UNKNOWN] == survey.items:
        raise ConfigError(
            f"The catalog holds nothing but legacy pairs ({survey.items:,}), and the sidecar's wire name is not set: "
            "ask the partner for it and set service.sidecar_field."
        )
    if survey.reasons[Reason.OUTSIDE_CATALOG] == survey.items and catalog.kind != INGEST:
        root = one_line(posixpath.join(catalog.root or "", ""))
        raise CatalogError(
            f"{catalog.location}: every row ({survey.items:,}) leads outside the catalog's root {root}: if that is "
            'meant, set catalog.root to the folder that holds the files, or to "anywhere"'
        )


def items_of(
    rows: Iterable[ManifestRow], catalog_name: str, sidecar_field: str | None, check: "CredentialCheck | None" = None
) -> Iterator[WorkItem]:
    """Turn a catalog's rows into work items, each judged by its listing, and perhaps by a look for its credential."""
    items = (work_item_of(row, catalog_name, sidecar_field) for row in rows)
    return items if check is None else check.judged(items)


def ignored_entries(catalog: Catalog) -> dict[str, int]:
    """Count the entries of a scan that gave no item, by cause; leave out causes that did not occur."""
    return {cause.value: count for cause in Cause if (count := catalog.ignored[cause])}


@dataclass(frozen=True, slots=True)
class CredentialCheck:
    files: Files

    def judged(self, items: Iterable[WorkItem]) -> Iterator[WorkItem]:
        """Yield each item in its order; a WAV that carries no credential for sure is ineligible."""
        return some_at_once(items, self._judged, _AT_ONCE)

    def _judged(self, item: WorkItem) -> WorkItem:
        if item.ineligible is not None or item.mode is not Mode.ONE_FILE:
            return item
        try:
            with open_audio(item.audio, self.files) as audio:
                is_as_listed = item.audio_version in (None, audio.facts.version)  # another one may still be written
                is_bare = is_as_listed and audio.is_bare()
        except SourceError:  # it may be readable when its turn comes
            return item
        return replace(item, ineligible=_LEFT_OUT) if is_bare else item
