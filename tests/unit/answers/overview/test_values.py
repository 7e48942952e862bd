"""What can be said of a key's quota."""

import json
from datetime import timedelta

import pytest

from proofsweep.answers.overview.gather import ShownStore, overview_of
from proofsweep.answers.overview.values import KeyLine, UpcomingRun
from proofsweep.store.plans_and_parts import Results
from proofsweep.text import printable_json

from .conftest import NOW


@pytest.mark.parametrize(
    ("left", "pace", "reset_days", "spent_in_days"),
    [
        (1_000, 100.0, None, 10),
        (1_000, 100.0, 11, 10),
        (1_000, 100.0, 10, None),
        (1_000, 1.0, None, None),
        (1_000, None, None, None),
        (1_000, 0.0, None, None),
        (None, 100.0, None, None),
        (0, 100.0, None, 0),
    ],
)
def test_a_quota_is_spent_before_its_reset_or_lasts(
    left: int | None, pace: float | None, reset_days: int | None, spent_in_days: int | None
) -> None:
    """Without a pace nobody knows; what lasts longer than two months never ends in one."""
    reset = None if reset_days is None else NOW + timedelta(days=reset_days)
    key = KeyLine(account="a", fingerprint="f", quota_left=left, as_of=NOW, resets_at=reset, calls_per_day=pace)

    assert key.spent_on() == (None if spent_in_days is None else (NOW + timedelta(days=spent_in_days)).date())


@pytest.mark.parametrize(
    ("given", "expected"),
    [("/w/catalog", True), ("catalog", True), ("./catalog", True), ("/catalog", False), ("log", False), (None, False)],
)
def test_a_planned_run_names_its_catalog(given: str | None, expected: bool) -> None:
    """As the deployment writes it: on its worker, a relative location ends the whole one."""
    assert UpcomingRun(at=NOW, deployment="nightly", account=None, catalog=given).names("/w/catalog") == expected


def test_the_document_is_json(results: Results) -> None:
    """It has what the tables have, and the figures that are worked out."""
    found = json.loads(printable_json(overview_of([ShownStore(results=results)], NOW).document()))

    assert {line["remaining"] for line in found["catalogs"]} == {2, None}
    assert {leg["progress"]["rate"] for leg in found["legs"]} == {2.0}
    assert found["keys"][0].keys() >= {"spent_on", "days_left", "quota_left", "lane_rate"}
    assert found["schedule"] is None
