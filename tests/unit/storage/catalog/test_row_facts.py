"""A row knows of its files what can be known before they are opened."""

import pytest

from proofsweep.domain.items import FileFacts, Unlisted
from proofsweep.domain.reasons import Reason
from proofsweep.errors import SourceError
from proofsweep.storage.catalog.row_facts import row_with_facts

FACTS = {"/drop/a.wav": FileFacts(3, "v1"), "/else/a.sidecar": FileFacts(5, "v2")}


def refuse(location: str) -> FileFacts | Unlisted | None:
    """Fail for each file, as a bucket without access does."""
    raise SourceError(f"{location} is forbidden.", reason=Reason.SOURCE_FORBIDDEN)


def test_a_row_holds_the_facts_and_the_relative_names_of_its_files() -> None:
    """A file outside the catalog's folder keeps its absolute name."""
    row = row_with_facts(FACTS.get, "/drop", number=7, audio="/drop/a.wav", sidecar="/else/a.sidecar")

    assert (row.number, row.named_audio, row.named_sidecar) == (7, "a.wav", "/else/a.sidecar")
    assert (row.audio_facts, row.sidecar_facts) == (FileFacts(3, "v1"), FileFacts(5, "v2"))
    assert row.unreadable is None


def test_a_missing_file_has_no_facts_and_is_no_error() -> None:
    """A later check makes the row ineligible."""
    row = row_with_facts(FACTS.get, "/drop", number=0, audio="/drop/b.wav", sidecar=None)

    assert (row.audio_facts, row.sidecar_facts, row.unreadable) == (None, None, None)
    assert row.named_sidecar == ""


@pytest.mark.parametrize(
    ("audio", "sidecar", "role"),
    [("/drop/a.wav", None, "audio"), (None, "/drop/a.sidecar", "sidecar"), ("/drop/a.wav", "/drop/s", "audio")],
)
def test_a_file_that_cannot_be_examined_makes_the_row_unreadable(
    audio: str | None, sidecar: str | None, role: str
) -> None:
    """The row says which file it is, the audio first, and why; the other rows go on."""
    row = row_with_facts(refuse, "/drop", number=0, audio=audio, sidecar=sidecar)

    assert row.unreadable is not None
    assert row.unreadable.startswith(f"Of the {role}: ")
    assert row.unreadable.endswith("is forbidden.")
