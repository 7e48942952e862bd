"""Why a row was not accepted, and what a person does about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from proofsweep.contract.verdicts import Verdict


class Reason(StrEnum):
    """Our own words for the `reason` column; a verdict that is not accepted is its own reason."""

    UNKNOWN_VERDICT = "unknown_verdict"
    CONTRADICTORY_ANSWER = "contradictory_answer"
    MISSING_AUDIO = "missing_audio"
    MISSING_SIDECAR = "missing_sidecar"
    AMBIGUOUS_SIDECAR = "ambiguous_sidecar"
    SIDECAR_FIELD_UNKNOWN = "sidecar_field_unknown"
    EMPTY = "empty"
    TOO_LARGE = "too_large"
    SIDECAR_TOO_LARGE = "sidecar_too_large"
    NOT_WAV = "not_wav"
    UNLISTED_FORMAT = "unlisted_format"
    UNREADABLE_FILE = "unreadable_file"
    UNREADABLE_FOLDER = "unreadable_folder"
    OUTSIDE_CATALOG = "outside_catalog"
    SOURCE_FORBIDDEN = "source_forbidden"
    SOURCE_UNAVAILABLE = "source_unavailable"
    ARCHIVED = "archived"
    SOURCE_CHANGED = "source_changed"
    SLOT_REFUSED = "slot_refused"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    BAD_ANSWER = "bad_answer"
    NO_ASSET = "no_asset"


SOURCE_REASONS = frozenset(
    {
        *(Reason.MISSING_AUDIO, Reason.MISSING_SIDECAR, Reason.UNREADABLE_FILE, Reason.UNREADABLE_FOLDER),
        *(Reason.SOURCE_FORBIDDEN, Reason.SOURCE_UNAVAILABLE),
    }
)
"""Reasons that may also say that a whole folder or bucket is away."""


@dataclass(frozen=True, slots=True)
class Ineligible:
    """A row that cannot be sent, because of the catalog or the file. It costs no call."""

    reason: Reason
    detail: str


REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        Verdict.AUDIO_CHANGED: "ask the supplier for the audio and sidecar that belong together",
        Verdict.TAMPERED: "reject, and ask the supplier for the untouched original delivery",
        Verdict.UNREGISTERED: "reject, and ask the supplier for a credential the service issued; check the environment",
        Verdict.UNREADABLE: "reject, and ask the supplier for the file as it was issued, not re-exported or edited",
        Verdict.LOCAL_SEAL: "do not accept as issued; ask the artist to register the seal with the service",
        Reason.UNKNOWN_VERDICT: "treated as a failed verification; ask the partner what this verdict means",
        Reason.CONTRADICTORY_ANSWER: "treated as a failed verification; report the request ID to the partner",
        Reason.MISSING_AUDIO: "correct the location in the manifest, or have the file delivered",
        Reason.MISSING_SIDECAR: "have the sidecar delivered, or clear the manifest's sidecar cell",
        Reason.AMBIGUOUS_SIDECAR: "name the sidecar after its audio's full name",
        Reason.SIDECAR_FIELD_UNKNOWN: "ask the partner for the sidecar's wire name, and set service.sidecar_field",
        Reason.NO_ASSET: "verify the audio with its sidecar; see whether the proof was erased, or is another partner's",
        Reason.EMPTY: "ask the supplier to deliver the file again: it holds no bytes",
        Reason.TOO_LARGE: "larger than the verification slot; ask the supplier for a delivery that fits",
        Reason.SIDECAR_TOO_LARGE: "no sidecar is that large; ask the supplier for the proof file itself",
        Reason.NOT_WAV: "ask the supplier for a credentialed WAV, or for this file's sidecar",
        Reason.UNLISTED_FORMAT: "ask the supplier for WAV, or for AIFF, CAF, MP3 or M4A with a sidecar",
        Reason.UNREADABLE_FILE: "make the file readable for the user that runs proofsweep",
        Reason.UNREADABLE_FOLDER: "make the folder readable for the user that runs proofsweep, then verify again",
        Reason.OUTSIDE_CATALOG: "if this is meant, give --root or --allow-outside; else ask for the file itself",
        Reason.SOURCE_FORBIDDEN: "ask the bucket's owner for read access to this object, or correct its location",
        Reason.SOURCE_UNAVAILABLE: "verify again; its folder or bucket did not give this file",
        Reason.ARCHIVED: "ask the bucket's owner to restore the object from its archive tier, then verify again",
        Reason.SOURCE_CHANGED: "let the delivery finish, then verify again",
        Reason.SLOT_REFUSED: "verify again; if it stays, report the request IDs to the partner",
        Reason.TIMEOUT: "verify again; the service did not answer in time",
        Reason.CONNECTION: "verify again; the connection to the service broke",
        Reason.BAD_ANSWER: "verify again; if it stays, report the request IDs to the partner",
    }
)


def remedy_for(reason: str) -> str:
    """Return in one clause what to do about a reason; a reason without an entry gets the general remedy."""
    return REMEDIES.get(reason, "verify again; if it stays, report the request IDs to the partner")


def advice_for_outcome(outcome: str, reason: str) -> str:
    """Return what to do about a row by its outcome and reason, also about an accepted one."""
    return "accept the credential" if outcome == "accepted" else remedy_for(reason)
