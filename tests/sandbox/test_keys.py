from collections.abc import Callable

import httpx

import proofsweep_sandbox as sandbox

from .conftest import pages_of

HOUR = 3600
FIRST = {"idempotency-key": "first-rotation-0001"}
SECOND = {"idempotency-key": "second-rotation-001"}


def test_listing_shows_records_and_no_secret(api: httpx.Client, key: sandbox.NewKey) -> None:
    """The list has metadata only, all keys and no cursor."""
    answer = api.get("/partner/keys")

    assert answer.json() == {"keys": [{"keyId": key.key_id, "name": "a test", "status": "active"}]}
    assert key.api_key not in answer.text


def test_limit_or_cursor_turns_on_paging(api: httpx.Client, key: sandbox.NewKey) -> None:
    """Without either, all keys come at once; with either, pages have a cursor until the last one."""
    second = api.post("/partner/keys/rotate", headers=FIRST).json()
    third = api.post("/partner/keys/rotate", headers={**SECOND, "x-api-key": second["apiKey"]}).json()
    made = [key.key_id, second["keyId"], third["keyId"]]

    inventory = api.get("/partner/keys").json()
    pages = pages_of(api, "/partner/keys")

    assert [record["keyId"] for record in inventory["keys"]] == made
    assert "nextCursor" not in inventory
    assert [[record["keyId"] for record in page["keys"]] for page in pages] == [made[:2], made[2:]]


def test_rotation_mints_a_key_beside_the_old_one(
    api: httpx.Client, keyless: httpx.Client, key: sandbox.NewKey, later: Callable[[float], None]
) -> None:
    """201 with the new secret; the old key works for 72 more hours."""
    answer = api.post("/partner/keys/rotate", headers=FIRST)
    minted = answer.json()
    later(71 * HOUR)
    in_grace = [record["status"] for record in api.get("/partner/keys").json()["keys"]]
    later(1 * HOUR + 1)

    assert (answer.status_code, minted.keys()) == (201, {"apiKey", "keyId", "name", "previousKeyExpiresAt"})
    assert minted["keyId"] != key.key_id
    assert in_grace == ["grace", "active"]
    assert api.get("/proofs").status_code == 403
    assert keyless.get("/proofs", headers={"x-api-key": minted["apiKey"]}).status_code == 200


def test_a_lost_answer_can_be_replayed_for_24_hours(api: httpx.Client, later: Callable[[float], None]) -> None:
    """The same Idempotency-Key replays the answer with a header; later it is a conflict."""
    first = api.post("/partner/keys/rotate", headers=FIRST)
    later(23 * HOUR)
    replay = api.post("/partner/keys/rotate", headers=FIRST)
    later(2 * HOUR)
    too_late = api.post("/partner/keys/rotate", headers=FIRST)

    assert (replay.status_code, replay.json()) == (201, first.json())
    assert "idempotency-replayed" not in first.headers
    assert replay.headers["idempotency-replayed"] == "true"
    assert (too_late.status_code, too_late.json()["code"]) == (409, "conflict")


def test_a_second_rotation_of_one_key_is_a_conflict(api: httpx.Client, keyless: httpx.Client) -> None:
    """A key in its grace window cannot be rotated again; an Idempotency-Key belongs to one body and calling key."""
    minted = api.post("/partner/keys/rotate", headers=FIRST).json()

    again = api.post("/partner/keys/rotate", headers=SECOND)
    other_body = api.post("/partner/keys/rotate", headers=FIRST, content=b"{}")
    other_key = keyless.post("/partner/keys/rotate", headers={**FIRST, "x-api-key": minted["apiKey"]})

    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    assert (other_body.status_code, other_key.status_code) == (409, 409)


def test_an_idempotency_key_out_of_range_is_a_400(api: httpx.Client) -> None:
    """It is required, and has 16 to 128 characters."""
    for headers in ({}, {"idempotency-key": "k" * 15}, {"idempotency-key": "k" * 129}):
        assert api.post("/partner/keys/rotate", headers=headers).status_code == 400


def test_rotation_has_a_low_lane_of_its_own(api: httpx.Client) -> None:
    """Rotation is throttled after five calls; other calls are not."""
    statuses = [api.post("/partner/keys/rotate", headers=FIRST).status_code for _ in range(6)]

    assert statuses == [201] * 5 + [429]
    assert api.get("/proofs").status_code == 200
