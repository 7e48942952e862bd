"""Measure the CPU per file of the whole pipeline, of its HTTP client alone, and of libcurl with the same calls.

Run from the checkout: `python -m benchmarks.cpu_per_file [--kibibytes 4 1024 32768] [--at-once 1 16 64] [--files 3000]
[--repeats 1] [--few 3] [--plain]`. Each program is a child process and calls a null service. Its user and system CPU is
read from the kernel when it ends. The CPU that it spends once, whatever the number of files, is subtracted. The
pipeline is `proofsweep verify` from its first form to its end; the Prefect server is another process, and `planning`
measures the planning. All programs read one file many times, so the file is in memory.
"""

import argparse
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.children import Used, manifest, measure, prefect_server, verify, waves
from benchmarks.null_service import Running, cpu_seconds_of, launched

_SMALL_KIBIBYTES = 4
# The shortest run whose Prefect tasks are whole batches, like those of any long run: up to 200 items are single tasks.
_FEWEST_FILES = 201

_PROGRAMS = ("curl_client", "core_client", "pipeline")
# Bounds the time of a run with large files: 32 files of 32 MiB.
_MOST_BYTES_PER_RUN = 1 << 30
_HEAD = (
    "| size | at once | libcurl, ms | HTTP client, ms | pipeline, ms | to libcurl | to {} at once "
    "| rows, journal, Prefect | peak MB |"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Milliseconds of CPU per file of the three programs, and the pipeline's peak memory."""

    curl: float
    client: float
    pipeline: float
    peak_mebibytes: float

    def line(self, size: str, at_once: int, alone: float) -> str:
        """Format a line of the table; `alone` is the pipeline's cost at the lowest concurrency."""
        return (
            f"| {size} | {at_once} | {self.curl:.2f} | {self.client:.2f} | {self.pipeline:.2f} "
            f"| {self.pipeline / self.curl:.2f} | {self.pipeline / alone:.2f} "
            f"| {max(0.0, 1 - self.client / self.pipeline):.0%} | {self.peak_mebibytes:.0f} |"
        )


@dataclass(slots=True)
class Bench:
    """One null service, and the CPU seconds that each program spends once per run."""

    folder: Path
    service: Running
    repeats: int
    few: int
    before: float = 0.0
    after: dict[str, float] = field(default_factory=dict)

    def measure_fixed_cost(self, files: int, at_once: int) -> None:
        """Find the CPU spent once at the end: a short run's CPU, less its files at the cost per file of a long run."""
        for name in _PROGRAMS:
            runs = [self.used(name, _FEWEST_FILES, _SMALL_KIBIBYTES, at_once) for _ in range(self.few)]
            few, self.before = median(map(_work, runs)), median(used.cpu_before_seconds for used in runs)
            many = _work(self.used(name, files, _SMALL_KIBIBYTES, at_once))
            self.after[name] = max(0.0, few - _FEWEST_FILES * (many - few) / (files - _FEWEST_FILES))

    def cost(self, files: int, kibibytes: int, at_once: int) -> Cost:
        """Run the three programs in turn, several times; return medians."""
        spent: dict[str, list[float]] = {name: [] for name in _PROGRAMS}
        peak = 0.0
        for _ in range(self.repeats):
            for name, each in spent.items():
                used = self.used(name, files, kibibytes, at_once)
                each.append(1000 * (_work(used) - self.after[name]) / files)
                peak = used.peak_mebibytes  # the pipeline is the last
        curl, client, pipeline = map(median, spent.values())
        return Cost(curl=curl, client=client, pipeline=pipeline, peak_mebibytes=peak)

    def used(self, name: str, files: int, kibibytes: int, at_once: int) -> Used:
        """Run one of the three programs over this many files."""
        audio = waves(self.folder, kibibytes * 1024, 1)
        if name == "pipeline":
            return verify(manifest(self.folder, audio, files), self.service, at_once=at_once)
        where = [self.service.base_url] if name == "curl_client" else []
        arguments = [*where, str(audio[0]), str(files), str(at_once)]
        return measure([f"benchmarks.{name}", *arguments], self.service, at_once=at_once)


def _work(used: Used) -> float:
    return used.cpu_seconds - used.cpu_before_seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kibibytes", type=int, nargs="+", default=[4, 1024, 32 * 1024])
    parser.add_argument("--at-once", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument("--files", type=int, default=3_000, help="most files of a run; fewer if they are large")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--few", type=int, default=3, help="short runs, to find the CPU spent once per run")
    parser.add_argument("--plain", action="store_true", help="without TLS only")
    chosen = parser.parse_args()
    for tls in (False,) if chosen.plain else (False, True):
        with (
            tempfile.TemporaryDirectory() as place,
            launched(Path(place), tls=tls) as service,
            prefect_server() as server,
        ):
            bench, began = Bench(Path(place), service, chosen.repeats, chosen.few), cpu_seconds_of(server)
            bench.measure_fixed_cost(max(chosen.files, 2 * _FEWEST_FILES), chosen.at_once[0])
            server_each = (cpu_seconds_of(server) - began) / (chosen.few + 1)
            print(
                f"\n{'TLS' if tls else 'Plain HTTP'}. Once a run: {bench.before:.1f} s before the first form, "
                f"{bench.after['pipeline']:.1f} s at the end; in the Prefect server {server_each:.1f} s.\n"
            )
            print(_HEAD.format(chosen.at_once[0]))
            print("|" + "---|" * (_HEAD.count("|") - 1), flush=True)
            for kibibytes in chosen.kibibytes:
                _print_size(bench, kibibytes, chosen.at_once, chosen.files)


def _print_size(bench: Bench, kibibytes: int, at_once: list[int], most_files: int) -> None:
    files = max(_FEWEST_FILES, min(most_files, _MOST_BYTES_PER_RUN // (kibibytes * 1024)))
    size = f"{kibibytes // 1024} MiB" if kibibytes >= 1024 else f"{kibibytes} KiB"  # noqa: PLR2004 - as is the unit
    costs = [bench.cost(files, kibibytes, each) for each in at_once]
    for each, cost in zip(at_once, costs, strict=True):
        print(cost.line(size, each, costs[0].pipeline), flush=True)


if __name__ == "__main__":
    main()
