"""Which files of a watched folder belong together, and whether all of them are there."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from proofsweep.config.sections import IngestSettings
from proofsweep.domain.items import Declared, FileFacts, ManifestRow
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.ingest.deliveries import BatchRow, DeliveredBatches
from proofsweep.ingest.rules import Decision
from proofsweep.sources.ddex_delivery import Batch, Release

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
SETTINGS = IngestSettings()
LATE = NOW + timedelta(seconds=SETTINGS.batch_wait_seconds)


def row_of(audio: str, batch: str | None = None, release: str | None = None, **changes: object) -> ManifestRow:
    row = ManifestRow(number=0, audio=audio, audio_facts=FileFacts(8, "v"), batch=batch, release=release)
    return replace(row, **changes)  # type: ignore[arg-type]  # theirs


def batch_at(location: str, *releases: str, completion: str | None = None) -> dict[str, Batch]:
    found = {at: Release() for at in releases}
    return {location: Batch(location=location, completion=completion, releases=found)}


AT = "/in/20240607170334436"
SENT = batch_at("/in/x/b", "/in/x/b/r", completion="/in/x/b/manifest.xml")


@pytest.mark.parametrize(
    ("batches", "row", "found"),
    [
        ({}, row_of("/in/a.wav"), None),
        ({}, row_of(f"{AT}/a.wav"), None),
        ({}, row_of(f"{AT}/r/a.wav"), (AT, True)),
        ({}, row_of("/in/x/N_20240607170334436/r/resources/a.wav"), ("/in/x/N_20240607170334436", True)),
        ({}, row_of("/in/7707722999177_20240607170334436/r/a.wav"), None),
        (SENT, row_of("/in/x/b/r/a.wav", "/in/x/b", "/in/x/b/r"), ("/in/x/b", True)),
        (SENT, row_of("/in/x/b/a.wav"), ("/in/x/b", True)),
        (batch_at("/in/r", "/in/r"), row_of("/in/r/a.wav", "/in/r", "/in/r"), ("/in/r", False)),
        (batch_at("/in/x", "/in/x/r"), row_of("/in/x/r/a.wav", "/in/x", "/in/x/r"), ("/in/x/r", False)),
        (batch_at(f"{AT}/r", f"{AT}/r"), row_of(f"{AT}/r/a.wav", f"{AT}/r", f"{AT}/r"), (AT, True)),
        (SENT | batch_at("/in/y/r", "/in/y/r"), row_of("/a", "/in/y/r", "/in/y/r"), ("/in/y/r", False)),
    ],
)
def test_files_that_belong_together_are_taken_together(
    batches: dict[str, Batch], row: ManifestRow, found: tuple[str, bool] | None
) -> None:
    """A folder with the name of a batch waits for its completion file; who has none is taken as ever."""
    taken_with = DeliveredBatches("/in", batches).of(row)

    assert (taken_with and (taken_with.location, taken_with.needs_completion)) == found


MISSING = {"audio_facts": None}
SHORT = {"declared": Declared(size_bytes=90)}
TEST = {"refused": Ineligible(Reason.TEST_MESSAGE, "It is a test.")}
TAKE, SETTLING, WAITS = Decision.TAKE, Decision.SETTLING, Decision.INCOMPLETE_BATCH


@pytest.mark.parametrize(
    ("completion", "changes", "decision", "early", "late"),
    [
        ("manifest.xml", {}, TAKE, [TAKE, TAKE], [TAKE, TAKE]),
        (None, {}, TAKE, [WAITS, WAITS], [WAITS, WAITS]),
        ("manifest.xml", MISSING, TAKE, [WAITS, WAITS], [TAKE, TAKE]),
        ("manifest.xml", SHORT, TAKE, [WAITS, WAITS], [TAKE, TAKE]),
        ("manifest.xml", {}, SETTLING, [WAITS, SETTLING], [WAITS, SETTLING]),
        ("manifest.xml", {}, Decision.ANSWERED, [TAKE, Decision.ANSWERED], [TAKE, Decision.ANSWERED]),
        (None, TEST, TAKE, [WAITS, TAKE], [WAITS, TAKE]),
    ],
)
def test_files_of_a_batch_wait_for_each_other(
    completion: str | None, changes: dict[str, object], decision: Decision, early: list[Decision], late: list[Decision]
) -> None:
    """Until the batch is complete, or has waited long enough; without a completion file for ever."""
    for now, expected in ((NOW, early), (LATE, late)):
        batches = batch_at(AT, f"{AT}/r", completion=completion)
        first, second = (row_of(f"{AT}/r/{name}", AT, f"{AT}/r") for name in ("a.wav", "b.wav"))
        rows = [BatchRow("a", first, TAKE, None), BatchRow("b", replace(second, **changes), decision, None)]  # type: ignore[arg-type]
        (batch,) = DeliveredBatches("/in", batches).sorted(rows)

        batch.decide(now, NOW, SETTINGS)

        assert [each.decision for each in batch.rows] == expected
