"""Check something whose answer is known: our own silence, files that were accepted, or files that were read.

`KnownFiles` has those of this leg and of earlier ones, and says whether a root of them is away.
"""

import posixpath
import random
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from hashlib import sha256
from http import HTTPStatus
from itertools import chain, islice
from pathlib import Path

from proofsweep.client.session import KEY_REFUSED
from proofsweep.config.locations import is_bucket, is_within, root_and_key
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResourceShortage, SourceError
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import Mode, WorkItem
from proofsweep.domain.outcomes import Accepted, Deferred, Failed, Finished, Rejected, word_for
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.sources.audio import open_audio, read_sidecar
from proofsweep.sources.files import Files
from proofsweep.sources.preflight import SIDECAR_BYTES
from proofsweep.store.known_rows import AcceptedItem, PastAnswers
from proofsweep.verify.audit_trail import AuditTrail
from proofsweep.verify.budget import CHECK_ROW
from proofsweep.verify.fault import REFUSED_CONTENT
from proofsweep.verify.item import VerifyContext, verify_item

_KNOWN_SENT = 3  # for one check
_DRAWN_AMONG = 32  # the smallest accepted items, of which others are sent each time
_SILENCE = Path(__file__).with_name("silence.wav")  # a tenth of a second, without a credential
_NO_PROOF = Path(__file__).with_name("silence.sidecar")
_SILENCE_ACCEPTED = "The service accepted silence, which has no credential: no answer of it can be believed."
_REFUSED_ON_THE_WAY = "Something on the way refuses the calls (403, and not by the service): a firewall or a proxy?"
_ACCEPTED_KEPT = 32
_FILES_TRIED = 20  # of a root, to see whether it is away


@dataclass(slots=True)
class KnownFiles:
    """Files that were read, and items that were accepted, in this leg or before; threads may note them at any time."""

    root: str | None  # the catalog's, as a path or bucket URL; None if its files may lie anywhere
    past: PastAnswers
    is_emptied: bool = False  # a drop folder: what was accepted there was moved away
    _accepted: deque[AcceptedItem] = field(default_factory=lambda: deque(maxlen=_ACCEPTED_KEPT))
    _read: dict[str, deque[str]] = field(default_factory=dict)

    def root_of(self, location: str) -> str:
        """Return the bucket, the catalog's root, or the folder in which a mount outside of it mostly lies."""
        if is_bucket(location):
            return root_and_key(location)[0]
        if self.root is not None and is_within(location, self.root):
            return self.root
        return "/".join(posixpath.dirname(location).split("/")[:3]) or "/"

    def note(self, done: Finished) -> None:
        item, read = done.item, done.read
        if read is None or read.version is None:
            return
        self._read.setdefault(self.root_of(item.audio), deque(maxlen=_FILES_TRIED)).append(item.audio)
        if isinstance(done.outcome, Accepted) and done.original is None and read.sha256 is not None:
            proof_id = done.outcome.answer.response.proof_id
            digests = read.sha256, read.sidecar_sha256
            self._accepted.append(AcceptedItem(read.size_bytes, item.audio, item.sidecar, *digests, proof_id))

    def accepted(self) -> list[AcceptedItem]:
        """Return accepted items by their size; ResultsError if the answers of earlier runs cannot be read."""
        known = {*self._accepted.copy(), *self.past.accepted()}
        # Somebody may erase proofs while this leg works: their refusal says nothing against the registry.
        erased = {*self.past.erased()}
        still = (item for item in known if item.proof_id is None or item.proof_id not in erased)
        return sorted(still, key=lambda item: (item.audio_bytes, item.audio))

    def is_away(self, root: str, missing: Iterable[WorkItem], files: Files) -> bool:
        """Whether a root lacks more than half of the files that were read before; if none were, whether it is empty.

        A root that never held a file that we know of is taken as it is. ResourceShortage if this process cannot open a
        file now, ResultsError if the answers of earlier runs cannot be read.
        """
        if is_bucket(root):
            files.buckets.reopen(root)  # its credentials may have been renewed
        if read := self._read_in(root):
            return 2 * sum(_opens(location, files) for location in read) < len(read)
        held_files = any(item.ineligible is None for item in missing)
        folders = {root, *(_folder_below(root, item.audio) for item in missing)}
        return held_files and any(_is_empty(folder, files) for folder in folders)

    def _read_in(self, root: str) -> list[str]:
        """Name files of a root that could be read: in this leg, in the legs before it, or else in other runs."""
        in_this_leg = self._read.get(root, deque[str]()).copy()
        accepted = [] if self.is_emptied else self.past.accepted()
        before = chain(self.past.files_read(_FILES_TRIED), (each.audio for each in accepted))
        locations = in_this_leg or [each for each in before if self.root_of(each) == root]
        return list(dict.fromkeys(locations))[:_FILES_TRIED]


def _opens(location: str, files: Files) -> bool:
    try:
        with open_audio(location, files):
            return True
    except ResourceShortage:
        raise
    except SourceError:
        return False


def _is_empty(folder: str, files: Files) -> bool:
    """Whether a folder that is there, or a bucket, holds no file: mostly it is the point of a mount that is away."""
    if not is_bucket(folder):
        return next(files.walk(folder)).refused is None and not any(each.files for each in files.walk(folder))
    try:
        return not any(True for _ in files.buckets.listed(folder))
    except SourceError:
        return True


def _folder_below(root: str, location: str) -> str:
    first, slash, _ = location.removeprefix(root).strip("/").partition("/")
    return posixpath.join(root, first) if slash and not is_bucket(root) else root


class CheckFinding(StrEnum):
    RIGHT = "right"
    WRONG = "wrong"
    NOTHING_KNOWN = "nothing known"


@dataclass(frozen=True, slots=True)
class Result:
    finding: CheckFinding
    why: str = ""  # one sentence for a person, where it came out wrong
    ended_by: EndedBy = EndedBy.BREAKER  # how the leg ends because of that


RIGHT = Result(CheckFinding.RIGHT)


@dataclass(frozen=True, slots=True)
class Checks:
    """Makes checks with the calls, files and answers of one leg; used by one thread at a time.

    Each raises RunMustStop if the leg ends, or has no calls for it; ResourceShortage if this process cannot open a file
    now; ResultsError if the answers of earlier runs cannot be read.
    """

    verify: VerifyContext
    trail: AuditTrail
    known: KnownFiles
    known_good: Sequence[WorkItem] = ()  # items that the service accepts

    def probe_service(self, mode: Mode, *, needs_verdict: bool = False) -> Result:
        """Send silence: a verdict shows that the service works.

        So does a status that speaks of what was sent, unless such statuses are in question.
        """
        done = self._sent(str(_SILENCE), None if mode is Mode.ONE_FILE else str(_NO_PROOF))
        if isinstance(done.outcome, Accepted):
            return Result(CheckFinding.WRONG, _SILENCE_ACCEPTED)
        if not done.exchanges:
            return Result(CheckFinding.WRONG, f"The probe audio cannot be sent: {done.outcome.detail}")
        last = done.exchanges[-1]
        is_of_content = last.call is Call.VERIFY and last.status in REFUSED_CONTENT
        if isinstance(done.outcome, Rejected) or (is_of_content and not needs_verdict):
            return RIGHT
        if last.status != HTTPStatus.FORBIDDEN or last.call is Call.SLOT:
            why = f"The service fails for every item, and for a probe too: {done.outcome.detail}"
            return Result(CheckFinding.WRONG, why)
        if last.error_code is not None:
            return Result(CheckFinding.WRONG, KEY_REFUSED, EndedBy.KEY_REFUSED)
        return Result(CheckFinding.WRONG, _REFUSED_ON_THE_WAY)

    def send_known(self, mode: Mode, refused: str | None = None) -> Result:
        """Send up to three known-good files and accepted items: most of them must be accepted.

        `refused` is the digest of the audio that alone is in question: who sends it again only hears the same again.
        """
        sent = list(islice((done for done in self._drawn(mode, refused) if not _is_of_source(done)), _KNOWN_SENT))
        if not sent:
            return Result(CheckFinding.NOTHING_KNOWN)
        others = [each.outcome for each in sent if isinstance(each.outcome, Failed | Rejected)]
        if 2 * len(others) < len(sent):
            return RIGHT
        why = (
            f"{len(others)} of {len(sent)} files that were accepted before, and have not changed, are "
            f"{word_for(others[-1])} ({others[-1].reason}) now: suspect another environment, the sidecar's wire name "
            "or an emptied registry (`proofsweep doctor` asks with the files of `service.known_good`)."
        )
        return Result(CheckFinding.WRONG, why)

    def _drawn(self, mode: Mode, refused: str | None) -> Iterator[Finished]:
        good = [item for item in self.known_good if item.mode is mode]
        for item in random.sample(good, len(good)):
            yield self._sent(item.audio, item.sidecar)
        accepted = [item for item in self.known.accepted() if item.mode is mode][:_DRAWN_AMONG]
        for known in random.sample(accepted, len(accepted)):
            if known.audio_sha256 != refused and _is_unchanged(known, self.verify.files):
                yield self._sent(known.audio, known.sidecar)

    def _sent(self, audio: str, sidecar: str | None) -> Finished:
        """Take a file or pair, of any place, through the core flow."""
        item = WorkItem(manifest_row=CHECK_ROW, item_id="check", audio=audio, sidecar=sidecar)
        partner, files, budget = self.verify.partner.for_probes(), self.verify.files.within(None), self.trail.budget
        context = VerifyContext(partner=partner, files=files, clock=self.verify.clock, budget=budget)
        with budget.for_check(is_awaited=partner.session.context.dispatcher.is_open):
            done = verify_item(item, context, partial(self.trail.note, None, owed_to=CHECK_ROW))
            if isinstance(done, Deferred):
                partner.session.stop.check()
                if done.stopped is not None:
                    raise done.stopped
                raise ResourceShortage("Too few files can be opened, or there is too little memory.", reason="")
        return done

    def look_at_root(self, root: str, missing: Sequence[Finished]) -> Result:
        if not self.known.is_away(root, [each.item for each in missing], self.verify.files):
            return RIGHT
        why = f"The source {root} cannot be read: most of what could be read there is gone. Is it mounted?"
        return Result(CheckFinding.WRONG, why)


def _is_of_source(done: Finished) -> bool:
    """Whether an item came out as it did because of its file, which says nothing of the service."""
    reason = done.outcome.reason if isinstance(done.outcome, Failed) else None
    return isinstance(done.outcome, Ineligible) or reason in {Reason.SOURCE_CHANGED, Reason.SOURCE_UNAVAILABLE}


def _is_unchanged(item: AcceptedItem, files: Files) -> bool:
    try:
        with open_audio(item.audio, files) as audio:
            if audio.facts.size_bytes != item.audio_bytes or audio.read_through() != item.audio_sha256:
                return False
        sidecar = None if item.sidecar is None else read_sidecar(item.sidecar, SIDECAR_BYTES, files)
    except ResourceShortage:
        raise
    except SourceError:
        return False
    return sidecar is None or sha256(sidecar).hexdigest() == item.sidecar_sha256
