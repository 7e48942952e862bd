"""Each use of the partner's other endpoints, over a real socket: by its command and by its flow."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..servers.alert_receivers import Webhook, webhook
from ..worlds.sandbox_world import SandboxWorld


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Webhook]:
    """A webhook that the settings name."""
    with webhook() as hook:
        (tmp_path / "urls").write_text(f"json://127.0.0.1:{hook.port}/team\n")
        monkeypatch.setenv("PROOFSWEEP_ALERTS__URLS_FILE", str(tmp_path / "urls"))
        yield hook


def test_monitoring_records_what_it_sees_and_tells_what_lasts(
    world: SandboxWorld, hook: Webhook, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command and by the flow; one failed probe alarms nobody."""
    from flows.monitor_service import monitor_service  # noqa: PLC0415 - Prefect reads its settings on import

    codes = [world.run("monitor", "--once", "--json")]
    found = json.loads(capsys.readouterr().out)
    for fault in ("health", "usage"):
        world.operator.add_fault(fault, "status", status=503)

    codes += [world.run("monitor", "--once")]
    states = [monitor_service(results=str(world.results), return_state=True) for _ in range(2)]
    codes += [world.run("monitor", "--once"), world.run("audit")]

    probes, (day,) = world.table("probes"), world.table("usage")
    assert [probe["call"] for probe in found["probes"]] == ["health", "usage"]
    assert codes == [0, 8, 8, 0]
    assert all(state.is_completed() for state in states)
    assert sorted(hook.titles) == [f"proofsweep: GET {path} fails (sandbox)" for path in ("/health", "/partner/usage")]
    assert (len(probes), sum(probe["trouble"] == "http_503" for probe in probes)) == (10, 8)
    assert all(probe["request_id"] for probe in probes)
    assert (day["used"], world.charged) == (1, 5)
