"""Look into the files of a plan before anything is sent: what they are, and whether a WAV carries a credential."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from proofsweep.background import some_at_once
from proofsweep.catalog.preflight import judge_content
from proofsweep.contract.limits import CALLS_PER_ITEM
from proofsweep.errors import SourceError
from proofsweep.files.audio import AudioFile, open_audio
from proofsweep.files.files import Files
from proofsweep.model.items import Mode, WorkItem, printable
from proofsweep.model.reasons import Ineligible, Reason

# Files that are looked into at once: each waits for its disk or bucket. Chosen: any value from 8 to 32 does.
_AT_ONCE = 16

_LEFT_OUT = Ineligible(
    Reason.NO_CREDENTIAL,
    "The WAV has no sidecar, and its chunks hold no manifest: without --skip-without-credential the service is asked.",
)


@dataclass(frozen=True, slots=True)
class LookedInto:
    """An item, and what a look into its file showed.

    Attributes:
        item: ineligible if its content cannot be sent.
        audio_format: from the content, or from the name's ending if the file was not looked into.
        is_bare: of a WAV without a sidecar that can be sent, whether it carries no credential for sure; else None.
        requests: what the look cost in requests to a bucket; None if the file was not looked into.
    """

    item: WorkItem
    audio_format: str
    is_bare: bool | None = None
    requests: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeepLook:
    """Looks into the files of items that would be sent, some at once; without anything to look for, into none.

    Attributes:
        credential_chunks: names of the chunks that are a credential.
        judges_content: whether every file is opened, and one that cannot be sent is ineligible.
        skips_bare: whether a WAV without a sidecar that carries no credential for sure is ineligible.
    """

    files: Files
    credential_chunks: Collection[str] = ("C2PA",)
    judges_content: bool = False
    skips_bare: bool = False

    def into(self, items: Iterable[WorkItem]) -> Iterator[LookedInto]:
        """Yield each item in its order, as it was judged by the look."""
        if self.judges_content or self.skips_bare:
            return some_at_once(items, self._looked_into, _AT_ONCE)
        return (LookedInto(item, format_by_name(item)) for item in items)

    def _looked_into(self, item: WorkItem) -> LookedInto:
        is_wanted = self.judges_content or item.mode is Mode.ONE_FILE
        if item.ineligible is not None or not is_wanted:
            return LookedInto(item, format_by_name(item))
        try:
            with open_audio(item.audio, self.files) as audio:
                return self._judged(item, audio)
        except SourceError as error:
            unfit = Ineligible(Reason(error.reason), error.message) if self.judges_content else None
            return LookedInto(replace(item, ineligible=unfit), format_by_name(item), requests=0)

    def _judged(self, item: WorkItem, audio: AudioFile) -> LookedInto:
        unfit = judge_content(audio.audio_format, item.mode, audio.content_guess)
        is_bare = None
        if unfit is None and item.mode is Mode.ONE_FILE:
            is_as_listed = item.audio_version in (None, audio.facts.version)  # another one may still be written
            is_bare = is_as_listed and audio.is_bare(self.credential_chunks)
        if not self.judges_content:
            unfit = None
        if is_bare and self.skips_bare:
            unfit = _LEFT_OUT
        return LookedInto(replace(item, ineligible=unfit), str(audio.audio_format), is_bare, audio.requests)


NO_LOOK = DeepLook(files=Files())
"""Opens no file."""


@dataclass(slots=True)
class LookCounts:
    """What looks into files showed, and what they cost.

    Attributes:
        files: that were opened.
        requests: to buckets.
        wavs: without a sidecar, which could be sent.
        without_credential: of these, the ones that carry none for sure.
        refused: files that cannot be sent, or are left out, as only the look showed.
    """

    files: int = 0
    requests: int = 0
    wavs: int = 0
    without_credential: int = 0
    refused: int = 0

    @property
    def calls(self) -> int:
        """Return how many keyed calls it takes to be told so by the service (contract, Verdicts: unreadable)."""
        return self.without_credential * CALLS_PER_ITEM

    def note(self, looked: LookedInto) -> None:
        """Count one item."""
        if looked.requests is not None:
            self.files += 1
            self.refused += looked.item.ineligible is not None
            self.requests += looked.requests
            self.wavs += looked.is_bare is not None
            self.without_credential += looked.is_bare is True


def format_by_name(item: WorkItem) -> str:
    """Guess the format from the name's ending; nothing is opened."""
    name = item.audio.rpartition("/")[2]
    if item.audio.endswith("/"):
        return "folder"
    return printable(name.rpartition(".")[2].lower()) if "." in name else "no ending"
