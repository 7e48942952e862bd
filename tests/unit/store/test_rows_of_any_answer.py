"""Any answer of the service has a row that Parquet takes, and only one kind of answer is accepted."""

import json
from collections.abc import Callable
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from proofsweep.domain.items import Row, WorkItem
from proofsweep.domain.models import VerifyResponse, json_of
from proofsweep.domain.outcomes import Answer, AudioRead, Finished, outcome_of
from proofsweep.store.rows import RowContext, row_of
from proofsweep.store.schemas import SCHEMAS

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
ANY_TEXT = st.text(st.characters())
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(-(10**400), 10**400) | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=6,
)
GRADE = st.dictionaries(st.sampled_from(["human", "ai", "unknown", "riskCategory", "rubricVersion"]), ANY)
ANSWERS = st.fixed_dictionaries(
    {
        "good": st.sampled_from([True, True, False, "true", 1, None]),
        "verdict": st.sampled_from(["valid", "valid", "Valid", "valid ", "tampered", "local_seal", ""]) | ANY_TEXT,
    },
    optional={
        "proofId": ANY,
        "song": ANY,
        "issuedAt": ANY,
        "classification": ANY,
        "grade": GRADE | ANY,
        "interpretation": ANY,
        "embeddedCredential": st.fixed_dictionaries({"publiclyTrusted": ANY}) | ANY,
        "brandNew": ANY,
    },
)


def deep_in_the_stack(levels: int, answer: VerifyResponse) -> Row:
    """Make the row of an answer some frames deeper in the stack, as an orchestrator's thread does."""
    if levels:
        return deep_in_the_stack(levels - 1, answer)
    item = WorkItem(manifest_row=0, item_id="i", audio="/a.wav")
    outcome, read = (
        outcome_of(Answer(answer, "aa")),
        AudioRead(audio_format="wav", size_bytes=1, version=None, sha256="b"),
    )
    finished = Finished(item=item, outcome=outcome, started_at=NOON, finished_at=NOON, read=read)
    return row_of(finished, RowContext("r", 1, "sandbox"))


@settings(deadline=None)
@given(ANSWERS)
@example({"good": True, "verdict": "valid", "issuedAt": 253_402_300_799.9999999, "grade": {"human": "1" * 4000}})
def test_any_answer_that_can_be_read_has_a_row(
    read_back: Callable[[Row, pa.Schema], Row], document: dict[str, object]
) -> None:
    """It is accepted if and only if `good` is true and the verdict is `valid`; nothing else matters."""
    received = json_of(json.dumps(document).encode())
    assume(received is not None)
    try:
        answer = VerifyResponse.model_validate(received)
    except ValidationError:
        assert not isinstance(document["good"], bool) or "\\ud" in json.dumps(document["verdict"])
        return

    row = read_back(deep_in_the_stack(0, answer), SCHEMAS["verdicts"])

    assert row["accepted"] is (document["good"] is True and document["verdict"] == "valid")
    assert (row["outcome"] == "accepted") is row["accepted"]


@pytest.mark.parametrize("levels", [10, 97, 98, 800, 850, 900])
def test_each_depth_that_is_read_can_be_written(read_back: Callable[[Row, pa.Schema], Row], levels: int) -> None:
    """A row is made deeper in the stack than its answer was read, and must not reach the recursion limit."""
    grade = b"[" * levels + b"]" * levels
    received = json_of(b'{"good": true, "verdict": "valid", "grade": ' + grade + b"}")

    if received is None:
        assert levels > 97
        return
    row = read_back(deep_in_the_stack(200, VerifyResponse.model_validate(received)), SCHEMAS["verdicts"])
    assert row["grade_json"] == grade.decode()
