"""Deliveries for tests, with messages in one line a file: `resources/a.wav 52` says where it lies, and its size."""

import posixpath
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from proofsweep.catalog.catalog import Catalog, PartOfCatalog
from proofsweep.catalog.deliveries.batches import Batch, Release
from proofsweep.model.declared import Declared
from proofsweep.model.items import ManifestRow
from proofsweep.model.reasons import Ineligible, Reason

SENDER = "PADPIDA2007050901U"
_COMPLETIONS = {"manifest.xml", "BatchComplete.txt"}
_APART = {"TestMessage": Reason.TEST_MESSAGE, "Purge": Reason.WITHDRAWN}


class DeliveredFolder(PartOfCatalog):
    """A scanned folder whose rows are those that such messages describe."""

    def __init__(self, folder: Path, scan: Catalog) -> None:
        """Read the messages."""
        super().__init__(scan)
        ours = _COMPLETIONS | {each.name for each in folder.rglob("acknowledgements/*")}
        messages = {each.parent: each for each in sorted(folder.rglob("*.xml")) if each.name not in ours}
        self._lines = {str(at): message.read_text().splitlines() for at, message in messages.items()}
        self.batches: dict[str, Batch] = {}
        for at, lines in self._lines.items():
            above = posixpath.dirname(at)
            completion = next((f"{above}/{name}" for name in _COMPLETIONS if Path(above, name).exists()), None)
            location = above if completion else at
            release = Release(
                location=at,
                release_id=posixpath.basename(at),
                sender=SENDER,
                message_id=f"M-{posixpath.basename(at)}",
                is_test="TestMessage" in lines,
                is_purged="Purge" in lines,
            )
            before = self.batches.get(location, Batch(location=location, completion=completion))
            self.batches[location] = replace(before, releases={**before.releases, at: release})

    def rows(self) -> Iterator[ManifestRow]:
        """Yield the plain rows, then those of messages."""
        found = {row.audio or "": row for row in super().rows()}
        named = {name: each for at in self._lines for name, each in self._named(at, found)}
        for number, (name, row) in enumerate({**found, **named}.items()):
            yield replace(row if name in named else self._unnamed(row), number=number)

    def _named(self, at: str, found: dict[str, ManifestRow]) -> Iterator[tuple[str, ManifestRow]]:
        apart = next((_APART[line] for line in self._lines[at] if line in _APART), None)
        for line in self._lines[at]:
            if line in _APART:
                continue
            name, _, size = line.partition(" ")
            audio = f"{at}/{name}"
            row = found.get(audio) or ManifestRow(number=0, audio=audio, named_audio=f"{posixpath.basename(at)}/{name}")
            yield (
                audio,
                replace(
                    row,
                    item_id=f"{posixpath.basename(at)}-{name}",
                    tags={"isrc": "QZABC2600001", "title": f"Song of {name}", "sender": SENDER, "batch": "B"},
                    declared=Declared(size_bytes=int(size)) if size else None,
                    refused=None if apart is None else Ineligible(apart, "It is apart."),
                    **self._place(at),
                ),
            )

    def _unnamed(self, row: ManifestRow) -> ManifestRow:
        at = next((each for each in self._lines if (row.audio or "").startswith(f"{each}/")), None)
        if at is None:
            return row
        refused = Ineligible(Reason.NOT_IN_MESSAGE, "No message names it.")
        return replace(row, refused=refused, tags={"sender": SENDER, "batch": "B"}, **self._place(at))

    def _place(self, at: str) -> dict[str, str]:
        (batch,) = (each.location for each in self.batches.values() if at in each.releases)
        return {"batch": batch, "release": at}
