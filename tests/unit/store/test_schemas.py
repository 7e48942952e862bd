"""The tables' columns, word for word, because queries depend on their names, order and types."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from proofsweep.queries.views import views
from proofsweep.store.parts import ITEMS, LATEST, SCHEMAS
from proofsweep.store.tables import TABLES, Table

VERDICTS = """
run_id:string! leg:int32! environment:string! manifest_row:int64! item_id:string! audio:string! sidecar:string
sidecar_source:string mode:string audio_format:string audio_bytes:int64 audio_sha256:string sidecar_sha256:string
audio_version:string outcome:string! accepted:bool! action:string! verdict:string good:bool reason:string detail:string
http_status:int16 error_code:string proof_id:string song:string issued_at:timestamp classification:string
grade_human:double grade_ai:double grade_unknown:double grade_risk_category:string grade_rubric_version:string
grade_json:string interpretation_json:string embedded_credential_json:string publicly_trusted:bool
uploads_request_id:string verify_request_id:string storage_request_id:string answer_sha256:string
answered_by_row:int64 verify_attempts:int32! calls:int32! started_at:timestamp finished_at:timestamp slot_ms:double
upload_ms:double verify_ms:double tags:string sidecar_version:string
relative_path:string manifest_line:string answered_by_run:string answered_at:timestamp
"""
EXCHANGES = """
run_id:string! leg:int32! manifest_row:int64 call:string! attempt:int32! started_at:timestamp! elapsed_ms:double!
status:int16 error_code:string failure:string request_id:string retry_after_seconds:double rate_limit:int64
rate_remaining:int64 rate_reset:timestamp bytes_sent:int64 partner_date:timestamp sunset:string
environment:string
unnamed:string
"""
RUNS = """
run_id:string! leg:int32! environment:string! base_url_host:string key_fingerprint:string flow_run_id:string
catalog:string catalog_digest:string started_at:timestamp finished_at:timestamp ended_by:string! items:int64
skipped:int64 accepted:int64 rejected:int64 failed:int64 ineligible:int64 remaining:int64 bytes_sent:int64 calls:int64
calls_again:int64 calls_unrecorded:int64 throttled:int64 rate_learned:double quota_before:int64 quota_after:int64
service_version:string service_commit:string service_deployed_at:timestamp contract_version:string
proofsweep_version:string sunset:string
"""
TIME = "timestamp[us, tz=UTC]"
ALL = (*SCHEMAS.values(), ITEMS, LATEST)
DOCS = Path(__file__).parents[3] / "docs" / "tables.md"


def words_of(schema: pa.Schema) -> list[str]:
    """Write a schema as the lists above; `!` marks a column that is never null."""
    kinds = [str(field.type).replace(TIME, "timestamp") for field in schema]
    return [f"{field.name}:{kind}{'' if field.nullable else '!'}" for field, kind in zip(schema, kinds, strict=True)]


@pytest.mark.parametrize(
    ("schema", "promised"),
    [(SCHEMAS["verdicts"], VERDICTS), (SCHEMAS["exchanges"], EXCHANGES), (SCHEMAS["runs"], RUNS)],
    ids=["verdicts", "exchanges", "runs"],
)
def test_a_table_has_the_promised_columns_in_the_promised_order(schema: pa.Schema, promised: str) -> None:
    """New columns are added at the end; none is renamed, moved or given another type."""
    assert words_of(schema) == promised.split()


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_all_that_a_table_needs_is_made_of_its_declaration(table: Table) -> None:
    """A new table needs no further line anywhere: it has its schema, its view and its place in the docs."""
    (view,) = (view for view in views() if view.name == table.name)
    names = [column.name for column in table.columns]

    assert SCHEMAS[table.name].names == names
    assert view.meaning == table.meaning
    assert f"store.{table.name}" in view.query
    assert f"<!-- generated: {table.name} -->" in DOCS.read_text("utf-8")
    assert table.written_by != "operation" or "operation_id" in names


def test_no_column_can_hold_a_key_or_a_sidecar() -> None:
    """Keys are named by IDs and fingerprints, sidecars by digests and sizes."""
    keys = [column.name for column in TABLES["rotations"].columns if "key" in column.name]

    assert keys == [
        *("key_fingerprint", "new_key_fingerprint", "key_id", "new_key_id", "new_key_name"),
        "previous_key_expires_at",
    ]
    assert not any(column.kind == "binary" for table in TABLES.values() for column in table.columns)


def test_each_file_says_what_its_columns_mean() -> None:
    """The meaning stands under the key that Spark shows, and the table names itself."""
    buffer = pa.BufferOutputStream()
    pq.write_table(SCHEMAS["verdicts"].empty_table(), buffer)

    read = pq.read_schema(pa.BufferReader(buffer.getvalue()))

    assert (read.metadata or {})[b"proofsweep.table"] == b"verdicts"
    assert (read.field("item_id").metadata or {})[b"comment"].startswith(b"the same in every run")
    assert all((field.metadata or {}).get(b"comment") for schema in ALL for field in schema)
