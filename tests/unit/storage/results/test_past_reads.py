"""A file that an earlier leg of a run has read is remembered by the run's own tables."""

from pathlib import Path

from proofsweep.domain import layout
from proofsweep.domain.runs import Plan
from proofsweep.domain.tables import schemas
from proofsweep.domain.tables.columns import Row
from proofsweep.storage.results.past_reads import read_before
from proofsweep.storage.results.results import Results
from proofsweep.storage.results.stores import FolderStore

PLAN = Plan(
    run_id="20261121T120000Z_000aa",
    created_at="2026-11-21T12:00:00+00:00",
    environment="sandbox",
    base_url="http://127.0.0.1/v1",
    catalog="s3://here/catalog.csv",
    catalog_kind="manifest",
    catalog_digest="00",
    items=4,
    eligible=4,
    pairs=0,
    audio_bytes=7,
    shard_items=1_000,
    shards=1,
)


def test_only_a_file_of_the_same_bucket_that_was_read_is_named(tmp_path: Path) -> None:
    """A forbidden one has no digest; one of another bucket, or of a folder, bears no witness."""
    results = Results(FolderStore(tmp_path))
    blank: Row = dict.fromkeys(schemas.VERDICTS.names) | dict.fromkeys(
        ("run_id", "environment", "item_id", "outcome", "action"), "x"
    )
    zero = {"leg": 1, "verify_attempts": 0, "calls": 0, "accepted": False}
    files = [("s3://here/no.wav", None), ("s3://there/a.wav", "00"), ("/here/b.wav", "00"), ("s3://here/c.wav", "00")]
    rows = [
        blank | zero | {"manifest_row": number, "audio": audio, "audio_sha256": digest}
        for number, (audio, digest) in enumerate(files)
    ]
    results.create_part(layout.verdicts_name(PLAN.run_id, PLAN.run_date, 0, 1), "verdicts", rows)

    assert read_before(results, PLAN, "s3://here") == "s3://here/c.wav"
    assert read_before(results, PLAN, "s3://nowhere") is None
