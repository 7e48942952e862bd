"""Leave out WAVs that carry no credential for sure, before two calls are spent on each."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from proofsweep.config.threads import some_at_once
from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import Mode, WorkItem
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.sources.audio import open_audio
from proofsweep.sources.files import Files

_AT_ONCE = 16  # files that are open at once: each waits for its disk or bucket
_LEFT_OUT = Ineligible(
    Reason.NO_CREDENTIAL,
    "The WAV has no sidecar, and its chunks hold no manifest: without --skip-without-credential the service is asked.",
)


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
