"""Each day of monitoring is one part, to which every pass adds its rows."""

from datetime import UTC, datetime, timedelta

import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.queries.connection import opened
from proofsweep.results import open_results
from proofsweep.store.parts import Results

from ..passes_of_monitoring import leave_passes

FIRST = datetime(2026, 11, 20, 23, 50, tzinfo=UTC)


def test_a_day_of_an_environment_is_one_part(results: Results) -> None:
    """Two environments do not wait for each other; the view and Python show each probe once."""
    beta, other = leave_passes(results, FIRST, 4), leave_passes(results, FIRST + timedelta(days=1), 2, "other")

    with opened(results, "beta") as store:
        view = store.execute("SELECT operation_id, call FROM probes").fetchall()
    python = open_results(results.store.url).table("probes", columns=["operation_id"])["operation_id"].to_pylist()

    assert len([*results.all_parts("probes")]) == 3
    assert sorted(view) == sorted((each, call) for each in beta for call in ("health", "usage"))
    assert sorted(python) == sorted(2 * [*beta, *other])


def test_a_damaged_part_is_an_error_and_is_not_replaced(results: Results) -> None:
    """A person decides what becomes of it."""
    leave_passes(results, FIRST, 1)
    [name] = results.all_parts("probes")
    results.store.replace(name, b"PAR1")

    with pytest.raises(ResultsError, match="damaged"):
        leave_passes(results, FIRST, 1)

    assert results.store.read(name) == b"PAR1"
