"""Make a control: take something whose answer is known through the core flow, or look at the source."""

import io
import math
import posixpath
import random
import wave
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from http import HTTPStatus
from itertools import chain, islice
from operator import attrgetter, itemgetter

from proofsweep.client.session import KEY_REFUSED
from proofsweep.config.locations import is_bucket, is_within, root_and_key
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResourceShortage, SourceError
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import FileFacts, Mode, WorkItem
from proofsweep.domain.outcomes import Accepted, Deferred, Failed, Finished, Rejected, word_for
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.sources.audio import open_audio, read_sidecar
from proofsweep.sources.files import Files
from proofsweep.sources.preflight import SIDECAR_BYTES
from proofsweep.sources.source import OpenFile
from proofsweep.store.known_rows import AcceptedItem, PastAnswers
from proofsweep.verify.audit_trail import AuditTrail
from proofsweep.verify.fault import FAILURES_ALONE, ControlFinding, Doubt, Subject
from proofsweep.verify.item import VerifyContext, verify_item

_NO_ROW = -1
_ACCEPTED_SENT = 3  # for one CONTENT control
_ACCEPTED_KEPT = 32  # of each mode and end of the sizes; the sent ones are drawn among so many
_FILES_TRIED = 20  # files of a root that are tried in one control
# So many files that were read before and cannot be read now show that the root is away, whatever it lists; and so many
# with other bytes, that it gives what nobody wrote.
_ENOUGH_FILES = 3
# Statuses of POST /verify that speak of what was sent. A 403 speaks of the key, a 408 of the connection.
_REFUSED_CONTENT = frozenset(range(400, 500)) - {HTTPStatus.FORBIDDEN, HTTPStatus.REQUEST_TIMEOUT}
_SILENCE_ACCEPTED = "The service accepted silence, which has no credential: no answer of it can be believed."
_AUDIO, _SIDECAR = "probe audio", "probe sidecar"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    finding: ControlFinding
    why: str = ""  # one sentence for a person, where it came out wrong
    ended_by: EndedBy = EndedBy.BREAKER  # how the leg ends because of that
    most_bytes: float = math.inf  # the largest audio that it says something of


_RIGHT = Result(finding=ControlFinding.RIGHT)
_NO_CONTROL = Result(finding=ControlFinding.NO_CONTROL)
_NOT_NOW = Result(finding=ControlFinding.NOT_NOW)


class ControlCalls:
    """Makes controls with the calls, files and answers of one leg; used by one thread at a time."""

    def __init__(
        self, verify: VerifyContext, trail: AuditTrail, known: "KnownFiles", known_good: Sequence[WorkItem] = ()
    ) -> None:
        """Take the leg's own; `known_good` are items that the service accepts, of whatever place."""
        self.verify = verify
        self.trail = trail
        self.known = known
        self.known_good = known_good

    def make(self, subject: Subject, suspects: Sequence[Finished]) -> Result:
        """Make the control of a subject; ResultsError if the answers of earlier runs cannot be read."""
        match subject.doubt:
            case Doubt.SERVICE | Doubt.KEY:
                return self._probe(subject.mode)
            case Doubt.SIZE:
                return self._send_large(subject.mode, max(size_of(each) for each in suspects))
            case Doubt.CONTENT:
                return self._send_accepted(subject.mode, suspects)
        try:
            return self._look_at(subject, suspects)
        except ResourceShortage:
            return _NOT_NOW

    def false_acceptance(self, mode: Mode) -> str | None:
        """Send the probe audio; say in one sentence that it was accepted, which it never must be."""
        done = self._sent(probe_item(mode), ProbeFiles())
        return _SILENCE_ACCEPTED if done is not None and isinstance(done.outcome, Accepted) else None

    def _probe(self, mode: Mode, *, needs_verdict: bool = False) -> Result:
        done = self._sent(probe_item(mode), ProbeFiles())
        if done is None:
            return _NOT_NOW
        if isinstance(done.outcome, Accepted):
            return _wrong(_SILENCE_ACCEPTED)
        is_right = not isinstance(done.outcome, Failed) if needs_verdict else _is_answered(done)
        return _RIGHT if is_right else _wrong_failure(done)

    def _send_large(self, mode: Mode, size_bytes: int) -> Result:
        """Send a known item at least as large, or the largest: an answer shows that such uploads work."""
        calls = [(item.audio_bytes or 0, partial(self._send_known_good, item)) for item in self._good(mode)]
        calls += [(item.audio_bytes, partial(self._sent_again, item)) for item in self._accepted(mode)]
        calls.sort(key=itemgetter(0))
        enough = [each for each in calls if each[0] >= size_bytes]
        for sent_bytes, send in enough or calls[::-1]:
            done = send()
            if done is None:
                return _NOT_NOW
            if not _is_of_source(done):
                right = Result(finding=ControlFinding.RIGHT, most_bytes=sent_bytes)
                return right if _is_answered(done) else _wrong_failure(done)
        return _NO_CONTROL

    def _send_accepted(self, mode: Mode, suspects: Sequence[Finished]) -> Result:
        """Most known-good files and accepted items must be accepted; without any, the probe tells of many failures."""
        sent: list[Finished] = []
        for done in self._drawn(mode):
            if done is None:
                return _NOT_NOW
            sent += [] if _is_of_source(done) else [done]
            if len(sent) == _ACCEPTED_SENT:
                break
        others = [done for done in sent if not isinstance(done.outcome, Accepted)]
        if not sent:
            failed = sum(isinstance(each.outcome, Failed) for each in suspects)
            return self._probe(mode, needs_verdict=True) if failed >= FAILURES_ALONE else _NO_CONTROL
        if 2 * len(others) < len(sent):
            return _RIGHT
        return _wrong(
            f"{len(others)} of {len(sent)} files that were accepted before, and have not changed, are "
            f"{_summary(others[-1])} now: suspect another environment, the sidecar's wire name or an emptied "
            "registry (`proofsweep doctor` asks with the files of `service.known_good`)."
        )

    def _drawn(self, mode: Mode) -> Iterator[Finished | None]:
        for each in random.sample(good := self._good(mode), len(good)):
            yield self._send_known_good(each)
        smallest = self._accepted(mode)[:_ACCEPTED_KEPT]
        for item in random.sample(smallest, len(smallest)):
            if self._is_unchanged(item):
                yield self._sent_again(item)

    def _good(self, mode: Mode) -> list[WorkItem]:
        return [item for item in self.known_good if item.mode is mode]

    def _accepted(self, mode: Mode) -> list[AcceptedItem]:
        return [item for item in self.known.accepted() if item.mode is mode]

    def _is_unchanged(self, item: AcceptedItem) -> bool:
        files = self.verify.files
        try:
            if not _has_bytes(item, files):
                return False
            if item.sidecar is None:
                return True
            sidecar = read_sidecar(item.sidecar, SIDECAR_BYTES, files)
            return sha256(sidecar).hexdigest() == item.sidecar_sha256
        except SourceError:
            return False

    def _send_known_good(self, item: WorkItem) -> Finished | None:
        return self._sent(item, self.verify.files.within(None))  # it may lie anywhere

    def _sent_again(self, item: AcceptedItem) -> Finished | None:
        again = WorkItem(manifest_row=_NO_ROW, item_id="control", audio=item.audio, sidecar=item.sidecar)
        return self._sent(again, self.verify.files)

    def _sent(self, item: WorkItem, files: Files) -> Finished | None:
        """Take an item through the core flow; None if no calls or no time are left for it, or if the leg ends."""
        if not self.trail.budget.admits_control():
            return None
        partner, clock = self.verify.partner.for_control(), self.verify.clock
        context = VerifyContext(partner=partner, files=files, clock=clock)
        try:
            done = verify_item(item, context, partial(self.trail.note, None))
        finally:
            self.trail.budget.release(_NO_ROW)
        return None if isinstance(done, Deferred) else done

    def _look_at(self, subject: Subject, suspects: Sequence[Finished]) -> Result:
        """Read files of a root again: of one that is away, or gives zeros or another delivery, no file is bad."""
        root, files = subject.root, self.verify.files
        if subject.doubt is Doubt.SOURCE:
            is_right: bool | None = can_be_read(root, [each.item for each in suspects], self.known, files)
            why = f"The source {root} cannot be read: nothing is left there of what could be read. Is it mounted?"
        else:
            is_right = gives_known_bytes(root, self.known, files)
            why = f"The source {root} gives other bytes, also for files that were accepted: is the right one mounted?"
        if is_right is None:
            return _NO_CONTROL
        return _RIGHT if is_right else _wrong(why)


def _is_answered(done: Finished) -> bool:
    """Whether the service judged what was sent: by a verdict, or by a status that refuses this content."""
    if not isinstance(done.outcome, Failed):
        return True
    last = done.exchanges[-1] if done.exchanges else None
    return last is not None and last.call is Call.VERIFY and last.failure is None and last.status in _REFUSED_CONTENT


def _is_of_source(done: Finished) -> bool:
    """Whether an item came out as it did because of its file, which says nothing of the service."""
    reason = done.outcome.reason if isinstance(done.outcome, Failed) else None
    return isinstance(done.outcome, Ineligible) or reason in {Reason.SOURCE_CHANGED, Reason.SOURCE_UNAVAILABLE}


def _wrong(why: str) -> Result:
    return Result(finding=ControlFinding.WRONG, why=why)


def _wrong_failure(done: Finished) -> Result:
    last = done.exchanges[-1] if done.exchanges else None
    if last is not None and last.call.is_keyed and last.status == HTTPStatus.FORBIDDEN:
        if last.error_code is not None:
            return Result(finding=ControlFinding.WRONG, why=KEY_REFUSED, ended_by=EndedBy.KEY_REFUSED)
        return _wrong("Something on the way refuses the calls (403, and not by the service): a firewall or a proxy?")
    return _wrong(f"The service fails for every item, and for a control too: {_summary(done)}")


def _summary(done: Finished) -> str:
    match done.outcome:
        case Failed(detail=detail) | Ineligible(detail=detail):
            return detail
        case Rejected(reason=reason):
            return f"rejected ({reason})"
        case _:
            return word_for(done.outcome)


def size_of(done: Finished) -> int:
    return done.read.size_bytes if done.read is not None else done.item.audio_bytes or 0


@dataclass(slots=True)
class KnownFiles:
    """Files that were read, and items that were accepted, in this leg or before; threads may note them at any time."""

    root: str | None  # the catalog's, as a path or bucket URL; None if its files may lie anywhere
    past: PastAnswers
    _accepted: list[AcceptedItem] = field(default_factory=list)  # the smallest and the largest items of each mode
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
        self.note_read(item.audio)
        if isinstance(done.outcome, Accepted) and done.original is None and read.sha256 is not None:
            accepted = AcceptedItem(read.size_bytes, item.audio, item.sidecar, read.sha256, read.sidecar_sha256)
            self._accepted.append(accepted)
            if len(self._accepted) > 4 * _ACCEPTED_KEPT:
                self._accepted = [each for mode in Mode for each in self._ends(mode)]

    def note_read(self, location: str) -> None:
        self._read.setdefault(self.root_of(location), deque(maxlen=_FILES_TRIED)).append(location)

    def _ends(self, mode: Mode) -> list[AcceptedItem]:
        items = sorted(each for each in self._accepted if each.mode is mode)
        return items if len(items) <= 2 * _ACCEPTED_KEPT else items[:_ACCEPTED_KEPT] + items[-_ACCEPTED_KEPT:]

    def accepted(self) -> list[AcceptedItem]:
        """Return accepted items by their size; ResultsError if the answers of earlier runs cannot be read."""
        return sorted({*self._accepted, *self.past.accepted()}, key=attrgetter("audio_bytes", "audio"))

    def read_in(self, root: str) -> list[str]:
        """Name files of a root that could be read; ResultsError if the answers of earlier runs cannot be read."""
        in_this_leg = list(self._read.get(root, ()))[::-1]  # a copy: other threads add to it
        read = in_this_leg or self.past.files_read(_FILES_TRIED)
        locations = chain(read, (each.audio for each in self.past.accepted()))
        return list(dict.fromkeys(each for each in locations if self.root_of(each) == root))[:_FILES_TRIED]


def can_be_read(root: str, suspects: Sequence[WorkItem], known: KnownFiles, files: Files) -> bool:
    """Whether files of a root can be read that could be read before; where there are few, whether it lists any.

    A root that never held a file that we know of is taken as it is.

    Raises:
        ResourceShortage: this process cannot open a file now.
        ResultsError: the answers of earlier runs cannot be read.
    """
    if is_bucket(root):
        files.buckets.reopen(root)  # its credentials may have been renewed
    read = known.read_in(root)
    if any(_opens(location, files) for location in read):
        return True
    held_files = bool(read) or any(item.ineligible is None for item in suspects)
    return not held_files or (len(read) < _ENOUGH_FILES and _is_filled(root, suspects, files))


def _opens(location: str, files: Files) -> bool:
    try:
        with open_audio(location, files):
            return True
    except ResourceShortage:
        raise
    except SourceError:
        return False


def _is_filled(root: str, suspects: Iterable[WorkItem], files: Files) -> bool:
    """Whether the root lists files, and none of the folders directly in it that held a suspect is empty.

    Such an empty folder is mostly the point of a mount that is away.
    """
    if is_bucket(root):
        try:
            return any(True for _ in files.buckets.listed(root, bad=set()))
        except SourceError:
            return False
    below = {_folder_below(root, item.audio) for item in suspects} - {root}
    return any(each.files for each in files.walk(root)) and not any(_is_empty(folder, files) for folder in below)


def _is_empty(folder: str, files: Files) -> bool:
    return next(files.walk(folder)).refused is None and not any(each.files for each in files.walk(folder))


def _folder_below(root: str, location: str) -> str:
    first, slash, _ = location.removeprefix(root).strip("/").partition("/")
    return posixpath.join(root, first) if slash else root


def gives_known_bytes(root: str, known: KnownFiles, files: Files) -> bool | None:
    """Whether an accepted file of a root still has its bytes; None if too few are there, of their size, to say so.

    Raises:
        ResourceShortage: this process cannot open a file now.
        ResultsError: the answers of earlier runs cannot be read.
    """
    smallest = [each for each in known.accepted() if known.root_of(each.audio) == root][:_FILES_TRIED]
    compared = (_has_bytes(each, files) for each in smallest)
    read = list(islice((each for each in compared if each is not None), _ENOUGH_FILES))
    return any(read) if len(read) == _ENOUGH_FILES else None


def _has_bytes(item: AcceptedItem, files: Files) -> bool | None:
    """Whether an accepted file has the bytes that it had; None if it cannot be read, or has another size."""
    try:
        with open_audio(item.audio, files) as audio:
            is_same_size = audio.facts.size_bytes == item.audio_bytes
            return audio.read_through() == item.audio_sha256 if is_same_size else None
    except ResourceShortage:
        raise
    except SourceError:
        return None


def probe_item(mode: Mode) -> WorkItem:
    sidecar = _SIDECAR if mode is Mode.LEGACY_PAIR else None
    return WorkItem(manifest_row=_NO_ROW, item_id=_AUDIO, audio=_AUDIO, sidecar=sidecar)


class ProbeFiles(Files):
    """A source that holds the probe audio and its sidecar alone."""

    def facts(self, location: str) -> FileFacts:
        return self.open(location).facts()

    def open(self, location: str, *, is_whole: bool = False) -> OpenFile:  # noqa: ARG002 - makes no difference
        return _BytesFile(_silence() if location == _AUDIO else b"This is no proof.")


class _BytesFile(OpenFile):
    def __init__(self, content: bytes) -> None:
        self._content = content

    def facts(self) -> FileFacts:
        return FileFacts(len(self._content), "")

    def read_at(self, offset: int, most_bytes: int) -> bytes:
        return self._content[offset : offset + most_bytes]

    def close(self) -> None:
        """Nothing is open."""


def _silence() -> bytes:
    written = io.BytesIO()
    with wave.open(written, "wb") as file:
        file.setparams((1, 2, 44_100, 0, "NONE", ""))
        file.writeframes(bytes(8_820))
    return written.getvalue()
