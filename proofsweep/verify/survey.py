"""What a catalog holds, as its rows are read: what can be sent, what cannot and why, and whether a run is of use."""

import posixpath
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import starmap, tee

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.config.locations import one_line
from proofsweep.config.threads import some_at_once
from proofsweep.domain.errors import CatalogError, ConfigError, NothingDue, SourceError
from proofsweep.domain.items import ManifestRow, Mode, WorkItem, utf8_text
from proofsweep.domain.reasons import Ineligible, Reason, remedy_for
from proofsweep.domain.runs import INGEST
from proofsweep.sources.audio import open_audio
from proofsweep.sources.catalog import Catalog
from proofsweep.sources.files import Files
from proofsweep.sources.names import Cause
from proofsweep.sources.preflight import work_item_of
from proofsweep.store.known_rows import HashedItems

# What tells whether a row that cannot be sent is as it was.
UNSENT_KEY = ["item_id", "audio_version", "sidecar_version", "reason", "outcome"]

# Reasons that the content of a file gives: it has them for as long as it stays the same version.
_OF_CONTENT = (Reason.NOT_WAV, Reason.UNLISTED_FORMAT)
_MAY_BE_SENT = ""  # stands for the reason of a row that is sent unless its content says otherwise
# Of more rows to send nobody asks whether each turned out before to be no audio that can be; 8 bytes each.
_MOST_REPEATED = 100_000
_AT_ONCE = 16  # files that are open at once: each waits for its disk or bucket
_LEFT_OUT = Ineligible(
    Reason.NO_CREDENTIAL,
    "The WAV has no sidecar, and its chunks hold no manifest: catalog.skip_without_credential leaves such files out.",
)


@dataclass(slots=True)
class Survey:
    """What a catalog holds. Sizes are in bytes.

    `keys` identify each row, with the reason for which it cannot be sent; they are empty if very many can be.
    """

    items: int = 0
    eligible: int = 0
    pairs: int = 0
    audio_bytes: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)  # of each reason, what is wrong with the first row
    keys: "array[int]" = field(default_factory=lambda: array("q"), repr=False)
    ids: "array[int]" = field(default_factory=lambda: array("q"), repr=False)  # hashes of all items

    def note(self, item: WorkItem) -> None:
        self.items += 1
        self.ids.append(hash(item.item_id))
        if item.ineligible is not None:
            reason = str(item.ineligible.reason)
            self.reasons[reason] += 1
            self.examples.setdefault(reason, item.ineligible.detail)
            self._note_key(item, reason)
            return
        self.eligible += 1
        self._note_key(item, _MAY_BE_SENT)
        self.pairs += item.mode is Mode.LEGACY_PAIR
        self.audio_bytes += item.audio_bytes or 0

    def _note_key(self, item: WorkItem, reason: str) -> None:
        if self.eligible <= _MOST_REPEATED:
            self.keys.append(_key(item.item_id, item.audio_version, item.sidecar_version, reason))
        else:
            del self.keys[:]


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


def refuse_repeated(survey: Survey, catalog: Catalog, before: Callable[[], Iterable[pa.Table]]) -> None:
    """Refuse to plan rows of which none can be sent, each for the reason that an earlier run gave.

    A file that an earlier run has opened, and found to be of a format that cannot be sent, is one while its version
    stays the same. `before` reads what is known of rows, with the columns `UNSENT_KEY`.

    Raises:
        NothingDue: they are as they were; nobody learns anything from another run.
    """
    if not survey.keys:
        return
    known = HashedItems(key for table in before() for key in _keys_in(table))
    if all(known.has_hash(key) for key in survey.keys):
        rows = f"rows that cannot be sent, each for the same reason as before: {survey.items:,}"
        raise NothingDue(f"{catalog.location}: nothing is due; {rows}", skipped=catalog.skipped + survey.items)


def _keys_in(table: pa.Table) -> Iterator[int]:
    unsent = table.filter(pc.field("outcome") == "ineligible")
    is_lasting = pc.field("reason").isin(_OF_CONTENT) & pc.field("audio_version").is_valid()
    lasting = unsent.filter(is_lasting)
    lasting = lasting.set_column(lasting.column_names.index("reason"), "reason", pa.repeat(_MAY_BE_SENT, len(lasting)))
    for rows in (unsent, lasting):
        columns = (rows[name].to_pylist() for name in UNSENT_KEY[:-1])
        yield from starmap(_key, zip(*columns, strict=True))


def _key(item_id: str, audio_version: str | None, sidecar_version: str | None, reason: str) -> int:
    return hash((item_id, audio_version, sidecar_version, reason))


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
