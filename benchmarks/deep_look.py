"""Measure a look into WAVs for a credential, beside reading the first 4 KiB of the same files.

Run from the checkout: `python -m benchmarks.deep_look [--files 10000] [--megabytes 30]`. The audio of each file is a
hole in a file of that size, and a chunk of text follows it, so that a look which read the audio would be seen.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from proofsweep.files.files import Files
from proofsweep.model.items import WorkItem
from proofsweep.verify.plan.deep_look import DeepLook

_FMT = b"fmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0"
_TEXT = b"LIST\x1a\0\0\0INFOISFT\x0e\0\0\0Some Encoder 1"


def main() -> None:
    """Measure in turn, three times, and print the fastest of each and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--megabytes", type=int, default=30)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = _waves(Path(folder), chosen.files, chosen.megabytes * 1_000_000)
        rounds = [(_seconds(_read_heads, files), _seconds(_look, files)) for _ in range(3)]
    heads, looks = (min(each) for each in zip(*rounds, strict=True))
    print(f"the first 4 KiB of each: {heads:.2f} s")
    print(
        f"a look into each:        {looks:.2f} s, {chosen.files / looks * 60:,.0f} a minute, {looks / heads:.1f} times"
    )


def _waves(folder: Path, count: int, audio_bytes: int) -> list[Path]:
    header = b"WAVE" + _FMT + b"data" + audio_bytes.to_bytes(4, "little")
    riff = b"RIFF" + (len(header) + audio_bytes + len(_TEXT)).to_bytes(4, "little") + header
    files = [folder / f"{number}.wav" for number in range(count)]
    for path in files:
        with path.open("wb") as file:
            file.write(riff)
            file.seek(len(riff) + audio_bytes)
            file.write(_TEXT)
    return files


def _seconds(work: Callable[[Sequence[Path]], None], files: Sequence[Path]) -> float:
    began = time.perf_counter()
    work(files)
    return time.perf_counter() - began


def _read_heads(files: Sequence[Path]) -> None:
    for path in files:
        with path.open("rb") as file:
            file.read(4096)


def _look(files: Sequence[Path]) -> None:
    items = (WorkItem(manifest_row=0, item_id=path.name, audio=str(path)) for path in files)
    looked = DeepLook(files=Files(str(files[0].parent)), skips_bare=True).into(items)
    if not all(each.is_bare for each in looked):
        raise SystemExit("a look did not see that a file carries no credential")


if __name__ == "__main__":
    main()
