"""Partner self-service: keys, rotation and usage; and the health of the service, which needs no key."""

import hashlib

from proofsweep_sandbox.answers import Answer, Refusal, json_answer, malformed
from proofsweep_sandbox.registry.keys import GRACE_SECONDS, Key, Replay
from proofsweep_sandbox.routing import Endpoint, Exchange
from proofsweep_sandbox.service import Service


async def show_keys(service: Service, exchange: Exchange) -> Answer:
    """List all keys of the tenant, or one page if `limit` or `cursor` is given."""
    query = exchange.request.query_params
    tenant = exchange.caller.tenant
    keys = service.keys.of_tenant(tenant)
    now = service.clock.now()
    if "limit" not in query and "cursor" not in query:
        records = [_record(key, now) for key in keys]
        return json_answer({"keys": records})
    limit = exchange.whole_number("limit", highest=100, default=50)
    listing = f"keys of {tenant}"
    position = service.signatures.position(listing, query.get("cursor"))
    if position is not None:
        (after,) = position
        keys = [key for key in keys if key.seq > after]
    page = keys[:limit]
    records = [_record(key, now) for key in page]
    answer: dict[str, object] = {"keys": records}
    if len(keys) > limit:
        last = page[-1]
        answer["nextCursor"] = service.signatures.cursor(listing, [last.seq])
    return json_answer(answer)


async def rotate(service: Service, exchange: Exchange) -> Answer:
    """Create a new key for the calling one, or replay the answer of a completed rotation."""
    idempotency_key = exchange.request.headers.get("idempotency-key", "")
    # Contract, Limits: Idempotency-Key length.
    if not 16 <= len(idempotency_key) <= 128:  # noqa: PLR2004 - the contract's numbers
        raise malformed("the Idempotency-Key header has 16 to 128 characters")
    body = await exchange.request.body()
    body_sha256 = hashlib.sha256(body).hexdigest()
    caller = exchange.caller
    now = service.clock.second()
    replay = service.keys.replay(caller.tenant, idempotency_key, now)
    if replay is not None:
        # A replay needs the same tenant and Idempotency-Key, and also the same calling key and body.
        if (replay.key_id, replay.body_sha256) != (caller.key_id, body_sha256):
            raise Refusal(409, "conflict", "this Idempotency-Key was used with another request")
        replayed = json_answer(replay.answer, 201)
        return replayed.with_headers({"idempotency-replayed": "true"})
    if caller.expires_at is not None:
        raise Refusal(409, "conflict", "this key is already rotated")
    new = service.keys.rotate(caller, now)
    answer: dict[str, object] = {"apiKey": new.secret, "keyId": new.key_id, "name": new.name}
    answer["previousKeyExpiresAt"] = now + GRACE_SECONDS
    # Kept before the answer goes out: a client that loses it asks again, and must not be left with a key that it
    # never saw.
    replay = Replay(key_id=caller.key_id, body_sha256=body_sha256, answer=answer)
    service.keys.keep_replay(caller.tenant, idempotency_key, replay, now)
    return json_answer(answer, 201)


def _record(key: Key, now: float) -> dict[str, object]:
    return {"keyId": key.key_id, "name": key.name, "status": key.status(now)}


async def health(service: Service, _exchange: Exchange) -> Answer:
    return json_answer({"ok": True, "version": "2.4.2", "commit": "sandbox", "deployedAt": service.started_at})


async def usage(service: Service, exchange: Exchange) -> Answer:
    """Return the calls of each of the last UTC days, including this call."""
    # Contract, Limits: usage window 1-90 days, default 30.
    count = exchange.whole_number("days", highest=90, default=30)
    now = service.clock.now()
    meter = exchange.caller.meter
    reading = service.meters.read(meter, now)
    plan = {"quotaLimit": reading.limit, "quotaPeriod": "MONTH"}
    days = service.meters.days(meter, now, count)
    return json_answer({"plan": plan, "days": days})


ENDPOINTS = (
    Endpoint("health", "GET", "/v1/health", health, is_public=True),
    Endpoint("keys", "GET", "/v1/partner/keys", show_keys, is_self_service=True),
    Endpoint("rotate", "POST", "/v1/partner/keys/rotate", rotate, is_self_service=True, lane="rotate"),
    Endpoint("usage", "GET", "/v1/partner/usage", usage, is_self_service=True),
)
