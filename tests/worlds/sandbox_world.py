"""A world whose partner is the sandbox, and the sample catalog that its tests share."""

import csv
import json
import shutil
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import proofsweep_sandbox as sandbox

from . import core
from .command_world import CommandWorld, export_settings


class Samples(NamedTuple):
    """A folder of sample files, and the verdict that each of them must get."""

    folder: Path
    files: list[sandbox.Sample]

    @property
    def valid(self) -> list[sandbox.Sample]:
        """The files that the service accepts."""
        return [sample for sample in self.files if sample.verdict == "valid"]

    @property
    def one_files(self) -> list[sandbox.Sample]:
        """The accepted WAVs that carry their credential."""
        return [sample for sample in self.valid if sample.sidecar is None and sample.audio.suffix == ".wav"]


@dataclass(slots=True)
class SandboxWorld(CommandWorld):
    """One test's folder and commands, with a tenant and a key of its own at the shared sandbox."""

    tenant: str
    key_file: Path
    operator: sandbox.Operator
    patch: pytest.MonkeyPatch

    @property
    def charged(self) -> int:
        """The number of calls that the service has charged to this test's key."""
        return sum(key["limit"] - key["remaining"] for key in self.operator.usage(self.tenant))

    def manifest(self, samples: Iterable[sandbox.Sample]) -> str:
        """Write a manifest of samples, in their order, with a tag and an id for each row; give its path."""
        export_settings(self.patch, {"CATALOG__COLUMNS__ID": "id"})
        path = self.folder / "catalog.csv"
        with path.open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["audio", "sidecar", "id", "ISRC"])
            for number, sample in enumerate(samples):
                rows.writerow([sample.audio, sample.sidecar or "", f"item-{number}", f"XX{number}"])
        return str(path)

    def deliver(self, samples: Iterable[sandbox.Sample], folder: str = "catalog") -> Path:
        """Copy samples into a folder, with their sidecars, under two digits each; give its path."""
        target = self.folder / folder
        target.mkdir(parents=True, exist_ok=True)
        for number, sample in enumerate(samples):
            audio = shutil.copy(sample.audio, target / f"{number:02}{sample.audio.suffix}")
            if sample.sidecar is not None:
                shutil.copy(sample.sidecar, f"{audio}.sidecar")
        return target

    def files_by_run(self) -> list[list[str]]:
        """Name the files that each run has a row of, without their endings, the oldest run first."""
        rows = self.rows()
        runs = sorted({row["run_id"] for row in rows})
        return [[Path(row["audio"]).stem for row in rows if row["run_id"] == run] for run in runs]

    def plan_batches(self, catalog: str, items: int, monkeypatch: pytest.MonkeyPatch) -> str:
        """Plan a run whose batches have so many items; give its ID."""
        core.set_chosen(monkeypatch, batch_items=items)
        return core.plan(catalog, self.results_url)

    def journalled(self, leg: int) -> bool:
        """Return whether a leg has written finished rows to its journal."""
        return any(self.results.glob(f"_runs/*/journal/{leg:03}/verdicts-*"))

    def begun(self, leg: int) -> list[dict[str, Any]]:
        """Return the entries of the log by which such legs have begun."""
        entries = [json.loads(path.read_bytes()) for path in sorted(self.results.glob("_log/*/*.json"))]
        return [entry for entry in entries if entry["kind"] == "begun" and entry["leg"] == leg]

    def interrupt(self, catalog: str, number: signal.Signals, after: int = 40) -> None:
        """Verify a catalog in another process, and send it a signal after it has finished some rows.

        The service is slow after so many answers, so that the run cannot end first.
        """
        self.operator.add_fault("verify", "slow", after=after, seconds=3.0)
        process = self.start("verify", catalog)
        self.wait_for(lambda: self.journalled(1) or process.poll() is not None)
        process.send_signal(number)
        process.wait(timeout=60)
        self.operator.clear_faults()


def open_account(running: sandbox.Running, folder: Path, monkeypatch: pytest.MonkeyPatch) -> SandboxWorld:
    """Make a tenant at the sandbox; export its key and the sandbox's address."""
    key = running.operator.add_tenant(folder.name)
    key_file = folder / "key"
    key_file.write_text(key.api_key)
    settings = {"SERVICE__BASE_URL": running.base_url, "SERVICE__API_KEY_FILE": str(key_file)}
    settings["CATALOG__ROOT"] = "/"  # the samples that all tests share lie beside the manifest of one
    export_settings(monkeypatch, settings)
    return SandboxWorld(folder, key.tenant, key_file, running.operator, monkeypatch)
