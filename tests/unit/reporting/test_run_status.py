"""The status of a run is the sum of its rows and its legs."""

import pytest

from proofsweep.domain.runs import Plan
from proofsweep.errors import ResultsError
from proofsweep.reporting.describe_run import describe_run, newest_unfinished
from proofsweep.reporting.summary import calls_of, ending_of, json_of, label_of, markdown_of, notes_of
from proofsweep.storage.results.legs import Legs
from proofsweep.storage.results.results import Results
from proofsweep.storage.results.store import open_store

RUN = "20261120T100000Z_aaaaaa"
DAY = "run_date=2026-11-20"

ACCEPTED = ("accepted", "valid", None)
TAMPERED = ("rejected", "tampered", "tampered")
EMPTY = ("ineligible", None, "empty")

Kind = tuple[str, str | None, str | None]


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """A store with one planned run of four rows."""
    store = Results(open_store(str(tmp_path)))
    plan = Plan(
        run_id=RUN,
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
    store.write_plan(plan)
    return store


def publish(results: Results, leg: int, *rows: tuple[int, Kind]) -> None:
    """Write a leg's part."""
    table = [
        {"run_id": RUN, "leg": leg, "environment": "sandbox", "manifest_row": number, "item_id": str(number)}
        | {"audio": f"/music/{number}.wav", "outcome": outcome, "accepted": outcome == "accepted", "action": "accept"}
        | {"verdict": verdict, "reason": reason, "verify_attempts": 1, "calls": 2}
        for number, (outcome, verdict, reason) in rows
    ]
    results.create_part(f"verdicts/{DAY}/{RUN}-00000-{leg:03}.parquet", "verdicts", table)


def end(results: Results, leg: int, ended_by: str, **counts: object) -> None:
    """Claim a leg and write its receipt."""
    legs = Legs(results, RUN, lambda: datetime.now(UTC))
    legs.claim(leg)
    times = {"started_at": "2026-11-20T10:00:00+00:00", "finished_at": "2026-11-20T10:00:02+00:00"}
    legs.write_receipt(leg, {"ended_by": ended_by, "counts": times | counts})


def test_a_run_is_the_sum_of_its_legs(results: Results) -> None:
    """Rows come from the parts of all legs, calls and seconds from all receipts; the last leg tells how it ended."""
    publish(results, 1, (0, ACCEPTED), (1, TAMPERED))
    end(results, 1, "cancelled", calls=4)
    publish(results, 2, (2, ACCEPTED))
    end(results, 2, "breaker", calls=3)

    run = describe_run(results, RUN)

    assert (run.finished, run.remaining, run.ended_by) == (3, 1, "breaker")
    assert (run.rows("accepted"), run.rows("rejected"), run.rows("failed")) == (2, 1, 0)
    assert (run.total("calls"), run.seconds) == (7, 4.0)


def test_a_planned_run_has_no_leg_and_all_rows_remain(plan: Plan) -> None:
    """It has no ending and took no time."""
    run = RunStatus(plan=plan, groups=(), legs=())

    assert (run.legs, run.ended_by, run.why, run.remaining, run.seconds) == ((), None, None, 4, 0.0)


@pytest.mark.parametrize(("rows", "why"), [(3, "The window closed."), (4, None)])
def test_why_a_run_stopped_matters_only_while_rows_remain(plan: Plan, rows: int, why: str | None) -> None:
    """A run with all its rows needs no explanation."""
    group = Group(outcome="accepted", verdict="valid", reason=None, rows=rows, example="/music/1.wav")

    run = RunStatus(plan=plan, groups=(group,), legs=(a_leg(1, "window", "The window closed."),))

    assert run.why == why


def test_the_last_sunset_of_any_leg_is_kept(plan: Plan) -> None:
    """A later leg may have received none."""
    run = RunStatus(plan=plan, groups=(), legs=(a_leg(1, "quota", sunset="soon"), a_leg(2, "quota", sunset=None)))

    assert run.sunset == "soon"


@pytest.mark.parametrize(
    ("legs", "calls_unrecorded"),
    [
        ((), 0),
        ((a_leg(1, "cancelled", calls_unrecorded=None),), 0),
        ((a_leg(1, "killed", calls_unrecorded=None),), None),
        ((a_leg(1, "killed", calls_unrecorded=88), a_leg(2, None)), None),
    ],
)
def test_unrecorded_calls_are_known_if_no_leg_was_killed(
    plan: Plan, legs: tuple[LegStatus, ...], calls_unrecorded: int | None
) -> None:
    """Unknown is null and no zero; a leg that ended in order wrote everything down."""
    end(results, 1, "killed", calls=4, calls_again=0, calls_unrecorded=unrecorded)
    end(results, 2, "cancelled", calls=6, calls_again=2, calls_unrecorded=None)

    run = describe_run(results, RUN)

    assert json_of(run, "results")["calls_unrecorded"] == told
    assert calls_of(run).startswith(said)


def test_what_a_leg_spends_that_has_not_ended_is_not_known_yet(results: Results) -> None:
    """It may have been killed; nobody has looked yet."""
    before = describe_run(results, RUN).calls_unrecorded
    Legs(results, RUN, lambda: datetime.now(UTC)).claim(1)

    assert (before, describe_run(results, RUN).calls_unrecorded) == (0, None)


def test_a_run_says_which_of_its_bounds_it_met(results: Results) -> None:
    """A window closes by the clock or by calls: the headline has the leg's own sentence, and nothing says it twice."""
    legs = Legs(results, RUN, lambda: datetime.now(UTC))
    legs.claim(1)
    legs.write_receipt(1, {"ended_by": "window", "why": "Of the 50 calls that it was given, none are left."})

    run = describe_run(results, RUN)

    assert ending_of(run) == "stopped: of the 50 calls that it was given, none are left; resume for the rest"
    assert notes_of(run) == []


def test_the_artifact_says_what_to_do(results: Results) -> None:
    """The Markdown has a line for each kind of row, and what a valid verdict means."""
    publish(results, 1, (0, ACCEPTED), (1, TAMPERED))

    text = markdown_of(describe_run(results, RUN), "results")

    assert "| 1 | rejected · tampered | reject, and ask the supplier" in text
    assert "2 of 4 rows finished, 2 remain." in text
    assert "not a statement about how the music was made" in text


def test_the_newest_unfinished_run_is_found(results: Results) -> None:
    """A run with all its rows is no candidate for going on."""
    before = newest_unfinished(results)
    publish(results, 1, (0, ACCEPTED), (1, ACCEPTED), (2, ACCEPTED), (3, ACCEPTED))

    assert before == RUN
    assert newest_unfinished(results) is None


def test_an_unknown_run_is_an_error(results: Results) -> None:
    """It is no run of no rows."""
    with pytest.raises(ResultsError, match="no run 'other'"):
        describe_run(results, "other")
