"""Measure what it costs to compare files with declared digests, and to read long lists of them.

Run from the checkout: `python -m benchmarks.checksums [--kibibytes 64 1024 8192 65536] [--files 64] [--at-once 4]
[--rounds 5] [--lines 100000 1000000]`. The HTTP client alone verifies the same files in each way by turns, in one
process, against a null service; the figures are ratios to files of which nothing is declared, the median of the rounds.
The files are in memory, as they are after a delivery, and after the first of two reads. A list is read in a process of
its own.
"""

import argparse
import hashlib
import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.children import run, settings_for, waves
from benchmarks.null_service import launched
from proofsweep.domain.items import Declared, WorkItem
from proofsweep.domain.outcomes import Accepted, Finished

if TYPE_CHECKING:
    from proofsweep.verify.service import Service

_WAYS = {
    "nothing": (None, False),
    "MD5, while it is sent": ("md5", False),
    "MD5, first": ("md5", True),
    "SHA-256, while it is sent": ("sha256", False),
    "SHA-256, first": ("sha256", True),
}
# Bounds the time of a round with large files. Chosen: 16 files of 64 MiB.
_MOST_BYTES_PER_ROUND = 1 << 30


def main() -> None:
    """Measure and print; with `--only`, read one list, to be measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kibibytes", type=int, nargs="+", default=[64, 1024, 8192, 65_536])
    parser.add_argument("--files", type=int, default=64)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--lines", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--only", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.only is not None:
        _read(chosen.only)
        return
    with tempfile.TemporaryDirectory() as place:
        _compare_ways(Path(place), chosen)
        _read_lists(Path(place), chosen.lines)


def _compare_ways(place: Path, chosen: argparse.Namespace) -> None:
    from proofsweep.app import App  # noqa: PLC0415 - the measuring process stays small
    from proofsweep.config.load import load_settings  # noqa: PLC0415

    print(f"| KiB | {' | '.join(f'{way}: CPU | time' for way in [*_WAYS][1:])} |")
    print("|---" * (2 * len(_WAYS) - 1) + "|")
    with launched(place) as service:
        os.environ.update(settings_for(service, chosen.at_once, dedupe=False))
        with App(load_settings()) as app:
            for kibibytes in chosen.kibibytes:
                files = max(chosen.at_once, min(chosen.files, _MOST_BYTES_PER_ROUND // (1024 * kibibytes)))
                audio = waves(place, 1024 * kibibytes, files)
                items = {way: _items(audio, algorithm) for way, (algorithm, _) in _WAYS.items()}
                rounds = [_round(app.service, items) for _ in range(chosen.rounds + 1)][1:]  # the first one warms up
                cells = [
                    median(each[way][part] / each["nothing"][part] for each in rounds)
                    for way in [*_WAYS][1:]
                    for part in (0, 1)
                ]
                print(f"| {kibibytes} | {' | '.join(f'{cell:.2f}' for cell in cells)} |", flush=True)
                for path in audio:
                    path.unlink()


def _items(audio: Sequence[Path], algorithm: str | None) -> list[WorkItem]:
    """Return files with their digests declared, or with nothing."""
    declared = [
        None if algorithm is None else Declared(digests={algorithm: _digest(each, algorithm)}) for each in audio
    ]
    return [
        WorkItem(manifest_row=number, item_id="", audio=str(path), declared=declared[number])
        for number, path in enumerate(audio)
    ]


def _round(service: "Service", items: dict[str, list[WorkItem]]) -> dict[str, tuple[float, float]]:
    """Verify all files in each way; return the seconds of CPU and of time."""
    from proofsweep.verify import item as steps  # noqa: PLC0415 - the measuring process stays small

    context = steps.VerifyContext(partner=service.partner, files=service.files, clock=service.clock)

    def verify(item: WorkItem) -> None:
        done = steps.verify_item(item, context)
        if not (isinstance(done, Finished) and isinstance(done.outcome, Accepted)):
            raise SystemExit("the null service accepts everything")

    spent, usual = {}, steps.READ_FIRST_BYTES
    for way, (_, is_read_first) in _WAYS.items():
        steps.READ_FIRST_BYTES = usual if is_read_first else 0
        cpu, began = time.process_time(), time.monotonic()
        list(service.workers.map(verify, items[way]))
        spent[way] = (time.process_time() - cpu, time.monotonic() - began)
    steps.READ_FIRST_BYTES = usual
    return spent


def _digest(path: Path, algorithm: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def _read_lists(place: Path, lines: Sequence[int]) -> None:
    print("\n| lines | CPU s | µs each | peak MB |\n|---|---|---|---|")
    for count in lines:
        listed = place / "SHA256SUMS"
        with listed.open("w") as file:
            file.writelines(f"{number:064x}  disc {number // 100}/track {number}.wav\n" for number in range(count))
        used = run(["benchmarks.checksums", "--only", str(listed)], {})
        each = 1e6 * used.cpu_seconds / count
        print(f"| {count:,} | {used.cpu_seconds:.1f} | {each:.0f} | {used.peak_mebibytes:.0f} |", flush=True)


def _read(listed: Path) -> None:
    from proofsweep.sources.catalog import CatalogBase, Ignored  # noqa: PLC0415 - the measuring process stays small
    from proofsweep.sources.checksums import Checksums  # noqa: PLC0415
    from proofsweep.sources.files import Files  # noqa: PLC0415

    files = Files()
    with closing(Checksums(CatalogBase(str(listed.parent)), files, Ignored())) as checksums:
        checksums.read_named([str(listed)], files)


if __name__ == "__main__":
    main()
