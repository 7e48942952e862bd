"""What happened, and any answer of the service, becomes rows that Parquet takes; one kind of answer is accepted."""

import io
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from proofsweep.domain.exchanges import AnswerHeaders, Call, Exchange, Failure
from proofsweep.domain.items import Row, WorkItem
from proofsweep.domain.models import VerifyResponse, json_of
from proofsweep.domain.outcomes import Answer, AudioRead, Failed, Finished, Outcome, outcome_of
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.store.parts import ITEMS, SCHEMAS
from proofsweep.store.rows import RowContext, exchange_row, planned_columns, planned_item, probe_row, row_of

from .. import left_behind

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
ITEM = WorkItem(
    manifest_row=3, item_id="i3", audio="/a.wav", audio_bytes=9, audio_version="v0", tags_json='{"isrc":"x"}'
)
READ = AudioRead(audio_format="wav", size_bytes=10, version="v1", sha256="aa")
MISSING = Ineligible(Reason.MISSING_AUDIO, "Nothing is there.")
TIMED_OUT = Failed(reason="timeout", detail="No answer.", error_code="internal")


def exchange(call: Call, request_id: str, status: int | None = 200, *, elapsed_ms: float = 1.0) -> Exchange:
    return left_behind.exchange(
        call,
        status,
        Failure.TIMEOUT if status is None else None,
        elapsed_ms=elapsed_ms,
        request_id=request_id,
        storage_id=f"s-{request_id}" if call is Call.SLOT else None,
    )


def answered(**members: object) -> Outcome:
    """Make the outcome of an answer, which is valid unless the members say otherwise."""
    return outcome_of(Answer(VerifyResponse.model_validate({"good": True, "verdict": "valid"} | members), "bb"))


def read_back(row: Row, schema: pa.Schema) -> Row:
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([row], schema=schema), file)
    table = pq.read_table(file)
    assert table.schema.equals(schema)
    cells: Row = table.to_pylist()[0]
    return cells


def written(outcome: Outcome, *exchanges: Exchange, item: WorkItem = ITEM, read: AudioRead | None = READ) -> Row:
    finished = Finished(item=item, outcome=outcome, started_at=NOON, finished_at=NOON, read=read, exchanges=exchanges)
    row = row_of(finished, RowContext("r1", 2, "sandbox"))
    assert list(row) == SCHEMAS["verdicts"].names
    return read_back(row, SCHEMAS["verdicts"])


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (answered(), ("accepted", True, "accept", "valid", True, None)),
        (
            answered(good=False, verdict="audioChanged"),
            ("rejected", False, "request_matching_pair", "audioChanged", False, "audioChanged"),
        ),
        (answered(good=False), ("rejected", False, "reject", "valid", False, "contradictory_answer")),
        (TIMED_OUT, ("failed", False, "try_again", None, None, "timeout")),
        (MISSING, ("ineligible", False, "fix_catalog", None, None, "missing_audio")),
    ],
)
def test_each_outcome_has_its_row(outcome: Outcome, words: tuple[object, ...]) -> None:
    """The verdict and `good` are kept as received beside our own reading of them."""
    row = written(outcome)

    assert tuple(row[name] for name in ("outcome", "accepted", "action", "verdict", "good", "reason")) == words
    assert (row["run_id"], row["leg"], row["environment"], row["manifest_row"]) == ("r1", 2, "sandbox", 3)


@pytest.mark.parametrize(
    ("credential", "publicly_trusted"),
    [({"publiclyTrusted": False}, False), ({"publiclyTrusted": 0}, None), (None, None)],
)
def test_absent_trust_is_not_false(credential: object, publicly_trusted: bool | None) -> None:
    """False is not a failure either: the row is accepted."""
    row = written(answered(embeddedCredential=credential))

    assert row["publicly_trusted"] is publicly_trusted
    assert row["accepted"] is True


def test_a_grade_is_kept_whole_and_read_if_possible() -> None:
    """Numbers written as text are read; other values are null, and the JSON keeps them."""
    grade = {"human": "0.75", "ai": None, "unknown": "much", "riskCategory": 2, "rubricVersion": True, "new": [1]}

    row = written(answered(grade=grade))

    assert [row[f"grade_{name}"] for name in ("human", "ai", "unknown")] == [0.75, None, None]
    assert [row[f"grade_{name}"] for name in ("risk_category", "rubric_version")] == ["2", "true"]
    assert json.loads(str(row["grade_json"])) == grade


def test_the_sidecar_chooses_the_mode() -> None:
    """A row without audio has no mode, nor has one whose sidecar may be another's."""
    pair = WorkItem(manifest_row=0, item_id="i", audio="/a.mp3", sidecar="/a.sidecar")
    nothing = WorkItem(manifest_row=0, item_id="i", audio="", ineligible=MISSING)

    contested = replace(ITEM, ineligible=Ineligible(Reason.AMBIGUOUS_SIDECAR, ""))

    rows = [written(item.ineligible or MISSING, item=item) for item in (ITEM, pair, nothing, contested)]

    assert [row["mode"] for row in rows] == ["one_file", "legacy_pair", None, None]
    assert [row["sidecar_source"] for row in rows] == [None, "given", None, None]


def test_the_last_attempt_gives_ids_and_times() -> None:
    """If the second slot is refused, the first slot's verify did not give this outcome; all keyed calls are counted."""
    earlier = [
        exchange(Call.UPLOADS, "u1"),
        exchange(Call.SLOT, "f1"),
        exchange(Call.VERIFY, "v1", 404),
        exchange(Call.UPLOADS, "u2", elapsed_ms=5.0),
    ]

    filled = exchange(Call.SLOT, "f2", 204, elapsed_ms=6.0)
    asked = exchange(Call.VERIFY, "v2", None), exchange(Call.VERIFY, "v3", elapsed_ms=7.0)
    row = written(answered(), *earlier, filled, *asked)
    refused = written(Failed(reason="slot_refused", detail="Refused."), *earlier, exchange(Call.SLOT, "f2", 400))

    assert (row["uploads_request_id"], row["verify_request_id"], row["storage_request_id"]) == ("u2", "v3", "s-f2")
    assert (row["slot_ms"], row["upload_ms"], row["verify_ms"]) == (5.0, 6.0, 7.0)
    assert (row["verify_attempts"], row["calls"], row["http_status"]) == (3, 5, 200)
    assert (refused["uploads_request_id"], refused["storage_request_id"]) == ("u2", "s-f2")
    assert (refused["verify_request_id"], refused["verify_ms"]) == (None, None)
    assert (refused["http_status"], refused["verify_attempts"]) == (400, 1)


@pytest.mark.parametrize(
    ("date", "answered_at"),
    [
        (None, NOON + timedelta(seconds=7)),  # when the answer was read
        (NOON + timedelta(seconds=7), NOON + timedelta(seconds=7)),
        (NOON + timedelta(seconds=3), NOON + timedelta(seconds=7)),  # a busy server reads its clock late
        (NOON + timedelta(seconds=1), NOON + timedelta(seconds=1)),  # the answer was read late, as after a freeze
        (NOON + timedelta(seconds=9), NOON + timedelta(seconds=9)),
    ],
)
def test_an_answer_has_the_time_at_which_the_service_gave_it(date: datetime | None, answered_at: datetime) -> None:
    """A row without one has the time at which it ended."""
    headers = AnswerHeaders(partner_date=date)
    verify = left_behind.exchange(Call.VERIFY, started_at=NOON, elapsed_ms=7_000.0, headers=headers)

    assert written(answered(), verify)["answered_at"] == answered_at
    assert written(TIMED_OUT, verify)["answered_at"] == NOON


@pytest.mark.parametrize("read", [None, replace(READ, sha256=None)])
def test_an_acceptance_of_unknown_bytes_is_never_written(read: AudioRead | None) -> None:
    """Any other row may lack the digest: nothing of it was sent to the end."""
    with pytest.raises(ValueError, match="without the digest"):
        written(answered(), read=read)

    assert written(TIMED_OUT, read=read)["audio_sha256"] is None


@pytest.mark.parametrize(
    ("place", "digest", "source"),
    [("/music/a.sidecar", "cc", "recovered"), ("/music/a.sidecar", "dd", "given"), ("/other", "cc", "given")],
)
def test_a_sidecar_that_a_recovery_has_written_is_marked(place: str, digest: str, source: str) -> None:
    """As long as it lies there with these bytes."""
    item, read = replace(ITEM, sidecar="/music/a.sidecar"), replace(READ, sidecar_sha256="cc")
    finished = Finished(item=item, outcome=answered(), started_at=NOON, finished_at=NOON, read=read, exchanges=())

    row = row_of(finished, RowContext("r1", 2, "sandbox", frozenset({(place, digest)})))

    assert row["sidecar_source"] == source


EXCHANGE = Exchange(call=Call.USAGE, attempt=2, started_at=NOON, elapsed_ms=1.5, headers=AnswerHeaders())


def audit_row(exchange: Exchange, manifest_row: int | None = 5) -> Row:
    return exchange_row(exchange, run_id="r", leg=1, manifest_row=manifest_row, environment="beta")


def test_an_exchange_is_kept_with_all_that_its_headers_said() -> None:
    headers = AnswerHeaders(
        retry_after_seconds=2.0, rate_limit=10, rate_remaining=0, rate_reset=NOON, partner_date=NOON, sunset="soon"
    )

    row = audit_row(replace(EXCHANGE, headers=headers, status=429, request_id="rid"), manifest_row=None)

    assert set(row) == set(SCHEMAS["exchanges"].names)
    assert read_back(row, SCHEMAS["exchanges"]) == row
    assert (row["call"], row["manifest_row"], row["request_id"]) == ("usage", None, "rid")
    assert audit_row(replace(EXCHANGE, call=Call.SLOT, storage_id="S3-7"))["request_id"] == "S3-7"  # its target's own


def test_each_cell_of_a_probe_has_its_column() -> None:
    """A cell without one would be lost, and nobody would hear of it."""
    assert set(probe_row(EXCHANGE)) <= set(SCHEMAS["probes"].names)


@pytest.mark.parametrize(
    "item",
    [
        WorkItem(manifest_row=0, item_id="i", audio="/a.wav", audio_bytes=1, audio_version="v", tags_json="{}"),
        WorkItem(manifest_row=0, item_id="i", audio="/c/a.wav", relative_path="a.wav"),
        WorkItem(manifest_row=1, item_id="i", audio="/caf\udce9\n.wav", sidecar="/s\udcff"),
        WorkItem(manifest_row=2, item_id="i", audio="", ineligible=Ineligible(Reason.MISSING_AUDIO, "None.")),
        WorkItem(manifest_row=3, item_id="i", audio="/b/r/a.wav", is_delivered=True),
    ],
)
def test_a_planned_item_is_read_as_it_was_written(item: WorkItem) -> None:
    """Its locations are the same bytes, also if a file's name is not UTF-8."""
    (row,) = pa.Table.from_pydict(planned_columns([item]), schema=ITEMS).to_pylist()

    assert planned_item(read_back(row, ITEMS)) == item


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
    outcome = outcome_of(Answer(answer, "aa"))
    finished = Finished(item=ITEM, outcome=outcome, started_at=NOON, finished_at=NOON, read=READ)
    return row_of(finished, RowContext("r", 1, "sandbox"))


@settings(deadline=None)
@given(ANSWERS)
@example({"good": True, "verdict": "valid", "issuedAt": 253_402_300_799.9999999, "grade": {"human": "1" * 4000}})
def test_any_answer_that_can_be_read_has_a_row(document: dict[str, object]) -> None:
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
def test_each_depth_that_is_read_can_be_written(levels: int) -> None:
    """A row is made deeper in the stack than its answer was read, and must not reach the recursion limit."""
    grade = b"[" * levels + b"]" * levels
    received = json_of(b'{"good": true, "verdict": "valid", "grade": ' + grade + b"}")

    if received is None:
        assert levels > 97
        return
    row = read_back(deep_in_the_stack(200, VerifyResponse.model_validate(received)), SCHEMAS["verdicts"])
    assert row["grade_json"] == grade.decode()
