"""Count what a catalog holds, and how it fits the slot; nothing is sent or written."""

import posixpath
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from proofsweep.catalog.catalog import Catalog, Cause
from proofsweep.catalog.preflight import SizeLimits, judge_content, judge_name, work_item_of
from proofsweep.errors import CatalogError, ConfigError, SourceError
from proofsweep.files.audio import open_audio
from proofsweep.files.files import Files
from proofsweep.files.locations import one_line
from proofsweep.model.items import Mode, WorkItem, printable
from proofsweep.model.reasons import Ineligible, Reason, remedy_for

# chosen: files that a person looks at to see what is meant.
_NAMED_FILES = 6


@dataclass(slots=True)
class Survey:
    """What a catalog holds. Sizes are in bytes.

    Attributes:
        formats: rows by audio format, from the name's ending, or from the content if files were opened.
        over_slot: rows whose audio is larger than a slot.
        ambiguous: locations of the first audio files whose sidecar is ambiguous.
        doubtful: of the rows that will be sent, those whose names say that they cannot be verified, by reason.
        examples: of each reason, what is wrong with the first row.
        declared: rows to send of which a digest or the size is declared, and compared before a verdict is asked for.
        sizes: of each row to send, the audio's size, in the order of the catalog; None if nobody keeps them.
    """

    items: int = 0
    eligible: int = 0
    pairs: int = 0
    audio_bytes: int = 0
    largest_bytes: int = 0
    over_slot: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    formats: Counter[str] = field(default_factory=Counter)
    ambiguous: list[str] = field(default_factory=list)
    doubtful: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    declared: int = 0
    sizes: "array[int] | None" = field(default=None, repr=False)

    def note(self, item: WorkItem, audio_format: str, slot_bytes: int) -> None:
        """Count one item."""
        size = item.audio_bytes or 0
        self.items += 1
        self.formats[audio_format] += 1
        self.over_slot += size > slot_bytes
        self.largest_bytes = max(self.largest_bytes, size)
        if item.ineligible is not None:
            self.reasons[str(item.ineligible.reason)] += 1
            self.examples.setdefault(str(item.ineligible.reason), item.ineligible.detail)
            if item.ineligible.reason is Reason.AMBIGUOUS_SIDECAR and len(self.ambiguous) < _NAMED_FILES:
                self.ambiguous.append(printable(item.audio))
            return
        self.eligible += 1
        doubt = judge_name(audio_format, item.mode)
        if doubt is not None:
            self.doubtful[str(doubt.reason)] += 1
        self.pairs += item.mode is Mode.LEGACY_PAIR
        self.audio_bytes += size
        self.declared += bool(item.declared)
        if self.sizes is not None:
            self.sizes.append(size)


def survey_catalog(catalog: Catalog, limits: SizeLimits, *, deep: Files | None = None) -> Survey:
    """Read a catalog once and count; `deep` opens every file that would be sent, to judge it by its content too."""
    survey = Survey(sizes=array("q"))  # 8 bytes for each row
    for item in items_of(catalog, limits):
        judged, audio_format = _judged_by_content(item, deep) if deep else (item, format_by_name(item))
        survey.note(judged, audio_format, limits.one_file)
    return survey


@dataclass(frozen=True, slots=True)
class UnsentRow:
    """A row that will not be sent.

    Attributes:
        where: the manifest and the line; empty in a folder.
        file: the audio as seen from the catalog's root; empty if the row names none.
    """

    where: str
    file: str
    reason: str
    detail: str

    @property
    def what_to_do(self) -> str:
        """Return what a person can do about it."""
        return remedy_for(self.reason)


def unsent_rows(catalog: Catalog, limits: SizeLimits, *, deep: Files | None = None) -> Iterator[UnsentRow]:
    """Yield each row that will not be sent, as the catalog is read; `deep` opens every other file."""
    for row in catalog.rows():
        item = work_item_of(row, catalog.name, limits)
        judged = _judged_by_content(item, deep)[0] if deep else item
        if (unfit := judged.ineligible) is not None:
            file = (item.relative_path or printable(item.audio)) if item.audio else ""
            yield UnsentRow(row.where, file, str(unfit.reason), unfit.detail.removeprefix(f"{row.where}: "))


def refuse_hopeless(survey: Survey, catalog: Catalog) -> None:
    """Refuse a catalog of which no row can be sent for a reason that a person corrects at once.

    If rows were left out, it is not the whole catalog that cannot be sent.

    Raises:
        ConfigError: each row has a sidecar, and the sidecar's wire name is not set.
        CatalogError: every row leads outside the catalog's root.
    """
    if catalog.skipped or not survey.items:
        return
    if survey.reasons[Reason.SIDECAR_FIELD_UNKNOWN] == survey.items:
        raise ConfigError(
            f"The catalog holds nothing but legacy pairs ({survey.items:,}), and the sidecar's wire name is not set: "
            "ask the partner for it and set service.sidecar_field."
        )
    if survey.reasons[Reason.OUTSIDE_CATALOG] == survey.items:
        root = one_line(posixpath.join(catalog.root or "", ""))
        raise CatalogError(
            f"{catalog.location}: every row ({survey.items:,}) leads outside the catalog's root {root}: if that is "
            "meant, give --root with the folder that holds the files (--root / for all of this machine), or "
            "--allow-outside"
        )


def items_of(catalog: Catalog, limits: SizeLimits) -> Iterator[WorkItem]:
    """Turn a catalog's rows into work items, each judged by its listing."""
    return (work_item_of(row, catalog.name, limits) for row in catalog.rows())


def format_by_name(item: WorkItem) -> str:
    """Guess the format from the name's ending; nothing is opened."""
    name = item.audio.rpartition("/")[2]
    if item.audio.endswith("/"):
        return "folder"
    return printable(name.rpartition(".")[2].lower()) if "." in name else "no ending"


@dataclass(frozen=True, slots=True)
class Surveyed:
    """A catalog that was read once, and what it holds."""

    listing: Catalog
    survey: Survey

    @property
    def ignored(self) -> dict[str, int]:
        """The entries of a scan that gave no item, by cause."""
        return ignored_entries(self.listing)


def ignored_entries(catalog: Catalog) -> dict[str, int]:
    """Count the entries of a scan that gave no item, by cause; leave out causes that did not occur."""
    return {cause.value: count for cause in Cause if (count := catalog.ignored[cause])}


def _judged_by_content(item: WorkItem, files: Files) -> tuple[WorkItem, str]:
    if item.ineligible is not None:
        return item, format_by_name(item)
    try:
        with open_audio(item.audio, files) as audio:
            unfit = judge_content(audio.audio_format, item.mode, audio.content_guess)
            return replace(item, ineligible=unfit), str(audio.audio_format)
    except SourceError as error:
        return replace(item, ineligible=Ineligible(Reason(error.reason), error.message)), format_by_name(item)
