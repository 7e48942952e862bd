"""The facts of one environment over a store."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.alerts.facts import AlertFacts
from proofsweep.config.sections import AlertsSettings, ServiceSettings
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(FolderStore(tmp_path / "results"))


@pytest.fixture
def facts(results: Results) -> AlertFacts:
    service = ServiceSettings(base_url="https://partner.example/v1", environment="beta")
    return AlertFacts(results=results, service=service, settings=AlertsSettings(), clock=lambda: NOW)
