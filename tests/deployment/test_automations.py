"""The file of automations names the flows and the states that there are."""

import re
from typing import Any

import yaml

from ..worlds.core import STATES_OF_RUNS
from .native_compose import ROOT

TRIGGERS: list[dict[str, Any]] = [
    each["trigger"] for each in yaml.safe_load((ROOT / "deploy" / "automations.yaml").read_text())["automations"]
]


def test_every_flow_is_seen_and_run_again() -> None:
    """A second time does only what is left, or what costs little."""
    sources = (path.read_text() for path in (ROOT / "flows" / "proofsweep_flows").glob("*.py"))
    flows = {name for source in sources for name in re.findall(r'@flow\(\s*name="([\w-]+)"', source)}

    named = [set(trigger["match_related"][0]["prefect.resource.name"]) for trigger in TRIGGERS]

    assert named == [flows] * 5


def test_every_end_of_a_run_shows_that_it_lives() -> None:
    """A run that ended after all is neither crashed nor given up."""
    states = {f"prefect.flow-run.{state}" for state in STATES_OF_RUNS} - {"prefect.flow-run.Crashed"}

    assert [states - set(trigger["expect"]) for trigger in TRIGGERS if trigger["posture"] == "Proactive"] == [set()] * 4
