"""What an earlier run accepted is known to a later one of the same catalog."""

from dataclasses import replace
from pathlib import Path

import pytest

from proofsweep.domain import layout
from proofsweep.domain.runs import Plan
from proofsweep.domain.tables import schemas
from proofsweep.domain.tables.columns import Row
from proofsweep.storage.results.folder_store import FolderStore
from proofsweep.storage.results.past_answers import PastAnswers
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.usecases.upkeep.note_leg import note_leg

from ...ended_runs import answered, end_leg, plan_of_run

NOW = Plan(
    run_id="20261121T120000Z_000aa",
    created_at="2026-11-21T12:00:00+00:00",
    environment="sandbox",
    base_url="http://127.0.0.1/v1",
    catalog="/c/catalog.csv",
    catalog_kind="manifest",
    catalog_digest="00",
    items=3,
    eligible=3,
    pairs=0,
    audio_bytes=7,
    shard_items=1_000,
    shards=1,
)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """Give an empty results store."""
    return Results(FolderStore(tmp_path))


def ran(results: Results, run_id: str, answers: dict[str, bool], **otherwise: str) -> None:
    """Leave an earlier run behind, with these items accepted or not."""
    plan = replace(NOW, run_id=run_id, created_at="2026-11-20T12:00:00+00:00", **otherwise)
    words = ("run_id", "environment", "audio", "outcome", "action")
    blank: Row = dict.fromkeys(schemas.VERDICTS.names) | dict.fromkeys(words, "x")
    rows = [
        blank | {"leg": 1, "verify_attempts": 0, "calls": 0, "manifest_row": row, "item_id": name, "accepted": accepted}
        for row, (name, accepted) in enumerate(answers.items())
    ]
    results.write_plan(plan)
    results.create_part(layout.verdicts_name(run_id, plan.run_date, 0, 1), "verdicts", rows)


def test_the_newest_run_that_accepted_anything_counts(results: Results) -> None:
    """A run that accepted nothing is ignored; the run before it counts."""
    ran(results, "20261118T120000Z_000aa", {"a": True, "b": True, "c": True})
    ran(results, "20261119T120000Z_000aa", {"a": True, "b": False, "c": True})
    ran(results, "20261120T120000Z_000aa", {"a": False, "b": False, "c": False})

    past = PastAnswers(results, NOW)

    assert [past.was_accepted(item) for item in ("a", "b", "c", "d")] == [True, False, True, False]


@pytest.mark.parametrize("otherwise", [{"catalog": "/c/other.csv"}, {"environment": "beta"}])
def test_other_catalogs_and_environments_do_not_count(results: Results, otherwise: dict[str, str]) -> None:
    """What was accepted elsewhere says nothing here."""
    ran(results, "20261120T120000Z_000aa", {"a": True}, **otherwise)

    assert not PastAnswers(results, NOW).was_accepted("a")


def test_this_run_and_later_ones_are_no_history(results: Results) -> None:
    """A run is measured by what came before it."""
    ran(results, NOW.run_id, {"a": True})
    ran(results, "20261122T120000Z_000aa", {"a": True})

    assert not PastAnswers(results, NOW).was_accepted("a")


def test_an_empty_store_knows_nothing(results: Results) -> None:
    """The first run ever doubts no verdict."""
    assert not PastAnswers(results, NOW).was_accepted("a")


def test_only_a_file_of_the_same_bucket_that_was_read_is_named(results: Results) -> None:
    """A forbidden file has no digest; files of other buckets or of folders do not count."""
    blank: Row = dict.fromkeys(schemas.VERDICTS.names) | dict.fromkeys(
        ("run_id", "environment", "item_id", "outcome", "action"), "x"
    )
    zero = {"leg": 1, "verify_attempts": 0, "calls": 0, "accepted": False}
    files = [("s3://here/no.wav", None), ("s3://there/a.wav", "00"), ("/here/b.wav", "00"), ("s3://here/c.wav", "00")]
    rows = [
        blank | zero | {"manifest_row": number, "audio": audio, "audio_sha256": digest}
        for number, (audio, digest) in enumerate(files)
    ]
    results.create_part(layout.verdicts_name(NOW.run_id, NOW.run_date, 0, 1), "verdicts", rows)

    past = PastAnswers(results, NOW)

    assert past.file_read_in("s3://here") == "s3://here/c.wav"
    assert past.file_read_in("s3://nowhere") is None


def test_the_newest_answer_of_another_run_counts_once_there_is_a_snapshot(results: Results) -> None:
    """A later run counts, too; a failed night hides nothing; this run's own answers say nothing."""
    plans = [plan_of_run(f"202611{day}T120000Z_000aa", items=2) for day in (19, 20, 23)]
    outcomes = [("accepted", "rejected"), ("failed", "accepted"), ("failed", "rejected")]
    for plan, words in zip(plans, outcomes, strict=True):
        end_leg(results, plan, [answered(plan, row, name, words[row]) for row, name in enumerate("ab")])
        note_leg(results, plan)
    now = replace(NOW, environment="beta")
    results.write_plan(now)

    past = PastAnswers(results, now)

    assert [past.was_accepted(item) for item in ("a", "b", "c")] == [True, False, False]
    assert not PastAnswers(results, plans[0]).was_accepted("a")


def test_a_damaged_snapshot_is_no_reason_to_stop(results: Results, tmp_path: Path) -> None:
    """It is derived: the runs themselves are read instead."""
    plan = plan_of_run("20261119T120000Z_000aa", environment="sandbox")
    end_leg(results, plan, [answered(plan, 0, "a")])
    note_leg(results, plan)
    for file in (tmp_path / "_snapshot").glob("*/*.parquet"):
        file.write_bytes(b"PAR1")

    assert PastAnswers(results, NOW).was_accepted("a")
