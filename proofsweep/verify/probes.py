"""Check something whose answer is known: our own silence, or files that were accepted; or look at folders of files."""

import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from hashlib import sha256
from http import HTTPStatus
from itertools import islice
from pathlib import Path

from proofsweep.client.session import BLOCKED, KEY_REFUSED
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResourceShortage, SourceError
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.domain.items import Mode, WorkItem
from proofsweep.domain.outcomes import Accepted, Deferred, Failed, Finished, Rejected, word_for
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.files.audio import open_audio, read_sidecar
from proofsweep.files.files import Files
from proofsweep.files.presence import Away, Presence, folder_of
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
_ACCEPTED_KEPT = 32
_FILES_READ = 20  # that are named of earlier legs


@dataclass(slots=True)
class KnownFiles:
    """Files that were read, and items that were accepted, in this leg or before; threads may note them at any time."""

    past: PastAnswers
    presence: Presence
    _accepted: deque[AcceptedItem] = field(default_factory=lambda: deque(maxlen=_ACCEPTED_KEPT))

    @classmethod
    def of_catalog(
        cls, files: Files, root: str | None, past: PastAnswers, is_emptied: Callable[[str], bool] | None = None
    ) -> "KnownFiles":
        """Know the files of a catalog with a root, if it has one; what was read in a drop folder was moved away."""

        def read_before() -> Iterator[str]:
            yield from past.files_read(_FILES_READ)
            yield from (item.audio for item in past.accepted())

        return cls(past, Presence(files, root, tuple if is_emptied else read_before, is_emptied))

    def record(self, done: Finished) -> None:
        item, read = done.item, done.read
        if read is None or read.version is None:
            return
        self.presence.note_read(item.audio)
        if isinstance(done.outcome, Accepted) and done.original is None and read.sha256 is not None:
            proof_id = done.outcome.answer.response.proof_id
            digests = read.sha256, read.sidecar_sha256
            accepted = AcceptedItem(read.size_bytes, item.audio, item.sidecar, *digests, proof_id)
            self._accepted.append(accepted)

    def accepted(self) -> list[AcceptedItem]:
        """Return accepted items by their size; ResultsError if the answers of earlier runs cannot be read."""
        accepted = {*self._accepted.copy(), *self.past.accepted()}
        # Somebody may erase proofs while this leg works: their refusal says nothing against the registry.
        erased = {*self.past.erased()}
        registered = [item for item in accepted if item.proof_id is None or item.proof_id not in erased]
        registered = [item for item in registered if self.presence.hanging_above(item.audio) is None]
        return sorted(registered, key=lambda item: (item.audio_bytes, item.audio))


def folder_in_question(done: Finished) -> str:
    """Return the folder of the file that could not be read: of the sidecar, if the audio was."""
    item = done.item
    if done.read is None or item.sidecar is None:
        return folder_of(item.audio)
    return folder_of(item.sidecar)


class CheckFinding(StrEnum):
    RIGHT = "right"
    WRONG = "wrong"
    NOTHING_KNOWN = "nothing known"


@dataclass(frozen=True, slots=True)
class Result:
    finding: CheckFinding
    why: str = ""  # one sentence for a person, where it came out wrong
    ended_by: EndedBy = EndedBy.BREAKER  # how the leg ends because of that
    exchanges: Sequence[Exchange] = ()  # of what was sent


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
        """Send silence: a verdict shows that the service works."""
        sidecar = None if mode is Mode.ONE_FILE else str(_NO_PROOF)
        done = self._sent(str(_SILENCE), sidecar)
        result = _shown_by_silence(done, needs_verdict=needs_verdict)
        return replace(result, exchanges=done.exchanges)

    def send_known(self, mode: Mode, refused: str | None = None) -> Result:
        """Send up to three known-good files and accepted items: most of them must be accepted.

        `refused` is the digest of the audio that alone is in question: who sends it again only hears the same again.
        """
        of_service = (done for done in self._drawn(mode, refused) if not _is_of_source(done))
        sent = list(islice(of_service, _KNOWN_SENT))
        if not sent:
            return Result(CheckFinding.NOTHING_KNOWN)
        exchanges: list[Exchange] = []
        others: list[Failed | Rejected] = []
        for done in sent:
            exchanges += done.exchanges
            if isinstance(done.outcome, Failed | Rejected):
                others.append(done.outcome)
        if 2 * len(others) < len(sent):
            return replace(RIGHT, exchanges=exchanges)
        last = others[-1]
        why = (
            f"{len(others)} of {len(sent)} files that were accepted before, and have not changed, are {word_for(last)} "
            f"({last.reason}) now: suspect another environment, the sidecar's wire name or an emptied registry "
            "(`proofsweep doctor` asks with the files of `service.known_good`)."
        )
        return Result(CheckFinding.WRONG, why, exchanges=exchanges)

    def _drawn(self, mode: Mode, refused: str | None) -> Iterator[Finished]:
        good = [item for item in self.known_good if item.mode is mode]
        for item in random.sample(good, len(good)):
            yield self._sent(item.audio, item.sidecar)
        # They are sorted by their size. Each time others of the smallest are sent, so that a check sends few bytes.
        accepted = [item for item in self.known.accepted() if item.mode is mode]
        smallest = accepted[:_DRAWN_AMONG]
        for known in random.sample(smallest, len(smallest)):
            if known.audio_sha256 != refused and _is_unchanged(known, self.verify.files):
                yield self._sent(known.audio, known.sidecar)

    def _sent(self, audio: str, sidecar: str | None) -> Finished:
        """Take a file or pair, of any place, through the core flow."""
        item = WorkItem(manifest_row=CHECK_ROW, item_id="check", audio=audio, sidecar=sidecar)
        partner = self.verify.partner.for_probes()
        files = self.verify.files.within(None)
        budget = self.trail.budget
        context = VerifyContext(partner=partner, files=files, clock=self.verify.clock, budget=budget)
        with budget.for_check(is_awaited=partner.session.context.scheduler.is_open):
            done = verify_item(item, context, partial(self.trail.record, None, owed_to=CHECK_ROW))
            if isinstance(done, Deferred):
                partner.session.stop.check()
                if done.stopped is not None:
                    raise done.stopped
                raise ResourceShortage(done.shortage or "A check was given up.", reason=Reason.SOURCE_UNAVAILABLE)
        return done

    def folders_away(self, in_question: Mapping[str, Sequence[Finished]]) -> dict[str, Away]:
        """Look at the folders of files that could not be read; return why each of them is away that is."""
        looked_at = self.known.presence.away_among(in_question)
        # A folder that was closed to us when the run was planned, and still is, has its row.
        return {folder: away for folder, away in looked_at.items() if away and not _has_row(away, in_question[folder])}


def _shown_by_silence(done: Finished, *, needs_verdict: bool) -> Result:
    if isinstance(done.outcome, Accepted):
        return Result(CheckFinding.WRONG, _SILENCE_ACCEPTED)
    if not done.exchanges:
        return Result(CheckFinding.WRONG, f"The probe audio cannot be sent: {done.outcome.detail}")
    last = done.exchanges[-1]
    # A status that speaks of what was sent shows it too, unless such statuses are in question.
    is_of_content = last.call is Call.VERIFY and last.status in REFUSED_CONTENT
    if isinstance(done.outcome, Rejected) or (is_of_content and not needs_verdict):
        return RIGHT
    # A 403 of the API speaks of the key; without an error code it is not the service's. One of the storage says nothing
    # of either.
    if last.status != HTTPStatus.FORBIDDEN or last.call is Call.SLOT:
        why = f"The service fails for every item, and for a probe too: {done.outcome.detail}"
        return Result(CheckFinding.WRONG, why)
    if last.error_code is not None:
        return Result(CheckFinding.WRONG, KEY_REFUSED, EndedBy.KEY_REFUSED)
    return Result(CheckFinding.WRONG, BLOCKED)


def _has_row(away: Away, in_question: Sequence[Finished]) -> bool:
    if not away.is_closed:
        return False
    for done in in_question:
        planned = done.item.ineligible
        if planned is None or planned.reason is not Reason.UNREADABLE_FOLDER:
            return False
    return True


def _is_of_source(done: Finished) -> bool:
    """Whether an item came out as it did because of its file, which says nothing of the service."""
    if isinstance(done.outcome, Failed):
        return done.outcome.reason in {Reason.SOURCE_CHANGED, Reason.SOURCE_UNAVAILABLE}
    return isinstance(done.outcome, Ineligible)


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
