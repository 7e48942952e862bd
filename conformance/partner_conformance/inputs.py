"""The optional inputs of the suite: more inputs enable more checks."""

from dataclasses import dataclass, fields
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Files, names and keys from the user; secrets are never shown.

    Attributes:
        sidecar_field: the wire name of the sidecar.
        one_file: a WAV with an accepted one-file credential.
        pair: the audio and sidecar of an accepted pair, of the key's tenant.
        local_seal: a WAV with an artist-device seal that was never registered.
        unregistered: a WAV with an intact credential that is not registered.
        unregistered_pair: audio and sidecar of an intact pair that is not registered.
        proof: the id of a proof of the key's tenant.
        pending_proof: the id of a proof of the key's tenant that is not issued yet.
        second_key: another key of the same tenant.
        other_key: a key of another tenant of the same environment.
        other_environment_key: a key of another environment.
        grace_key: a key that was rotated less than 72 hours ago.
        expired_key: a key that was rotated more than 72 hours ago.
        new_key_file: the file for the new key of a rotation.
        erase_proof: the id of a proof of the key's tenant that the suite may erase.
        erase_pair: audio and sidecar of an accepted pair whose proof the suite may erase.
        slot_seconds: the lifetime of a slot, as stated by the partner.
    """

    sidecar_field: str | None = None
    one_file: Path | None = None
    pair: tuple[Path, Path] | None = None
    local_seal: Path | None = None
    unregistered: Path | None = None
    unregistered_pair: tuple[Path, Path] | None = None
    proof: str | None = None
    pending_proof: str | None = None
    second_key: str | None = None
    other_key: str | None = None
    other_environment_key: str | None = None
    grace_key: str | None = None
    expired_key: str | None = None
    new_key_file: Path | None = None
    erase_proof: str | None = None
    erase_pair: tuple[Path, Path] | None = None
    slot_seconds: float | None = None

    @staticmethod
    def option(name: str) -> str:
        """Return the command-line option for an input; a key is given as a file."""
        return f"--{name.replace('_', '-')}{'-file' if name.endswith('_key') else ''}"

    def missing(self, needs: tuple[str, ...]) -> tuple[str, ...]:
        """Return the needed inputs that are missing."""
        return tuple(name for name in needs if getattr(self, name) is None)

    def __repr__(self) -> str:
        """Name the given inputs without their values."""
        given = ", ".join(field.name for field in fields(self) if getattr(self, field.name) is not None)
        return f"Inputs({given})"
