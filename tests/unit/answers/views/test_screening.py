"""Screening conditions become columns of the views; whatever is no condition on one row is refused in one line."""

import duckdb
import pytest

from proofsweep.answers.views.connection import opened
from proofsweep.answers.views.screening import screening_columns
from proofsweep.answers.views.script import script_of
from proofsweep.answers.views.views import views
from proofsweep.errors import ConfigError
from proofsweep.store.plans_and_parts import Results

from ...hostile_conditions import HOSTILE
from .nights import ACCEPTED, FAILED, MONDAY, REJECTED, TUESDAY, night

CONDITIONS = {
    "mostly_ai": "grade_ai > 0.5 -- half of it",
    "to_hear": "classification IS NULL OR grade_risk_category IN ('high', 'it''s odd')",
}


def test_each_condition_is_a_column_of_the_views_with_grades(results: Results) -> None:
    """It is null where the grade is; an item whose last attempt failed has none, and outcomes stay as they are."""
    night(results, MONDAY, {"a": ACCEPTED | {"grade_ai": 0.9}, "b": ACCEPTED | {"grade_ai": 0.1}, "c": REJECTED})
    night(results, TUESDAY, {"b": FAILED, "d": ACCEPTED | {"classification": "human"}})

    with opened(results, screening=CONDITIONS) as store:
        seen = {
            view: store.connection.execute(
                f"SELECT item_id, outcome, screening_mostly_ai, screening_to_hear FROM {view} ORDER BY ALL"  # noqa: S608 - ours
            ).fetchall()
            for view in ("latest_answer", "latest_attempt")
        }
        (of_rows,) = store.connection.execute("SELECT count(*) FROM verdicts WHERE screening_mostly_ai").fetchall()
        rejected = store.connection.execute("SELECT file FROM rejects ORDER BY ALL").fetchall()

    assert seen["latest_answer"] == [
        ("a", "accepted", True, True),
        ("b", "accepted", False, True),
        ("c", "rejected", None, True),
        ("d", "accepted", None, None),
    ]
    assert seen["latest_attempt"][1] == ("b", "failed", None, None)
    assert of_rows == (1,)
    assert rejected == [("b",)]  # `c` is listed no more


def test_the_views_for_any_duckdb_have_them_too(results: Results) -> None:
    """As `--print-views` prints them."""
    night(results, MONDAY, {"a": ACCEPTED | {"grade_ai": 0.9}})
    columns = screening_columns(CONDITIONS)

    with opened(results) as store, duckdb.connect() as own:
        own.execute(script_of(results, store.environments, views([], columns)))
        assert own.execute("SELECT screening_mostly_ai FROM latest_answer").fetchall() == [(True,)]


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("grade_ai", "write a condition that is true or false"),
        ("grade_ay > 0.5", "grade_ay"),
        ("outcome = 'accepted'", "A condition may name classification, grade_human"),
        ("grade_ai >", "syntax error"),
        ("true) FROM reported; DROP TABLE reported; SELECT (true", "write one condition on one row"),
        ("true), (false", "write one condition on one row"),
        ("true) FROM reported UNION ALL SELECT 'a', (true", "write one condition on one row"),
        ("(SELECT count(*) FROM glob('/*')) > 1", "a query of its own"),
        ("grade_ai > avg(grade_ai) OVER ()", "a query of its own"),
        ("max(grade_ai) > 0.5", "the function max is not allowed"),
    ],
)
def test_what_is_no_condition_is_refused_in_one_line(condition: str, said: str) -> None:
    """The message names the condition."""
    with pytest.raises(ConfigError) as refused:
        screening_columns({"sound": "grade_ai > 0.5", "wrong": condition})

    assert refused.value.message.startswith("screening.wrong: ")
    assert said in refused.value.message
    assert "\n" not in refused.value.message


@pytest.mark.parametrize("condition", HOSTILE)
def test_a_hostile_condition_is_refused(condition: str) -> None:
    """What `--where` must not say, a setting must not say either."""
    with pytest.raises(ConfigError, match=r"^screening[.]hostile: "):
        screening_columns({"hostile": condition})
