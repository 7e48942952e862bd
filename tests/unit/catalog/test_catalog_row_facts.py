"""A row knows of its files what can be known before they are opened."""

import pytest

from proofsweep.catalog.catalog import CatalogBase, row_with_facts
from proofsweep.errors import SourceError
from proofsweep.model.items import FileFacts, Unlisted
from proofsweep.model.reasons import Ineligible, Reason

PLACE = CatalogBase("/drop")
FACTS = {"/drop/a.wav": FileFacts(3, "v1"), "/else/a.sidecar": FileFacts(5, "v2")}


def refuse(location: str) -> FileFacts | Unlisted | None:
    """Fail for each file, as a bucket without access does."""
    raise SourceError(f"{location} is forbidden.", reason=Reason.SOURCE_FORBIDDEN)


@pytest.mark.parametrize(
    ("audio", "sidecar", "role"),
    [("/drop/a.wav", None, "audio"), (None, "/drop/a.sidecar", "sidecar"), ("/drop/a.wav", "/drop/s", "audio")],
)
def test_a_file_that_cannot_be_examined_makes_the_row_unreadable(
    audio: str | None, sidecar: str | None, role: str
) -> None:
    """The row says which file it is, the audio first, and why; the other rows go on."""
    row = row_with_facts(refuse, PLACE, number=0, audio=audio, sidecar=sidecar)

    assert row.refused is not None
    assert row.refused.reason is Reason.SOURCE_FORBIDDEN
    assert row.refused.detail.startswith(f"Of the {role}: ")
    assert row.refused.detail.endswith("is forbidden.")


def test_a_sidecar_in_a_bucket_that_is_not_there_is_missing() -> None:
    """The audio is there."""

    def facts_of(location: str) -> FileFacts | Unlisted | None:
        if location.startswith("s3"):
            raise SourceError("There is no bucket s3://b.", reason=Reason.MISSING_AUDIO)
        return FACTS.get(location)

    row = row_with_facts(facts_of, PLACE, number=0, audio="/drop/a.wav", sidecar="s3://b/s")

    assert row.refused == Ineligible(Reason.MISSING_SIDECAR, "Of the sidecar: There is no bucket s3://b.")
