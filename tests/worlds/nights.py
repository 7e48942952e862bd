"""Nights of a small label: files are issued and delivered, and catalogs verified without an orchestrator."""

from dataclasses import dataclass
from pathlib import Path

import proofsweep_sandbox as sandbox

from .command_world import wav_of
from .core import NothingDue, verified


@dataclass(frozen=True, slots=True)
class Label:
    """A folder of music, each file with a sound of its own."""

    folder: Path
    operator: sandbox.Operator

    def plain(self, name: str) -> Path:
        """Write a WAV without a credential."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(wav_of(f"{name:>400}".encode()[:400] * 4))
        return path

    def credentialed(self, name: str) -> Path:
        """Write a WAV that the service accepts."""
        bare = self.plain(f"{name}.bare")
        issued = self.operator.issue(bare, self.folder / name)
        bare.unlink()
        return issued.audio

    def sidecar_of(self, audio: Path, name: str = "{name}.sidecar") -> Path:
        """Issue the sidecar of audio, beside it."""
        path = audio.with_name(name.replace("{name}", audio.name))
        self.operator.issue(audio, path, legacy=True)
        return path


def verify_night(catalog: Path | str, **selection: object) -> str | None:
    """Verify a catalog, or chosen rows; give the run's ID, None if nothing is due."""
    try:
        return verified(catalog, **selection)
    except NothingDue:
        return None
