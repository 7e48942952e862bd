"""What an audit finds wrong with merged rounds is told without a traceback; see also upkeep/test_merge_rounds.py."""

import gzip
import hashlib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.storage.results.folder_store import FolderStore
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.usecases.audit.audit_store import audit_store
from proofsweep.usecases.upkeep.merge_rounds import RoundMerger

from ...rounds_of_monitoring import leave_rounds


@pytest.mark.parametrize("unpacked", [None, b"", b"[1]", b'[{"operation_id": 1}]'])
def test_receipts_of_rounds_that_cannot_be_read_are_found(tmp_path: Path, unpacked: bytes | None) -> None:
    """Also if their digest is the one that the receipt of the merge names."""
    results = Results(FolderStore(tmp_path))
    leave_rounds(results, datetime(2026, 11, 17, tzinfo=UTC), 2)
    RoundMerger(results, lambda: datetime(2026, 11, 20, tzinfo=UTC)).merge_all()
    (rounds,) = tmp_path.glob("_operations/*/rounds.json.gz")
    before = hashlib.sha256(rounds.read_bytes()).hexdigest()
    receipt = rounds.with_name("receipt.json")
    if unpacked is None:
        rounds.unlink()
    else:
        content = gzip.compress(unpacked)
        rounds.write_bytes(content)
        receipt.write_text(receipt.read_text().replace(before, hashlib.sha256(content).hexdigest()))

    wrong = {each.where: each.what for each in audit_store(results).wrong}

    said = "is missing" if unpacked is None else "cannot be read as the receipts of rounds"
    assert wrong[str(rounds.relative_to(tmp_path))] == said
