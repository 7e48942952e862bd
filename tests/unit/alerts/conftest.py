"""The facts of one environment over a store."""

from dataclasses import asdict
from datetime import UTC, datetime, timedelta

import pytest

from proofsweep.alerts.facts import AlertFacts
from proofsweep.config.sections import AlertsSettings, CatalogSettings, ServiceSettings
from proofsweep.domain.runs import Rotation
from proofsweep.store import layout
from proofsweep.store.parts import Results

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
OLD, NEW = "0" * 12, "1" * 12
"""The fingerprints of a key that was rotated, and of the one that was minted for it."""


def rotation(hours_ago: float, expires_at: datetime | None = None) -> Rotation:
    return Rotation(
        operation_id="20261117T120000Z_000aa",
        environment="beta",
        key_fingerprint=OLD,
        new_key_fingerprint=NEW,
        requested_at=NOW - timedelta(hours=hours_ago),
        answered_at=NOW - timedelta(hours=hours_ago),
        previous_key_expires_at=expires_at,
    )


def leave_rotation(results: Results, rotated: Rotation) -> None:
    name = layout.part_name("rotations", rotated.operation_id, NOW.date(), 1, 1)
    results.create_part(name, "rotations", [asdict(rotated)])


@pytest.fixture
def facts(results: Results) -> AlertFacts:
    service = ServiceSettings(base_url="https://partner.example/v1", environment="beta")
    return AlertFacts(
        results=results,
        service=service,
        catalogs=CatalogSettings(),
        settings=AlertsSettings(),
        clock=lambda: NOW,
        is_well=lambda: True,
    )
