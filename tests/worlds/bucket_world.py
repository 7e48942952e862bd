"""A world at the sandbox whose results are in a bucket, and how a catalog gets into a bucket."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

import proofsweep_sandbox as sandbox
from proofsweep.results import open_results

from ..servers.buckets import Bucket
from .command_world import Row
from .sandbox_world import SandboxWorld


@dataclass(slots=True)
class BucketWorld(SandboxWorld):
    """One test's folder and commands, with the results in `bucket`."""

    bucket: Bucket

    @property
    def results_url(self) -> str:
        return f"{self.bucket.url}/results"

    def table(self, name: str) -> list[Row]:
        """Read a whole table where it is, as a program does that uses our library."""
        return open_results(self.results_url).table(name).to_pylist()

    def journalled(self, leg: int) -> bool:
        journal = f"/journal/{leg:03}/"
        return any(journal in key and "verdicts" in key for key in self.bucket.keys("results/_runs"))

    def check_secrets(self, secret: str, printed: str) -> None:
        """Check that the secret of a cloud is not in what was printed, nor in an object or a table of the results."""
        objects = b"".join(self.bucket.content(key) for key in self.bucket.keys("results"))
        text = printed + repr([self.table(name) for name in ("verdicts", "exchanges", "runs")])
        assert self.rows()
        assert secret not in text
        assert secret.encode() not in objects


def export_bucket(monkeypatch: pytest.MonkeyPatch, bucket: Bucket) -> None:
    """Set the variables that lead to a bucket; no profile of the person who runs the tests does."""
    profiles = dict.fromkeys(("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"), os.devnull)
    for name, value in (profiles | dict(bucket.environment)).items():
        monkeypatch.setenv(name, value)


def deliver(folder: Path, bucket: Bucket, prefix: str) -> None:
    """Put all files of a folder into a bucket, below a prefix."""

    def put(path: Path) -> None:
        bucket.put(f"{prefix}/{path.relative_to(folder).as_posix()}", path.read_bytes())

    with ThreadPoolExecutor(8) as workers:
        list(workers.map(put, [path for path in folder.rglob("*") if path.is_file()]))


def write_manifest(samples: Sequence[sandbox.Sample], folder: Path, prefix: str, first: int = 0) -> bytes:
    """Return a manifest of samples that are below `prefix`, in their order; their ids are counted from `first`."""

    def cell(path: Path | None) -> str:
        text = "" if path is None else f"{prefix}/{path.relative_to(folder).as_posix()}"
        return '"' + text.replace('"', '""') + '"'

    lines = [f"{cell(sample.audio)},{cell(sample.sidecar)},item-{at}" for at, sample in enumerate(samples, first)]
    return "\n".join(["audio,sidecar,id", *lines, ""]).encode()
