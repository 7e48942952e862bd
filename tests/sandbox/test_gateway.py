import re
from collections.abc import Callable

import httpx
import pytest

import proofsweep_sandbox as sandbox
from proofsweep_sandbox.api.gateway import ENDPOINTS

UNKNOWN_PROOF = "prf_none"
KEYED = [
    (call.name, call.method, call.path.removeprefix("/v1").format(proof_id=UNKNOWN_PROOF))
    for call in ENDPOINTS
    if not call.is_public
]
TRIO = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")


def test_the_contract_has_eleven_endpoints() -> None:
    assert len({(call.method, call.path) for call in ENDPOINTS}) == 11


def test_a_missing_or_invalid_key_is_a_403(keyless: httpx.Client) -> None:
    """No endpoint answers 401, and a proof id alone is not enough."""
    for name, method, path in KEYED:
        for headers in ({}, {"x-api-key": ""}, {"x-api-key": "sk_sandbox_wrong"}):
            answer = keyless.request(method, path, headers=headers)

            assert (name, answer.status_code, answer.json()["code"]) == (name, 403, "forbidden")


def test_health_needs_no_key(keyless: httpx.Client) -> None:
    """The only public call; `deployedAt` is in whole unix seconds."""
    health = keyless.get("/health")

    assert health.status_code == 200
    assert health.json().keys() == {"ok", "version", "commit", "deployedAt"}
    assert isinstance(health.json()["deployedAt"], int)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/health", 200),
        ("POST", "/uploads", 200),
        ("GET", "/proofs", 200),
        ("GET", "/partner/usage?days=0", 400),
        ("GET", f"/proofs/{UNKNOWN_PROOF}", 404),
        ("GET", "/nowhere", 404),
        ("GET", "/uploads", 405),
    ],
)
def test_every_answer_has_both_request_id_headers(api: httpx.Client, method: str, path: str, status: int) -> None:
    """X-Request-Id and x-amzn-requestid have the same value, which is new on each call."""
    first, second = (api.request(method, path) for _ in range(2))

    assert first.status_code == status
    assert first.headers["x-request-id"] == first.headers["x-amzn-requestid"]
    assert first.headers["x-request-id"] != second.headers["x-request-id"]


def test_rate_limit_headers_are_on_self_service_answers_only(api: httpx.Client) -> None:
    """Keys, rotate and usage have the three headers; other answers have none."""
    for name, method, path in KEYED:
        answer = api.request(method, path, headers={"idempotency-key": "k" * 16})

        present = [header in answer.headers for header in TRIO]
        assert (name, present) == (name, [name in {"keys", "rotate", "usage"}] * 3)


def test_keyed_calls_are_counted_whatever_their_answer(api: httpx.Client) -> None:
    """A call with a valid key counts, also if it is refused; a public call does not."""
    paths = ["/proofs", "/nowhere", "/partner/usage?days=0", f"/proofs/{UNKNOWN_PROOF}", "/health"]
    for path in paths:
        api.get(path)

    usage = api.get("/partner/usage", params={"days": 1})

    (today,) = usage.json()["days"]
    limit = usage.json()["plan"]["quotaLimit"]
    assert today["used"] == 5
    assert today["remaining"] == limit - 5
    assert usage.headers["x-ratelimit-remaining"] == str(limit - 5)
    assert usage.headers["x-ratelimit-limit"] == str(limit)


@pytest.mark.parametrize(("is_quota", "longest_wait"), [(True, 31 * 86_400), (False, 10)])
def test_a_refused_call_passes_after_retry_after(
    operator: sandbox.Operator,
    api: httpx.Client,
    key: sandbox.NewKey,
    later: Callable[[float], None],
    *,
    is_quota: bool,
    longest_wait: int,
) -> None:
    """In seconds until the next UTC month, of a quota that is spent; else until the lane's next token.

    X-RateLimit-Reset is in unix seconds.
    """
    if is_quota:
        operator.set_quota(1, tenant=key.tenant)
    else:
        operator.set_lane(rate=0.1, burst=1)

    passed, refused = api.get("/proofs"), api.get("/proofs")
    later(float(refused.headers["retry-after"]))
    healed = api.get("/proofs")

    assert [answer.status_code for answer in (passed, refused, healed)] == [200, 429, 200]
    assert refused.json()["code"] == "rate_limited"
    assert 1 <= int(refused.headers["retry-after"]) <= longest_wait
    assert int(refused.headers["x-ratelimit-reset"]) > 1_700_000_000
    assert (refused.headers["x-ratelimit-remaining"] == "0") == is_quota


@pytest.mark.parametrize("path", ["/partner/keys?limit=", "/proofs?limit=", "/partner/usage?days="])
def test_a_number_out_of_bounds_is_a_400(api: httpx.Client, path: str) -> None:
    """With leading zeros, of any length, in any script; 007 is seven."""
    wrong = ["0", "101", "-1", "1.5", "", "thirty", "\uff11", "0000000101", "9" * 5000, "00"]
    answers = [api.get(f"{path}{number}") for number in wrong]

    assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(400, "invalid_request")}
    assert api.get(f"{path}007").status_code == 200


@pytest.mark.parametrize(("query", "count"), [({}, 30), ({"days": "1"}, 1), ({"days": "90"}, 90)])
def test_usage_has_one_entry_for_each_utc_day(api: httpx.Client, query: dict[str, str], count: int) -> None:
    """The default is 30 days; the last one is today."""
    days = api.get("/partner/usage", params=query).json()["days"]

    assert len({day["date"] for day in days}) == count
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", day["date"]) for day in days)
    assert [day["used"] for day in days] == [0] * (count - 1) + [1]
