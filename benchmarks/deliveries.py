"""Measure the planning of a batch of DDEX messages, beside what it costs only to parse them.

Run from the checkout: `python -m benchmarks.deliveries [--releases 10000] [--tracks 1 12]`. Each release has its own
folder, message and audio files; its audio is one file with many names. Each figure is of a process of its own.
"""

import argparse
import os
import tempfile
from pathlib import Path

from benchmarks.children import run
from tests.worlds.ddex_messages import Sending, Track, batch_manifest, put_release, sent

_WAVE = b"RIFF\x24\x00\x00\x00WAVEfmt " + bytes(4096)


def main() -> None:
    """Measure and print; with `--parse` or `--plan`, do that once, to be measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", type=int, default=10_000)
    parser.add_argument("--tracks", type=int, nargs="+", default=[1, 12])
    parser.add_argument("--parse", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--plan", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.parse is not None or chosen.plan is not None:
        _parse(chosen.parse) if chosen.parse is not None else _plan(chosen.plan)
        return
    print("| releases | tracks each | parse CPU s | plan CPU s | plan / parse | releases/s | rows/s | peak MB |")
    print("|---|---|---|---|---|---|---|---|")
    for tracks in chosen.tracks:
        with tempfile.TemporaryDirectory() as folder:
            _put_batch(Path(folder) / "20240607170334436", chosen.releases, tracks)
            parsed, planned = (run(["benchmarks.deliveries", f"--{what}", folder], {}) for what in ("parse", "plan"))
        each = chosen.releases / planned.cpu_seconds
        figures = (
            f"{parsed.cpu_seconds:.1f} | {planned.cpu_seconds:.1f} | {planned.cpu_seconds / parsed.cpu_seconds:.1f}"
        )
        rates = f"{each:,.0f} | {each * tracks:,.0f} | {planned.peak_mebibytes:.0f}"
        print(f"| {chosen.releases:,} | {tracks} | {figures} | {rates} |", flush=True)


def _put_batch(batch: Path, releases: int, tracks: int) -> None:
    batch.mkdir()
    names = [f"resources/{number:02}.wav" for number in range(tracks)]
    listed = [Track(isrc=f"QZES7{number:07}", files=[sent(name, _WAVE)]) for number, name in enumerate(names)]
    for number in range(releases):
        folder = batch / f"{number:013}"
        sending = Sending(
            version="43", message_id=f"M{number}", thread_id=f"T{number}", icpn=folder.name, tracks=listed
        )
        put_release(folder, sending)
        (folder / "resources").mkdir()
        (folder / names[0]).write_bytes(_WAVE)
        for name in names[1:]:  # a file system gives one file only so many names
            os.link(folder / names[0], folder / name)
    (batch / "manifest.xml").write_bytes(batch_manifest(batch.name, []))


def _parse(folder: Path) -> None:
    from lxml import etree  # noqa: PLC0415 - the measuring process stays small

    for path in folder.glob("*/*/*.xml"):
        for _, element in etree.iterparse(path):
            element.clear()


def _plan(folder: Path) -> None:
    from proofsweep.sources.open_catalog import open_catalog  # noqa: PLC0415 - the measuring process stays small
    from proofsweep.verify.survey import survey_catalog  # noqa: PLC0415 - the same

    catalog = open_catalog(str(folder))
    survey = survey_catalog(catalog, "sidecar")
    if survey.eligible != survey.items or catalog.deliveries is None or catalog.deliveries.missing:
        raise SystemExit(f"not all files were found: {catalog.deliveries}")


if __name__ == "__main__":
    main()
