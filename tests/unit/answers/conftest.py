"""The plan of a run of four rows."""

import pytest

from proofsweep.model.runs import Plan

from ..wired import catalog, change, config, service, settings

__all__ = ["catalog", "change", "config", "service", "settings"]


@pytest.fixture
def plan() -> Plan:
    """A run of four rows, three of them eligible."""
    return Plan(
        run_id="20261120T100000Z_aaaaaa",
        created_at="2026-11-20T10:00:00+00:00",
        environment="sandbox",
        base_url="http://127.0.0.1/v1",
        catalog="music",
        catalog_kind="folder",
        catalog_digest="0",
        items=4,
        eligible=3,
        pairs=0,
        audio_bytes=4,
        shard_items=1000,
        shards=1,
    )
