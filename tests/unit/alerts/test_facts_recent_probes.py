"""The last probes are read from the passes and from parts: of one environment, and none that are old."""

from datetime import timedelta
from pathlib import Path

from proofsweep.alerts.facts import recent_probes
from proofsweep.model.exchanges import Call
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.plans_and_parts import Results

from ..ended_operations import call_of, operation_named
from ..passes_of_monitoring import leave_pass


def test_only_recent_probes_of_the_environment_are_given(tmp_path: Path) -> None:
    """The oldest first, also over midnight."""
    results = Results(FolderStore(tmp_path))
    for operation_id, environment in (
        ("20261119T080000Z_000aa", "beta"),
        ("20261119T235500Z_000aa", "beta"),
        ("20261120T000000Z_000aa", "production"),
        ("20261120T000500Z_000aa", "beta"),
    ):
        operation = operation_named(operation_id, "monitoring", environment)
        leave_pass(results, operation_id, environment, [call_of(operation, operation_id, Call.USAGE, 429)])
    now = operation.started_at + timedelta(minutes=5)

    found = recent_probes(results, "beta", now)

    assert [probe.request_id for probe in found] == ["20261119T235500Z_000aa", "20261120T000500Z_000aa"]
    assert {probe.trouble for probe in found} == {"throttled"}
    assert recent_probes(Results(FolderStore(tmp_path / "empty")), "beta", now) == []
