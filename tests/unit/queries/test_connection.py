"""A results store opens in DuckDB, one environment at a time."""

import errno
import resource

import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.exchanges import Call
from proofsweep.queries.connection import answering, opened, tables_of
from proofsweep.queries.views import NAMES
from proofsweep.store.parts import Results

from ...worlds.ended_nights import ACCEPTED, MONDAY, TUESDAY, night
from ..ended_operations import call_of, operation_named
from ..passes_of_monitoring import leave_pass

MONITORING = operation_named("20261120T010000Z_000aa", "monitoring")


def test_the_views_show_one_environment_unless_asked(results: Results) -> None:
    """The only one, or the named one, or that of the settings; of several none is guessed, whatever ran last."""
    night(results, MONDAY, {"a": ACCEPTED, "b": ACCEPTED}, environment="production")
    night(results, TUESDAY, {"a": ACCEPTED}, environment="it's beta")
    some = ("verdicts", "exchanges", "runs", "catalog", "coverage")
    seen = {}

    with pytest.raises(ResultsError, match=r"holds the environments it's beta, production: name one of them"):
        opened(results)
    with opened(results, preferred="production") as store:
        assert store.environments == ["production"]
    for asked in ("it's beta", "production", "all"):
        with opened(results, asked) as store:
            counts = [store.connection.execute(f"SELECT count(*) FROM {view}").fetchone() for view in some]  # noqa: S608 - ours
            seen[asked] = (list(store.environments), list(store.others), [row[0] for row in counts if row])

    assert seen["it's beta"][:2] == (["it's beta"], ["production"])
    assert seen["production"][:2] == (["production"], ["it's beta"])
    assert seen["all"][:2] == (["it's beta", "production"], [])
    assert seen["all"][2] == [a + b for a, b in zip(seen["it's beta"][2], seen["production"][2], strict=True)]


def test_a_store_of_operations_alone_opens_too(results: Results) -> None:
    """Somebody may monitor before anything is verified; a run of another environment hides it only unless asked."""
    leave_pass(results, MONITORING.operation_id, probes=[call_of(MONITORING, "r-1", Call.USAGE)])
    with opened(results) as store:
        alone = store.environments
    night(results, MONDAY, {"a": ACCEPTED}, environment="production")

    with opened(results) as one, opened(results, "all") as both, opened(results, "beta") as other:
        assert (alone, one.environments, both.environments) == (["beta"], ["production"], ["production", "beta"])
        assert other.connection.execute("SELECT request_id FROM probes").fetchall() == [("r-1",)]


def test_an_unknown_environment_and_an_empty_store_are_one_line(results: Results) -> None:
    """The message names the environments that there are."""
    with pytest.raises(ResultsError, match="There is no run in"):
        opened(results)
    night(results, MONDAY, {"a": ACCEPTED})

    with pytest.raises(ResultsError, match=r"no run of the environment produktion in .*; there are beta"):
        opened(results, "produktion")


def test_a_full_disk_is_an_error_of_the_system(results: Results) -> None:
    """DuckDB has no error of its own for it; any other of its errors says that the store cannot be read."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(OSError, match="File too large") as raised, tables_of(results) as tables:
            tables.execute("SET memory_limit = '20MB'; CREATE TABLE numbers AS SELECT random() FROM range(5000000)")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert raised.value.errno == errno.EFBIG
    with pytest.raises(ResultsError, match=r"cannot be read .Parser Error"), tables_of(results) as tables:
        tables.execute("SELEC 1")


def test_our_own_queries_need_no_run_of_the_environment(results: Results) -> None:
    """Each environment has its own rows; where there are none, the views are empty."""
    night(results, MONDAY, {"a": ACCEPTED}, environment="production")
    counts = {}

    for environment in ("production", "beta"):
        with answering(results, environment, "latest_answer") as connection:
            counts[environment] = connection.execute("SELECT count(*) FROM latest_answer").fetchall()

    assert counts == {"production": [(1,)], "beta": [(0,)]}


def test_only_the_views_are_made_that_a_query_names(results: Results) -> None:
    """With those that they read, in any case; a query that names none finds all."""
    night(results, MONDAY, {"a": ACCEPTED})
    made = "SELECT view_name FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal"

    with opened(results, asked="SELECT * FROM Rejects") as store:
        few = {name for (name,) in store.connection.execute(made).fetchall()}
    with opened(results, asked=made) as store:
        every = {name for (name,) in store.connection.execute(made).fetchall()}

    assert few == {"rejects", "catalog"}
    assert every == set(NAMES)
