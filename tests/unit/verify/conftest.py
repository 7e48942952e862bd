"""Settings that lead to a service in this very process, an empty store, and what earlier runs have left behind."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import WorkItem
from proofsweep.domain.outcomes import Finished
from proofsweep.files.files import Files
from proofsweep.store.known_rows import AcceptedItem, PastAnswers
from proofsweep.verify.item import VerifyContext, verify_item

from ..scripted_service import ScriptedService
from ..wired import app, catalog, change, config, service, settings

__all__ = ["app", "catalog", "change", "config", "service", "settings"]


@dataclass
class Trial:
    """A WAV, the service that it is sent to, and what it is verified with."""

    service: ScriptedService
    context: VerifyContext
    item: WorkItem

    @property
    def path(self) -> Path:
        return Path(self.item.audio)

    def version_of(self, location: str) -> str:
        facts = self.context.files.facts(location)
        assert facts is not None
        return facts.version

    def with_sidecar(self) -> WorkItem:
        sidecar = self.path.with_name("a.sidecar")
        sidecar.write_bytes(b"proof")
        return replace(self.item, sidecar=str(sidecar))

    def finished(self, item: WorkItem | None = None, **changes: object) -> Finished:
        """Verify an item in a changed context, and see that it was finished."""
        done = verify_item(item or self.item, replace(self.context, **changes))
        assert isinstance(done, Finished)
        return done


@pytest.fixture
def trial(service: ScriptedService, verify_context: VerifyContext, wav: Path) -> Trial:
    return Trial(service, verify_context, WorkItem(manifest_row=7, item_id="a", audio=str(wav)))


class KnownPast(PastAnswers):
    def __init__(self, items: Sequence[AcceptedItem] = ()) -> None:
        self.items, self.was_read, self.proofs_erased = list(items), list[str](), list[str | None]()

    def accepted(self) -> list[AcceptedItem]:
        return self.items

    def erased(self) -> list[str | None]:
        return self.proofs_erased

    def files_read(self, most: int) -> list[str]:
        return self.was_read[:most]


class ClosedFiles(Files):
    def __init__(self, error: SourceError) -> None:
        super().__init__()
        self.error = error

    def open(self, location: str, *, is_whole: bool = False) -> None:
        del location, is_whole
        raise self.error


def append_to(path: Path) -> None:
    with path.open("ab") as file:
        file.write(bytes(64))


def replace_whole(path: Path) -> None:
    """Put another file of the same size in its place, as a tool does that writes a new one and renames it."""
    other = path.with_name("other")
    other.write_bytes(bytes(path.stat().st_size))
    os.utime(other, ns=(0, 0))
    other.rename(path)
