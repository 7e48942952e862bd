"""Nights of a small label: files are issued and delivered, and catalogs verified without an orchestrator."""

import wave
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import proofsweep_sandbox as sandbox
from proofsweep.errors import NothingDue, RunMustStop
from proofsweep.model.selection import Selection
from proofsweep.settings import load_settings
from proofsweep.verify.leg.work import verify_slice, work_last
from proofsweep.wiring.engines import engine_for
from proofsweep.wiring.legs import claimed_next_leg
from proofsweep.wiring.runs import plan_catalog
from proofsweep.wiring.watching import watched_folder


@dataclass(frozen=True, slots=True)
class Label:
    """A folder of music, each file with a sound of its own."""

    folder: Path
    operator: sandbox.Operator

    def plain(self, name: str) -> Path:
        """Write a WAV without a credential."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with wave.open(str(path), "wb") as file:
            file.setparams((1, 2, 8_000, 0, "NONE", ""))
            file.writeframes(f"{name:>400}".encode()[:400] * 4)
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
        run_id = plan_catalog(load_settings(), str(catalog), selection=Selection(**selection)).run_id  # type: ignore[arg-type]
    except NothingDue:
        return None
    _verify(run_id)
    return run_id


def ingest_pass(folder: Path) -> None:
    """Make one pass over a watched folder."""
    with watched_folder(load_settings(), str(folder), None) as watched:
        for run_id in watched.one_pass().runs():
            _verify(run_id)


def _verify(run_id: str) -> None:
    leg = claimed_next_leg(engine_for(load_settings()), run_id)
    with suppress(RunMustStop), leg as (_, context):
        for piece in context.remaining.slices():
            verify_slice(context, piece)
        work_last(context)
