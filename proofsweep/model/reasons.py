"""Why a row was not accepted: each reason is one entry, which says all that the code and the docs know of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Self

from proofsweep.contract.verdicts import Verdict


class AtFault(StrEnum):
    """Where the cause of a reason lies."""

    FILE = "the file"
    SOURCE = "our side"  # the catalog, a permission, the place of the files, a setting
    SERVICE = "the service"


class Heals(StrEnum):
    """Whether a file may come out otherwise although it is the same."""

    NEVER = "no"
    HERE = "yes"  # by a setting, a permission, a delivery, a restore
    AT_SERVICE = "at the service"  # by a registration


@dataclass(frozen=True, slots=True)
class ReasonEntry:
    """All about one reason.

    Attributes:
        word: as in the column.
        meaning: when a row has it, in a sentence.
        remedy: what a person does, in a clause.
        tells_supplier: whether the supplier of a rejected or ineligible file hears of it.
        heals: whether the row may come out otherwise without a new version of the file.
        may_be_outage: whether it may also say that a whole folder or bucket is away.
    """

    word: str
    meaning: str
    remedy: str
    at_fault: AtFault
    tells_supplier: bool = False
    heals: Heals = Heals.NEVER
    may_be_outage: bool = False


def _of_file(
    word: str, meaning: str, remedy: str, heals: Heals = Heals.NEVER, *, may_be_outage: bool = False
) -> ReasonEntry:
    return ReasonEntry(word, meaning, remedy, AtFault.FILE, True, heals, may_be_outage)


def _of_source(
    word: str, meaning: str, remedy: str, heals: Heals = Heals.HERE, *, may_be_outage: bool = True
) -> ReasonEntry:
    return ReasonEntry(word, meaning, remedy, AtFault.SOURCE, False, heals, may_be_outage)


def _of_service(word: str, meaning: str, remedy: str, *, tells_supplier: bool = False) -> ReasonEntry:
    return ReasonEntry(word, meaning, remedy, AtFault.SERVICE, tells_supplier)


_REPORT_IT = "verify again; if it stays, report the request IDs to the partner"


class Reason(StrEnum):
    """Our own words for the `reason` column; a verdict that is not accepted is its own reason."""

    entry: ReasonEntry

    def __new__(cls, entry: object) -> Self:
        """Make the word of an entry; what finds a reason by its word, as `Reason("empty")` does, does not come here."""
        if not isinstance(entry, ReasonEntry):
            raise TypeError(entry)
        reason = str.__new__(cls, entry.word)
        reason._value_ = entry.word
        reason.entry = entry
        return reason

    MISSING_AUDIO = _of_source(
        "missing_audio",
        "Nothing is at the location, the manifest gives none, or it gives one that cannot be read.",
        "correct the location in the manifest, or have the file delivered",
    )
    MISSING_SIDECAR = _of_file(
        "missing_sidecar",
        "The sidecar is missing or empty.",
        "have the sidecar delivered, or clear the manifest's sidecar cell",
        Heals.HERE,
        may_be_outage=True,
    )
    AMBIGUOUS_SIDECAR = _of_file(
        "ambiguous_sidecar",
        "Several audio files of a folder share a sidecar's name, and more than one of them may need it.",
        "name the sidecar after its audio's full name",
    )
    SIDECAR_FIELD_UNKNOWN = _of_source(
        "sidecar_field_unknown",
        "A legacy pair, and the setting `service.sidecar_field` is empty. The other rows run; a catalog of nothing "
        "but such pairs is refused (exit code 2).",
        "ask the partner for the sidecar's wire name, and set service.sidecar_field",
        may_be_outage=False,
    )
    NO_ASSET = _of_file(
        "no_asset",
        "The service has no asset of the proof.",
        "verify the audio with its sidecar; see whether the proof was erased, or is another partner's",
    )
    EMPTY = _of_file(
        "empty", "The audio holds no bytes.", "ask the supplier to deliver the file again: it holds no bytes"
    )
    TOO_LARGE = _of_file(
        "too_large",
        "More than 68,157,440 bytes (65 MiB), which a verification slot takes; a setting for pairs.",
        "larger than the verification slot; ask the supplier for a delivery that fits",
    )
    SIDECAR_TOO_LARGE = _of_file(
        "sidecar_too_large",
        "The sidecar has more than 1 MiB; a setting.",
        "no sidecar is that large; ask the supplier for the proof file itself",
    )
    NOT_WAV = _of_file(
        "not_wav",
        "AIFF, CAF, MP3 or M4A without a sidecar.",
        "ask the supplier for a credentialed WAV, or for this file's sidecar",
    )
    UNLISTED_FORMAT = _of_file(
        "unlisted_format",
        "FLAC, Ogg, WavPack, DSF, DSDIFF, Musepack, TTA, Monkey's Audio, Matroska, AC-3 and other formats that the "
        "service does not take, also behind an ID3 tag; without a sidecar, also content that is not known.",
        "ask the supplier for WAV, or for AIFF, CAF, MP3 or M4A with a sidecar",
    )
    UNREADABLE_FILE = _of_source(
        "unreadable_file",
        "No permission, a disk that fails, not a regular file, or a key that cannot be requested.",
        "make the file readable for the user that runs proofsweep",
    )
    UNREADABLE_FOLDER = _of_source(
        "unreadable_folder",
        "A folder of a scan cannot be read; the row stands for all files in it.",
        "make the folder readable for the user that runs proofsweep, then verify again",
    )
    OUTSIDE_CATALOG = _of_file(
        "outside_catalog",
        "The audio, the sidecar or the folder lies outside the catalog's root.",
        "if this is meant, give --root or --allow-outside; else ask for the file itself",
    )
    SOURCE_FORBIDDEN = _of_source(
        "source_forbidden",
        "The bucket refuses this object (403), although others can be read.",
        "ask the bucket's owner for read access to this object, or correct its location",
    )
    ARCHIVED = _of_source(
        "archived",
        "The object is in an archive tier.",
        "ask the bucket's owner to restore the object from its archive tier, then verify again",
        may_be_outage=False,
    )
    SOURCE_UNAVAILABLE = _of_source(
        "source_unavailable",
        "The folder or bucket fails for this file again and again, although others can be read.",
        "verify again; its folder or bucket did not give this file",
        Heals.NEVER,
    )
    SOURCE_CHANGED = _of_file(
        "source_changed",
        "The file changed while it was being sent; or it was rejected, and has changed since it was opened.",
        "let the delivery finish, then verify again",
    )
    SLOT_REFUSED = _of_service("slot_refused", "The storage target did not store the audio.", _REPORT_IT)
    TIMEOUT = _of_service(
        "timeout", "The service did not answer in time.", "verify again; the service did not answer in time"
    )
    CONNECTION = _of_service(
        "connection", "The connection to the service broke.", "verify again; the connection to the service broke"
    )
    BAD_ANSWER = _of_service("bad_answer", "The service's answer cannot be read.", _REPORT_IT)
    UNKNOWN_VERDICT = _of_service(
        "unknown_verdict",
        "The verdict is not one of the contract's; an unknown verdict is a failed verification.",
        "treated as a failed verification; ask the partner what this verdict means",
        tells_supplier=True,
    )
    CONTRADICTORY_ANSWER = _of_service(
        "contradictory_answer",
        "The answer contradicts itself: `good` says one thing, and the verdict another.",
        "treated as a failed verification; report the request ID to the partner",
        tells_supplier=True,
    )


REASONS: Mapping[str, ReasonEntry] = MappingProxyType(
    {
        entry.word: entry
        for entry in (
            _of_file(
                Verdict.AUDIO_CHANGED,
                "The audio bytes are not those that the sidecar was made for.",
                "ask the supplier for the audio and sidecar that belong together",
            ),
            _of_file(
                Verdict.TAMPERED,
                "The proof, the embedded identity or the signature was changed.",
                "reject, and ask the supplier for the untouched original delivery",
            ),
            _of_file(
                Verdict.UNREGISTERED,
                "The service has not issued and registered this credential.",
                "reject, and ask the supplier for a credential the service issued; check the environment",
                Heals.AT_SERVICE,
            ),
            _of_file(
                Verdict.UNREADABLE,
                "No readable proof was found, or its binding to the audio failed.",
                "reject, and ask the supplier for the file as it was issued, not re-exported or edited",
            ),
            _of_file(
                Verdict.LOCAL_SEAL,
                "The seal of the artist's device is intact, but was never registered with the service.",
                "do not accept as issued; ask the artist to register the seal with the service",
                Heals.AT_SERVICE,
            ),
            *(reason.entry for reason in Reason),
        )
    }
)
"""Every reason by its word in the `reason` column: the verdicts but `valid`, then ours."""

# A rejection for a reason of a later version is told too.
_ANY_OTHER = _of_service(
    "", "A reason without an entry, such as a status of the service.", _REPORT_IT, tells_supplier=True
)

SOURCE_REASONS = frozenset(reason for reason in Reason if reason.entry.may_be_outage)
"""Reasons that may also say that a whole folder or bucket is away."""


@dataclass(frozen=True, slots=True)
class Ineligible:
    """A row that cannot be sent, because of the catalog or the file. It costs no call."""

    reason: Reason
    detail: str


def about(reason: str | None) -> ReasonEntry:
    """Return what is known of a reason; statuses of the service, `http_422` and others, share one entry."""
    return REASONS.get(reason or "", _ANY_OTHER)


def remedy_for(reason: str) -> str:
    """Return in one clause what to do about a reason; a reason without an entry gets the general remedy."""
    return about(reason).remedy


def advice_for_outcome(outcome: str, reason: str) -> str:
    """Return what to do about a row by its outcome and reason, also about an accepted one."""
    return "accept the credential" if outcome == "accepted" else remedy_for(reason)
