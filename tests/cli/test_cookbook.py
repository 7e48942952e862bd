"""Each question of the cookbook is asked as it stands, and has an answer."""

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from proofsweep.answers.views.connection import OpenStore, opened
from proofsweep.model import layout
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.plans_and_parts import Results

from ..worlds.ended_nights import ACCEPTED, FAILED, INELIGIBLE, MONDAY, REJECTED, TUESDAY, night

PAGE = (Path(__file__).parents[2] / "docs" / "cookbook.md").read_text(encoding="utf-8")
QUESTIONS = re.findall(r"\*\*(\d+)\. .*?\n```sql\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
FINALE = "04 Finale.wav"


@pytest.fixture(scope="module")
def label(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenStore]:
    """Two nights of a label: each question has something to find in them."""
    results = Results(FolderStore(tmp_path_factory.mktemp("store")))
    graded = ACCEPTED | {"classification": "human", "grade_human": 0.9, "grade_rubric_version": "1"}
    tags = {"tags": '{"supplier": "North"}'}
    copied = ACCEPTED | {"audio_sha256": "sha of b"}
    night(results, "20200106T020000Z_000aaaaaa", {"of years ago": ACCEPTED}, catalog="/old")
    rows = {FINALE: REJECTED | tags, "b": ACCEPTED, "c": graded, "d": ACCEPTED, "e": FAILED | tags, "copy of b": copied}
    monday = night(results, MONDAY, rows)
    rows = {FINALE: ACCEPTED | {"audio_sha256": "new"}, "b": REJECTED | tags, "e": INELIGIBLE | tags}
    night(results, TUESDAY, {**rows, "c": graded | {"grade_rubric_version": "2"}, "copy of b": copied})
    exchange = {"run_id": MONDAY, "leg": 1, "manifest_row": 0, "call": "verify", "attempt": 1, "elapsed_ms": 9.0}
    began = datetime.fromisoformat(monday.created_at)
    exchange |= {"status": 200, "request_id": "req-04-verify", "started_at": began}
    name = layout.exchanges_name(MONDAY, monday.run_date, 0, 1)
    results.create_part(name, "exchanges", [exchange])
    with opened(results) as store:
        yield store


def test_there_are_twenty_questions() -> None:
    """Each has its number and its query."""
    assert [int(number) for number, _ in QUESTIONS] == list(range(1, 21))


@pytest.mark.parametrize(("number", "query"), QUESTIONS)
def test_a_question_has_an_answer(label: OpenStore, number: str, query: str) -> None:
    """No answer is empty, and question 9 counts each file once."""
    answer = label.connection.execute(query).fetchall()

    assert answer
    if number == "9":
        assert dict(answer) == {"accepted": 4, "rejected": 1, "ineligible": 1, "gone": 1}
