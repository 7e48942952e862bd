"""Look into files when a run is planned, if their names or sizes say that their content may not be sent.

What costs no call is known before the run: the forecast is what the run spends, and such a file goes to its outcome
without being opened again. A file whose name and size fit is opened only when it is sent, and judged then.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from proofsweep.config.threads import ThreadPoolExecutor
from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import FileFacts, ManifestRow, Mode, Unlisted, WorkItem, proof_id_of
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.files.audio import AudioFile, open_audio, read_sidecar
from proofsweep.files.files import Files
from proofsweep.files.formats import GIT_POINTER_BYTES, AudioFormat
from proofsweep.files.names import is_pair_name, is_wave_name
from proofsweep.sources.preflight import SIDECAR_BYTES, judge_content

_AT_ONCE = 16  # files that are open at once: each waits for its disk or bucket
_READ_AHEAD = 2 * _AT_ONCE
_NO_CREDENTIAL = Ineligible(
    Reason.NO_CREDENTIAL,
    "The WAV has no sidecar, and its chunks hold no manifest: catalog.skip_without_credential leaves such files out.",
)


class FirstLook:
    def __init__(self, files: Files, *, skips_without_credential: bool) -> None:
        self._files = files
        self._skips_without_credential = skips_without_credential

    def looked(self, items: Iterable[tuple[ManifestRow, WorkItem]]) -> Iterator[WorkItem]:
        """Yield the items in their order, ineligible where a look shows that they cannot be sent."""
        waiting = iter(items)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            while portion := list(islice(waiting, _READ_AHEAD)):
                doubtful = [item for row, item in portion if self._is_doubtful(row, item)]
                judged = {}
                if doubtful:
                    looked = pool.map(self._look_into, doubtful)
                    judged = {item.manifest_row: item for item in looked}
                for _, item in portion:
                    yield judged.get(item.manifest_row, item)

    def _is_doubtful(self, row: ManifestRow, item: WorkItem) -> bool:
        """Whether a look may show something; without it, a million files are planned with one stat each."""
        if item.ineligible is not None or proof_id_of(item.audio) is not None:
            return False
        if _may_be_pointer(row.audio_facts) or _may_be_pointer(row.sidecar_facts):
            return True
        if item.mode is Mode.ONE_FILE:
            return self._skips_without_credential or not is_wave_name(item.audio)
        return not is_pair_name(item.audio)

    def _look_into(self, item: WorkItem) -> WorkItem:
        try:
            with open_audio(item.audio, self._files) as audio:
                if item.audio_version not in {None, audio.facts.version}:  # another one may still be written
                    return item
                unfit = self._unfit(item, audio)
        except SourceError as error:
            if error.reason == Reason.STAND_IN:
                return replace(item, ineligible=Ineligible(Reason.STAND_IN, error.message))
            return item  # it may be readable when its turn comes
        if unfit is None:
            return item
        return replace(item, ineligible=unfit, audio_format=str(audio.audio_format))

    def _unfit(self, item: WorkItem, audio: AudioFile) -> Ineligible | None:
        if audio.stand_in is not None:
            return audio.stand_in
        unfit = judge_content(audio.audio_format, item.mode)
        # Damage may explain content that is not recognised, and is found by the whole file's digest.
        may_be_damage = audio.audio_format is AudioFormat.UNKNOWN and item.declared is not None
        if unfit is not None and not may_be_damage:
            return unfit
        if item.sidecar is not None:
            # A pointer in the sidecar's place raises an error.
            if item.sidecar_version is not None and _may_be_pointer(self._files.facts(item.sidecar)):
                read_sidecar(item.sidecar, SIDECAR_BYTES, self._files)
            return None
        if self._skips_without_credential and audio.is_bare():
            return _NO_CREDENTIAL
        return None


def _may_be_pointer(facts: FileFacts | Unlisted | None) -> bool:
    return isinstance(facts, FileFacts) and facts.size_bytes in GIT_POINTER_BYTES
