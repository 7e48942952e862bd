import json

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


def test_a_fault_of_an_unknown_call_is_refused(operator: sandbox.Operator) -> None:
    """A mistyped name would be a fault that never happens."""
    for name in ("verify", "asset_download", "unknown", "*"):
        operator.add_fault(name, "slow", seconds=0)

    with pytest.raises(sandbox.OperatorError, match="no call uplaods"):
        operator.add_fault("uplaods", "slow")


def test_headers_can_be_set_and_removed(operator: sandbox.Operator, api: httpx.Client) -> None:
    """Sunset is added, the content type is wrong, and a request ID is removed."""
    changes = {"Sunset": "Sat, 01 May 2027 00:00:00 GMT", "Content-Type": "text/plain", "X-Request-Id": None}
    operator.add_fault("proofs", "headers", headers=changes)

    answer = api.get("/proofs")

    assert answer.headers["sunset"] == changes["Sunset"]
    assert answer.headers["content-type"].startswith("text/plain")
    assert "x-request-id" not in answer.headers
