"""A world whose partner is the foreign service: a second implementation of the contract that tests can disturb."""

import csv
import hashlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from ..servers.buckets import Bucket
from ..servers.foreign_service import ForeignService
from . import core
from .command_world import CommandWorld, wav_of


@dataclass(slots=True)
class ForeignWorld(CommandWorld):
    """One test's folder and commands, with a service and a key of its own."""

    service: ForeignService
    key_file: Path
    bucket: Bucket | None = None  # holds the results; without one they are in a folder

    @property
    def results_url(self) -> str:
        return str(self.folder / "results") if self.bucket is None else f"{self.bucket.url}/results"

    @property
    def results(self) -> Path:
        """The folder of the results; of a bucket, a copy of its plans and tables as they are now."""
        if self.bucket is not None:
            for key in self.bucket.keys("results"):
                if key.endswith((".parquet", "plan.json")) and not (self.folder / key).exists():
                    (self.folder / key).parent.mkdir(parents=True, exist_ok=True)
                    (self.folder / key).write_bytes(self.bucket.content(key))
        return self.folder / "results"

    @property
    def runs(self) -> list[str]:
        """The runs that were planned, oldest first."""
        return sorted(path.parent.name for path in self.results.glob("_runs/*/plan.json"))

    def catalog(self, *verdicts: str, are_pairs: bool = False) -> str:
        """Write one small WAV for each verdict, perhaps with a sidecar, and a manifest of them; give its path."""
        path = self.folder / "catalog.csv"
        with path.open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["audio", "sidecar"])
            for number, verdict in enumerate(verdicts):
                path_of_audio, audio = self.folder / f"{number}.wav", wav_of(number.to_bytes(4, "big") * 400)
                path_of_audio.write_bytes(audio)
                self.service.verdicts[hashlib.sha256(audio).hexdigest()] = verdict
                path_of_sidecar = path_of_audio.with_suffix(".sidecar")
                if are_pairs:
                    path_of_sidecar.write_text(f"sidecar of {number}")
                rows.writerow([path_of_audio, path_of_sidecar if are_pairs else ""])
        return str(path)

    def verify(self, catalog: str) -> str:
        """Work on the catalog's unfinished run, or on a new one, without Prefect; say how the leg ended."""
        run_id = core.plan(catalog, resumes=True)
        core.work(run_id)
        return str([leg["ended_by"] for leg in self.legs() if leg["run_id"] == run_id][-1])

    def journalled_ids(self) -> set[str]:
        """Return the request IDs that a process would leave behind if it were killed now; a part may have more."""
        if self.bucket is None:
            contents = list[bytes]()
            for path in self.results.glob("_runs/*/journal/*/exchanges-*"):
                with suppress(FileNotFoundError):  # it has just become a part
                    contents.append(path.read_bytes())
        else:
            names = [key for key in self.bucket.keys("results/_runs") if "/journal/" in key and "/exchanges-" in key]
            contents = [self.bucket.content(name) for name in names]
        segments = [pa.ipc.open_stream(content).read_all() for content in contents]
        return {str(one) for segment in segments for one in segment["request_id"].to_pylist()}
