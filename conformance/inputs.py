"""What may be given to the suite: the more, the more can be tried."""

from dataclasses import dataclass, fields
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Files, names and keys of the person who runs the suite; secrets are never shown.

    Attributes:
        sidecar_field: the sidecar's wire name.
        one_file: a WAV whose one-file credential the service accepts.
        pair: audio and sidecar that the service accepts, held under the key.
        local_seal: a WAV with an artist-device seal that was never registered.
        unregistered: a WAV with an intact credential that is no registered one.
        proof: the id of a proof held under the key.
        other_key: a key of another tenant of the same environment.
        other_environment_key: a key of another environment.
        new_key_file: where the new key of a rotation is written.
        erase_proof: the id of a proof held under the key, which may be erased for good.
        slot_seconds: how long a slot can be filled, as the partner told you.
    """

    sidecar_field: str | None = None
    one_file: Path | None = None
    pair: tuple[Path, Path] | None = None
    local_seal: Path | None = None
    unregistered: Path | None = None
    proof: str | None = None
    other_key: str | None = None
    other_environment_key: str | None = None
    new_key_file: Path | None = None
    erase_proof: str | None = None
    slot_seconds: float | None = None

    @staticmethod
    def option(name: str) -> str:
        """Name the command line's option that gives an input; a key is given in a file."""
        return f"--{name.replace('_', '-')}{'-file' if name.endswith('_key') else ''}"

    def missing(self, needs: tuple[str, ...]) -> tuple[str, ...]:
        """Give those of the needed inputs that are not there."""
        return tuple(name for name in needs if getattr(self, name) is None)

    def __repr__(self) -> str:
        """Tell only what is there."""
        given = ", ".join(field.name for field in fields(self) if getattr(self, field.name) is not None)
        return f"Inputs({given})"
