"""The snapshot: of each item and environment its newest answer, and its newest attempt that brought none. Derived."""

from proofsweep.store.tables import verdicts

_NAMES = (
    *("item_id", "environment", "run_id", "leg", "manifest_row", "audio", "sidecar", "mode", "audio_format"),
    *("audio_bytes", "audio_sha256", "sidecar_sha256", "audio_version", "outcome", "accepted", "action", "verdict"),
    *("reason", "proof_id", "song", "issued_at", "classification", "grade_human", "grade_ai", "grade_unknown"),
    *("grade_risk_category", "grade_rubric_version", "publicly_trusted", "verify_request_id", "finished_at"),
    *("sidecar_version", "detail", "tags", "relative_path", "epoch", "http_status", "error_code", "uploads_request_id"),
    "manifest_line",
)
_DECLARED = {column.name: column for column in verdicts.COLUMNS}

COLUMNS = tuple(_DECLARED[name] for name in _NAMES)
"""Columns of `verdicts`, with the same types and meanings."""

ANSWERED = ("accepted", "rejected")
"""The outcomes that are an answer of the service."""
