"""Key self-service: GET /partner/keys and POST /partner/keys/rotate."""

import hashlib

from proofsweep_sandbox.answers import Answer, Refusal, json_answer, malformed
from proofsweep_sandbox.api.queries import cursor_to, page_limit, position_of
from proofsweep_sandbox.later_release import NEW_STATUSES
from proofsweep_sandbox.registry.keys import GRACE_SECONDS, Key
from proofsweep_sandbox.registry.replays import Replay
from proofsweep_sandbox.routing import Exchange
from proofsweep_sandbox.service import Service


async def show(service: Service, exchange: Exchange) -> Answer:
    """List all keys of the tenant, or one page if `limit` or `cursor` is given."""
    query = exchange.request.query_params
    keys = service.keys.of_tenant(exchange.caller.tenant)
    now = service.clock.now()
    if "limit" not in query and "cursor" not in query:
        inventory = [_record(service, key, now) for key in keys]
        return json_answer(
            {"keys": inventory, **({} if service.unspecified.last_cursor == "absent" else {"nextCursor": None})}
        )
    limit = page_limit(service, query)
    listing = f"keys of {exchange.caller.tenant}"
    (after,) = position_of(service, query, listing) or [0]
    page = [key for key in keys if key.seq > after]
    answer: dict[str, object] = {"keys": [_record(service, key, now) for key in page[:limit]]}
    if len(page) > limit:
        answer["nextCursor"] = cursor_to(service, listing, [page[limit - 1].seq])
    return json_answer(answer)


async def rotate(service: Service, exchange: Exchange) -> Answer:
    """Create a new key for the calling one, or replay the answer of a completed rotation.

    A replay needs the same tenant and Idempotency-Key, and also the same calling key and body.
    """
    idempotency_key = exchange.request.headers.get("idempotency-key", "")
    # Contract, Limits: Idempotency-Key length.
    if not 16 <= len(idempotency_key) <= 128:  # noqa: PLR2004 - the contract's numbers
        raise malformed("the Idempotency-Key header has 16 to 128 characters")
    body_sha256 = await _digest_of(exchange)
    caller, now = exchange.caller, service.clock.second()
    replay = service.replays.find(caller.tenant, idempotency_key, now)
    if replay is not None:
        return _replayed(replay, caller, body_sha256)
    if caller.is_in_grace:
        raise Refusal(409, "conflict", "this key is already rotated")
    answer = _rotated(service, caller, now)
    service.replays.add(
        caller.tenant, idempotency_key, Replay(key_id=caller.key_id, body_sha256=body_sha256, answer=answer), now
    )
    return json_answer(answer, 201)


async def _digest_of(exchange: Exchange) -> str:
    """Return the digest of the body, lowercase hex; a rotation needs no body, so it may be of any size."""
    digest = hashlib.sha256()
    async for chunk in exchange.request.stream():
        digest.update(chunk)
    return digest.hexdigest()


def _rotated(service: Service, caller: Key, now: int) -> dict[str, object]:
    new = service.keys.rotate(caller, now)
    ends = now + GRACE_SECONDS
    return {"apiKey": new.secret, "keyId": new.key_id, "name": new.name, "previousKeyExpiresAt": ends}


def _replayed(replay: Replay, caller: Key, body_sha256: str) -> Answer:
    if (replay.key_id, replay.body_sha256) != (caller.key_id, body_sha256):
        raise Refusal(409, "conflict", "this Idempotency-Key was used with another request")
    return json_answer(replay.answer, 201).with_headers({"idempotency-replayed": "true"})


def _record(service: Service, key: Key, now: float) -> dict[str, object]:
    names = NEW_STATUSES if service.is_later_release else service.unspecified.key_status
    status = dict(zip(("active", "grace", "expired"), names, strict=True))[key.status(now)]
    return {"keyId": key.key_id, "name": key.name, "status": status}
