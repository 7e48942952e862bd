"""Why a row was not accepted: each reason is one entry, which says all that the code and the docs know of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Self

from proofsweep.domain.verdicts import Verdict


class AtFault(StrEnum):
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
    word: str
    plain: str  # what is wrong, for people who do not know the column: a clause of at most 60 characters
    meaning: str  # when a row has it, in a sentence
    remedy: str  # what a person does, in a clause
    at_fault: AtFault
    tells_supplier: bool = False  # whether the supplier of a rejected or ineligible file hears of it
    heals: Heals = Heals.NEVER  # whether the row may come out otherwise without a new version of the file
    may_be_outage: bool = False  # whether it may also say that a whole folder or bucket is away


def of_file(
    word: str,
    plain: str,
    meaning: str,
    remedy: str,
    heals: Heals = Heals.NEVER,
    *,
    may_be_outage: bool = False,
    tells_supplier: bool = True,
) -> ReasonEntry:
    return ReasonEntry(word, plain, meaning, remedy, AtFault.FILE, tells_supplier, heals, may_be_outage)


def of_source(
    word: str, plain: str, meaning: str, remedy: str, heals: Heals = Heals.HERE, *, may_be_outage: bool = True
) -> ReasonEntry:
    return ReasonEntry(word, plain, meaning, remedy, AtFault.SOURCE, False, heals, may_be_outage)


def of_service(word: str, plain: str, meaning: str, remedy: str, *, tells_supplier: bool = False) -> ReasonEntry:
    return ReasonEntry(word, plain, meaning, remedy, AtFault.SERVICE, tells_supplier)


_REPORT_IT = "verify again; if it stays, report the request IDs to the partner"


class Reason(StrEnum):
    """Our own words for the `reason` column; a verdict that is not accepted is its own reason."""

    entry: ReasonEntry

    def __new__(cls, entry: object) -> Self:  # of an entry; `Reason("empty")` does not come here
        if not isinstance(entry, ReasonEntry):
            raise TypeError(entry)
        reason = str.__new__(cls, entry.word)
        reason._value_ = entry.word
        reason.entry = entry
        return reason

    MISSING_AUDIO = of_source(
        "missing_audio",
        "the file is not where the catalog says",
        "Nothing is at the location, the manifest gives none, or it gives one that cannot be read.",
        "have the file delivered, or correct its name in the manifest or message",
    )
    MISSING_SIDECAR = of_file(
        "missing_sidecar",
        "the sidecar is missing or empty",
        "The sidecar is missing or empty.",
        "have the sidecar delivered, or clear the manifest's sidecar cell",
        Heals.HERE,
        may_be_outage=True,
    )
    NOT_CALCULATED = of_source(
        "not_calculated",
        "the list holds a formula that was not calculated",
        "A cell of the row holds a formula without a value, or one with a 0 in the place of a text.",
        "open the workbook in a spreadsheet program and save it, or export it as CSV",
        may_be_outage=False,
    )
    AMBIGUOUS_SIDECAR = of_file(
        "ambiguous_sidecar",
        "it is not clear which sidecar belongs to the file",
        "Several audio files of a folder share a sidecar's name, and more than one of them may need it.",
        "name the sidecar after its audio's full name",
    )
    SIDECAR_FIELD_UNKNOWN = of_source(
        "sidecar_field_unknown",
        "a setting is missing, so that pairs cannot be sent",
        "A legacy pair, and `service.sidecar_field` is empty. A catalog of nothing else is refused (exit code 2).",
        "ask the partner for the sidecar's wire name, and set service.sidecar_field",
        may_be_outage=False,
    )
    NO_ASSET = of_file(
        "no_asset",
        "the service has no audio for this proof",
        "The service has no asset of the proof.",
        "verify the audio with its sidecar; see whether the proof was erased, or is another partner's",
    )
    EMPTY = of_file(
        "empty",
        "the file is empty",
        "The audio holds no bytes.",
        "ask the supplier to deliver the file again: it holds no bytes",
    )
    TOO_LARGE = of_file(
        "too_large",
        "the file is too large for the service",
        "More than 68,157,440 bytes (65 MiB), which a verification slot takes; a setting for pairs.",
        "larger than the verification slot; ask the supplier for a delivery that fits",
    )
    SIDECAR_TOO_LARGE = of_file(
        "sidecar_too_large",
        "the sidecar is too large to be one",
        "The sidecar has more than 1 MiB; a setting.",
        "no sidecar is that large; ask the supplier for the proof file itself",
    )
    NOT_WAV = of_file(
        "not_wav",
        "the file is no WAV and has no sidecar",
        "AIFF, CAF, MP3 or M4A without a sidecar.",
        "ask the supplier for a credentialed WAV, or for this file's sidecar",
    )
    UNLISTED_FORMAT = of_file(
        "unlisted_format",
        "the service does not take files of this format",
        "FLAC, Ogg, WavPack, DSF, DSDIFF, Musepack, TTA, Monkey's Audio, Matroska, AC-3 and other formats that the "
        "service does not take, also behind an ID3 tag; without a sidecar, also content that is not known.",
        "ask the supplier for WAV, or for AIFF, CAF, MP3 or M4A with a sidecar",
    )
    DAMAGED_IN_DELIVERY = of_file(
        "damaged_in_delivery",
        "the file was damaged on its way",
        "The file's bytes are not those that the delivery declares: another digest, or another size.",
        "ask the supplier to send the file again",
    )
    NO_CREDENTIAL = of_file(
        "no_credential",
        "the file carries no credential",
        "A WAV without a sidecar that holds no manifest of any kind; only with `--skip-without-credential`.",
        "ask the supplier for the file as it was issued, with its credential",
        Heals.HERE,
    )
    NOT_IN_MESSAGE = of_file(
        "not_in_message",
        "no message of the delivery names the file",
        "Audio in a release's folder that none of its messages names.",
        "ask the supplier for a message that names the file, or to take the file back",
        Heals.HERE,
    )
    UNREADABLE_MESSAGE = of_file(
        "unreadable_message",
        "the delivery's message cannot be read",
        "A DDEX message that is no well-formed XML, has a DTD, is too large or too deep, or is of no known version.",
        "ask the supplier to send the message again",
    )
    TEST_MESSAGE = of_file(
        "test_message",
        "the delivery is a test",
        "The file is of a message whose control type is TestMessage.",
        "nothing; the supplier sends a live message when the release is meant",
        Heals.HERE,
        tells_supplier=False,
    )
    WITHDRAWN = of_file(
        "withdrawn",
        "the release was withdrawn by its sender",
        "A PurgeReleaseMessage of the same sender names the release.",
        "take the file out of the catalog",
        Heals.HERE,
        tells_supplier=False,
    )
    UNREADABLE_FILE = of_source(
        "unreadable_file",
        "the file may not be read, or its disk fails",
        "No permission, a disk that fails, not a regular file, or a key that cannot be requested.",
        "make the file readable for the user that runs proofsweep",
    )
    UNREADABLE_FOLDER = of_source(
        "unreadable_folder",
        "the folder may not be read",
        "A folder of a scan cannot be read; the row stands for all files in it.",
        "make the folder readable for the user that runs proofsweep, then verify again",
    )
    OUTSIDE_CATALOG = of_file(
        "outside_catalog",
        "the file lies outside the catalog's folder",
        "The audio, the sidecar or the folder lies outside the catalog's root.",
        "if this is meant, set catalog.root, or catalog.outside to allow; else ask for the file itself",
    )
    SOURCE_FORBIDDEN = of_source(
        "source_forbidden",
        "the bucket does not let us read the file",
        "The bucket refuses this object (403), although others can be read.",
        "ask the bucket's owner for read access to this object, or correct its name in the manifest",
    )
    ARCHIVED = of_source(
        "archived",
        "the file is in an archive and must be restored first",
        "The object is in an archive tier.",
        "ask the bucket's owner to restore the object from its archive tier, then verify again",
        may_be_outage=False,
    )
    SOURCE_UNAVAILABLE = of_source(
        "source_unavailable",
        "the file's folder or bucket did not give it",
        "The folder or bucket fails for this file again and again, although others can be read.",
        "verify again; its folder or bucket did not give this file",
        Heals.NEVER,
    )
    SOURCE_CHANGED = of_file(
        "source_changed",
        "the file changed while it was being sent",
        "The file changed while it was being sent; or it was rejected, and has changed since it was opened.",
        "let the delivery finish, then verify again",
    )
    SLOT_REFUSED = of_service(
        "slot_refused",
        "the service's storage did not take the file",
        "The storage target did not store the audio.",
        _REPORT_IT,
    )
    TIMEOUT = of_service(
        "timeout",
        "the service did not answer in time",
        "The service did not answer in time.",
        "verify again; the service did not answer in time",
    )
    CONNECTION = of_service(
        "connection",
        "the connection to the service broke",
        "The connection to the service broke.",
        "verify again; the connection to the service broke",
    )
    BAD_ANSWER = of_service(
        "bad_answer", "the service's answer cannot be read", "The service's answer cannot be read.", _REPORT_IT
    )
    UNKNOWN_VERDICT = of_service(
        "unknown_verdict",
        "the service gave a verdict that is not in the contract",
        "The verdict is not one of the contract's; an unknown verdict is a failed verification.",
        "treated as a failed verification; ask the partner what this verdict means",
        tells_supplier=True,
    )
    CONTRADICTORY_ANSWER = of_service(
        "contradictory_answer",
        "the service's answer contradicts itself",
        "The answer contradicts itself: `good` says one thing, and the verdict another.",
        "treated as a failed verification; report the request ID to the partner",
    )


REASONS: Mapping[str, ReasonEntry] = MappingProxyType(
    {
        entry.word: entry
        for entry in (
            of_file(
                Verdict.AUDIO_CHANGED,
                "the audio is not the one that the credential was made for",
                "The audio bytes are not those that the sidecar was made for.",
                "ask the supplier for the audio and sidecar that belong together",
            ),
            of_file(
                Verdict.TAMPERED,
                "the credential was changed after it was issued",
                "The proof, the embedded identity or the signature was changed.",
                "reject, and ask the supplier for the untouched original delivery",
            ),
            of_file(
                Verdict.UNREGISTERED,
                "the service did not issue this credential",
                "The service has not issued and registered this credential.",
                "reject, and ask the supplier for a credential the service issued; check the environment",
                Heals.AT_SERVICE,
            ),
            of_file(
                Verdict.UNREADABLE,
                "the credential in the file cannot be read",
                "No readable proof was found, or its binding to the audio failed.",
                "reject, and ask the supplier for the file as it was issued, not re-exported or edited",
            ),
            of_file(
                Verdict.LOCAL_SEAL,
                "the artist's seal is not registered with the service",
                "The seal of the artist's device is intact, but was never registered with the service.",
                "do not accept as issued; ask the artist to register the seal with the service",
                Heals.AT_SERVICE,
            ),
            *(reason.entry for reason in Reason),
        )
    }
)
"""Every reason by its word in the `reason` column: the verdicts but `valid`, then ours."""

_OTHER = "the service gave no answer that can be used", "A reason without an entry, such as a status of the service."
_ANY_OTHER = of_service("", *_OTHER, _REPORT_IT, tells_supplier=True)

_NO_SIDECAR = (
    "reject, and ask the supplier for its sidecar: no sidecar came with it; else for the file as it was issued"
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


def remedy_for(reason: str, *, is_alone: bool = False) -> str:
    """Return in one clause what to do about a reason, perhaps of a file that came without a sidecar."""
    return _NO_SIDECAR if is_alone and reason == Verdict.UNREADABLE else about(reason).remedy


def plain_words_for(outcome: str, reason: str) -> str:
    """Return in one clause why a row has its outcome, also of an accepted one; the code belongs beside it, in small."""
    return "the service confirmed the credential" if outcome == "accepted" else about(reason).plain


def advice_for_outcome(outcome: str, reason: str, *, is_alone: bool = False) -> str:
    return "accept the credential" if outcome == "accepted" else remedy_for(reason, is_alone=is_alone)
