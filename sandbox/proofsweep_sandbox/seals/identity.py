"""The identity in a seal, and the result of examining a seal."""

from dataclasses import dataclass
from enum import StrEnum


class Signer(StrEnum):
    SERVICE = "service"
    DEVICE = "device"
    STRANGER = "stranger"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The three members in a manifest and in a document; `created_at` is in unix seconds."""

    proof_id: str
    song: str
    created_at: int

    def members(self) -> dict[str, object]:
        return {"proofId": self.proof_id, "song": self.song, "createdAt": self.created_at}


class Condition(StrEnum):
    UNREADABLE = "unreadable"
    ALTERED = "altered"
    AUDIO_CHANGED = "audio_changed"
    INTACT = "intact"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of an examination; signer and identity are None if they cannot be trusted."""

    condition: Condition
    signer: Signer | None = None
    identity: Identity | None = None


def identity_of(members: object) -> Identity | None:
    """Read an identity from decoded JSON; None if a member is missing or has another type."""
    match members:
        case {"proofId": str(proof_id), "song": str(song), "createdAt": int(created_at)}:
            return Identity(proof_id=proof_id, song=song, created_at=created_at)
        case _:
            return None
