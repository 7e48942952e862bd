"""Each day of an answer is a row; the label of a day stays as it was received."""

from datetime import UTC, datetime

from proofsweep.contract.models import PartnerUsageResponse
from proofsweep.model.tables.probes import usage_rows

NOW = datetime(2026, 11, 20, tzinfo=UTC)


def test_each_day_is_a_row() -> None:
    """Figures that read as numbers are numbers; what is missing is null."""
    answer = {
        "plan": {"quotaLimit": "1000", "quotaPeriod": "month"},
        "days": [{"date": "20.11.", "used": "3", "remaining": 997.0}, {}],
    }

    first, second = usage_rows(PartnerUsageResponse.model_validate(answer), NOW)

    assert first == {
        "asked_at": NOW,
        "day": "20.11.",
        "used": 3,
        "remaining": 997,
        "quota_limit": 1000.0,
        "quota_period": "month",
    }
    assert (second["day"], second["used"], second["quota_limit"]) == (None, None, 1000.0)


def test_an_answer_without_days_has_no_row() -> None:
    """Nothing is invented."""
    assert usage_rows(PartnerUsageResponse(), NOW) == []
