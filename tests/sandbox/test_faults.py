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
    """Null is a value; `without` names the members to remove. An ApiError is not changed."""
    fault = Fault(
        call="verify", kind=FaultKind.ANSWER, answer={"good": None, "verdict": "quantumSealed"}, without=("song",)
    )

    answer = with_faults(json_answer({"good": True, "verdict": "valid", "song": "Intro"}), [fault])

    assert json.loads(answer.body) == {"good": None, "verdict": "quantumSealed"}
    refused = json_answer({"error": "no", "code": "not_found"}, 404)
    assert with_faults(refused, [fault]) == refused


def test_a_status_fault_is_an_api_error(operator: sandbox.Operator, api: httpx.Client) -> None:
    """It has the chosen code and headers, the request IDs, and on 429 the quota headers; the operator sees it."""
    operator.add_fault("proofs", "status", status=429, code="rate_limited", retry_after=7, count=1)

    struck, healed = api.get("/proofs"), api.get("/proofs")
    (fault,) = operator.faults()

    assert (struck.status_code, struck.json()["code"], struck.headers["retry-after"]) == (429, "rate_limited", "7")
    assert {"x-request-id", "x-ratelimit-limit"} <= struck.headers.keys()
    assert healed.status_code == 200
    assert (fault["met"], fault["struck"]) == (2, 1)


def test_a_status_fault_at_the_storage_is_xml(
    operator: sandbox.Operator, api: httpx.Client, keyless: httpx.Client
) -> None:
    """Each origin has its own form of errors; a fault names its call."""
    operator.add_fault("slot", "status", status=503, code="SlowDown")
    slot = api.post("/uploads").json()

    answer = keyless.post(slot["url"], data=slot["fields"], files={"file": b"audio"})

    assert answer.status_code == 503
    assert "<Code>SlowDown</Code>" in answer.text


@pytest.mark.parametrize(("kind", "rotations"), [("reset_before", 0), ("reset_after", 1)])
def test_a_reset_comes_before_or_after_the_work(
    operator: sandbox.Operator, api: httpx.Client, key: sandbox.NewKey, kind: str, rotations: int
) -> None:
    """The client gets no answer, and the logged exchange has no status; a rotation that is done can be replayed."""
    before = operator.exchanges()[-1]["seq"]
    operator.add_fault("rotate", kind, count=1)
    headers = {"idempotency-key": f"lost-rotation-{kind}"}

    with pytest.raises(httpx.ReadError):
        api.post("/partner/keys/rotate", headers=headers)

    (exchange,) = operator.exchanges(before)
    assert (exchange["call"], exchange["status"]) == ("rotate", None)
    assert len(operator.usage(key.tenant)) == 1 + rotations  # each key
    replay = api.post("/partner/keys/rotate", headers=headers)
    assert (replay.status_code, "idempotency-replayed" in replay.headers) == (201, bool(rotations))


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


def test_a_fault_of_an_unknown_kind_is_refused(operator: sandbox.Operator) -> None:
    """A misspelt fault is an error, not a fault that never strikes."""
    with pytest.raises(sandbox.OperatorError):
        operator.add_fault("proofs", "explode")
