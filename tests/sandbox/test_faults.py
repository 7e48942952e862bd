import json
from collections import Counter

import httpx
import pytest

import proofsweep_sandbox as sandbox
from proofsweep_sandbox.answers import json_answer
from proofsweep_sandbox.faults import Fault, FaultKind, Faults, with_faults


@pytest.mark.parametrize(
    ("rule", "struck"),
    [
        ({}, "xxxxxx"),
        ({"count": 2}, "xx...."),
        ({"after": 2}, "..xxxx"),
        ({"after": 1, "count": 3}, ".xxx.."),
        ({"share": 0.0}, "......"),
        ({"call": "usage"}, "......"),
        ({"call": "*"}, "xxxxxx"),
    ],
)
def test_a_rule_says_which_calls_are_struck(rule: dict[str, object], struck: str) -> None:
    """`call`, `after`, `count` and `share` together choose the calls."""
    faults = Faults(seed=1)
    faults.add(Fault.model_validate({"call": "verify", "kind": "status", **rule}))

    drawn = "".join("x" if faults.drawn("verify") else "." for _ in range(6))

    assert drawn == struck


def test_chance_repeats_itself() -> None:
    """A share is drawn from the seed, so that a failed run can be repeated."""
    draws = []
    for _ in range(2):
        faults = Faults(seed=7)
        faults.add(Fault(call="verify", kind=FaultKind.STATUS, share=0.5))
        draws.append([bool(faults.drawn("verify")) for _ in range(200)])

    assert draws[0] == draws[1]
    assert 70 < Counter(draws[0])[True] < 130


def test_an_answer_fault_sets_and_leaves_out_members() -> None:
    """Null is a value; `without` names the members to remove."""
    fault = Fault(
        call="verify", kind=FaultKind.ANSWER, answer={"good": None, "verdict": "quantumSealed"}, without=("song",)
    )

    answer = with_faults(json_answer({"good": True, "verdict": "valid", "song": "Intro"}), [fault])

    assert json.loads(answer.body) == {"good": None, "verdict": "quantumSealed"}


def test_an_answer_fault_leaves_errors_alone() -> None:
    """An ApiError is not changed."""
    refused = json_answer({"error": "no", "code": "not_found"}, 404)

    assert with_faults(refused, [Fault(call="*", kind=FaultKind.ANSWER, answer={"good": True})]) == refused


def test_a_status_fault_is_an_api_error(operator: sandbox.Operator, api: httpx.Client) -> None:
    """It has the chosen code and headers, the request IDs, and on 429 the quota headers."""
    operator.add_fault("proofs", "status", status=429, code="rate_limited", retry_after=7, count=1)

    struck, healed = api.get("/proofs"), api.get("/proofs")

    assert (struck.status_code, struck.json()["code"], struck.headers["retry-after"]) == (429, "rate_limited", "7")
    assert {"x-request-id", "x-ratelimit-limit"} <= struck.headers.keys()
    assert healed.status_code == 200


def test_a_status_fault_at_the_storage_is_xml(
    operator: sandbox.Operator, api: httpx.Client, keyless: httpx.Client
) -> None:
    """Each origin has its own form of errors; a fault names its call."""
    operator.add_fault("slot", "status", status=503, code="SlowDown")
    slot = api.post("/uploads").json()

    answer = keyless.post(slot["url"], data=slot["fields"], files={"file": b"audio"})

    assert answer.status_code == 503
    assert "<Code>SlowDown</Code>" in answer.text


@pytest.mark.parametrize("kind", ["reset_before", "reset_after"])
def test_a_reset_breaks_the_connection(operator: sandbox.Operator, api: httpx.Client, kind: str) -> None:
    """The client gets no answer, and the logged exchange has no status."""
    before = len(operator.exchanges())
    operator.add_fault("proofs", kind, count=1)

    with pytest.raises(httpx.ReadError):
        api.get("/proofs")

    (exchange,) = operator.exchanges()[before:]
    assert (exchange["call"], exchange["status"]) == ("proofs", None)


def test_a_reset_after_the_work_leaves_the_work_done(
    operator: sandbox.Operator, api: httpx.Client, key: sandbox.NewKey
) -> None:
    """A rotation with a lost answer is completed; the replay returns its secret."""
    operator.add_fault("rotate", "reset_after", count=1)
    headers = {"idempotency-key": "lost-rotation-00001"}

    with pytest.raises(httpx.ReadError):
        api.post("/partner/keys/rotate", headers=headers)
    replay = api.post("/partner/keys/rotate", headers=headers)

    assert (replay.status_code, replay.headers["idempotency-replayed"]) == (201, "true")
    assert len([event for event in operator.rotations() if event["tenant"] == key.tenant]) == 1


def test_a_reset_before_the_work_leaves_it_undone(
    operator: sandbox.Operator, api: httpx.Client, key: sandbox.NewKey
) -> None:
    """The request was not served."""
    operator.add_fault("rotate", "reset_before", count=1)

    with pytest.raises(httpx.ReadError):
        api.post("/partner/keys/rotate", headers={"idempotency-key": "lost-rotation-00002"})

    assert [event for event in operator.rotations() if event["tenant"] == key.tenant] == []


def test_a_truncated_answer_ends_before_its_length(operator: sandbox.Operator, api: httpx.Client) -> None:
    """The headers announce the whole body; half of it is sent."""
    operator.add_fault("usage", "truncate")

    with pytest.raises(httpx.RemoteProtocolError):
        api.get("/partner/usage")


def test_an_html_page_can_replace_json(operator: sandbox.Operator, api: httpx.Client) -> None:
    """The page has the status of the original answer."""
    operator.add_fault("proofs", "not_json")

    answer = api.get("/proofs")

    assert answer.headers["content-type"].startswith("text/html")
    assert answer.text.startswith("<!doctype html>")


def test_headers_can_be_set_and_removed(operator: sandbox.Operator, api: httpx.Client) -> None:
    """Sunset is added, the content type is wrong, and a request ID is removed."""
    changes = {"Sunset": "Sat, 01 May 2027 00:00:00 GMT", "Content-Type": "text/plain", "X-Request-Id": None}
    operator.add_fault("proofs", "headers", headers=changes)

    answer = api.get("/proofs")

    assert answer.headers["sunset"] == changes["Sunset"]
    assert answer.headers["content-type"].startswith("text/plain")
    assert "x-request-id" not in answer.headers


@pytest.mark.parametrize("fault", [{"kind": "hang"}, {"kind": "slow", "seconds": 5.0}])
def test_a_call_that_hangs_or_is_slow_lets_others_pass(
    operator: sandbox.Operator, api: httpx.Client, fault: dict[str, str]
) -> None:
    """The client times out, and its next call is answered."""
    operator.add_fault("proofs", **fault, count=1)

    with pytest.raises(httpx.ReadTimeout):
        api.get("/proofs", timeout=0.2)

    assert api.get("/proofs").status_code == 200


def test_the_operator_sees_how_often_a_fault_struck(operator: sandbox.Operator, api: httpx.Client) -> None:
    """`met` counts the matching calls, `struck` the failed ones."""
    operator.add_fault("proofs", "status", after=1, count=1)
    for _ in range(3):
        api.get("/proofs")

    (fault,) = operator.faults()

    assert (fault["met"], fault["struck"]) == (3, 1)


def test_a_fault_of_an_unknown_kind_is_refused(operator: sandbox.Operator) -> None:
    """A misspelt fault is an error, not a fault that never strikes."""
    with pytest.raises(sandbox.OperatorError):
        operator.add_fault("proofs", "explode")
