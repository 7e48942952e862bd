"""Wrong services, at keys, rotation, usage and slots: no check was written for any of them."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace

from proofsweep_sandbox.answers import Answer, Refusal, json_answer
from proofsweep_sandbox.clock import day_of
from proofsweep_sandbox.registry.keys import Key, Keys
from proofsweep_sandbox.registry.replays import Replay
from proofsweep_sandbox.routing import Exchange, Serve
from proofsweep_sandbox.service import Service

from .broken_parts import BrokenPart, replacing
from .changes import Members, change_query, change_success, set_header
from .definition import AnswerChange, Mutant, ServeWrapper

_ROTATE = ("rotate",)
_GRACE_SECONDS = 72 * 3600
# By how much a race is widened.
_PAUSE_SECONDS = 0.2
_in_flight: dict[str, asyncio.Future[Answer]] = {}


def _is_minted(service: Service, key: Key) -> bool:
    """Return whether a rotation has made this key."""
    found = service.keys._database.execute(
        "SELECT count(*) AS older FROM keys WHERE meter = ? AND seq < ?", (key.meter, key.seq)
    )
    return bool(found.fetchone()["older"])


def _refusing_minted(status: int) -> ServeWrapper:
    def wrap(serve: Serve) -> Serve:
        async def refuse(service: Service, exchange: Exchange) -> Answer:
            if _is_minted(service, exchange.caller):
                raise Refusal(status, "forbidden" if status == 403 else "conflict", "not with this key")
            return await serve(service, exchange)

        return refuse

    return wrap


def _racing(serve: Serve) -> Serve:
    async def rotate(service: Service, exchange: Exchange) -> Answer:
        given, caller = exchange.request.headers.get("idempotency-key", ""), exchange.caller
        is_known = service.replays.find(caller.tenant, given, service.clock.second()) is not None
        if is_known or caller.is_in_grace or not 16 <= len(given) <= 128:
            return await serve(service, exchange)
        await asyncio.sleep(_PAUSE_SECONDS)
        now = service.clock.second()
        new = service.keys.rotate(caller, now)
        members: dict[str, object] = {"apiKey": new.secret, "keyId": new.key_id, "name": new.name}
        members["previousKeyExpiresAt"] = now + _GRACE_SECONDS
        empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        service.replays.add(caller.tenant, given, Replay(key_id=caller.key_id, body_sha256=empty, answer=members), now)
        return json_answer(members, 201)

    return rotate


def _replaying_to_all(serve: Serve) -> Serve:
    async def rotate(service: Service, exchange: Exchange) -> Answer:
        row = service.replays._database.execute(
            "SELECT answer FROM replays WHERE idempotency_key = ? AND tenant != ?",
            (exchange.request.headers.get("idempotency-key", ""), exchange.caller.tenant),
        ).fetchone()
        if row is None:
            return await serve(service, exchange)
        return json_answer(json.loads(row["answer"]), 201).with_headers({"idempotency-replayed": "true"})

    return rotate


def _minting_when_refused(status: int) -> ServeWrapper:
    def wrap(serve: Serve) -> Serve:
        async def rotate(service: Service, exchange: Exchange) -> Answer:
            try:
                return await serve(service, exchange)
            except Refusal as refusal:
                if refusal.status == status:
                    service.keys.add_key(exchange.caller.tenant, "one more", service.options.quota)
                raise

        return rotate

    return wrap


class _OldRenamed(BrokenPart, Keys):
    def rotate(self, old: Key, now: int) -> Key:
        """Rename the old key."""
        new = super().rotate(old, now)
        self._database.execute("UPDATE keys SET name = name || ' (old)' WHERE seq = ?", (old.seq,))
        return new


class _OldUnlisted(BrokenPart, Keys):
    def of_tenant(self, tenant: str) -> list[Key]:
        """Leave out keys in their grace window."""
        return [key for key in super().of_tenant(tenant) if not key.is_in_grace]


class _MeterShared(BrokenPart, Keys):
    def by_secret(self, secret: str) -> Key | None:
        """Count all keys of a tenant on one meter."""
        key = super().by_secret(secret)
        return None if key is None else replace(key, meter=self.of_tenant(key.tenant)[0].meter)


class _NameLost(BrokenPart, Keys):
    def rotate(self, old: Key, now: int) -> Key:
        """Give the new key an empty name in lists."""
        new = super().rotate(old, now)
        self._database.execute("UPDATE keys SET name = '' WHERE seq = ?", (new.seq,))
        return new


def _uncounted(where: Callable[[Exchange, Answer], bool]) -> AnswerChange:
    def change_answer(service: Service, exchange: Exchange, answer: Answer) -> Answer:
        if exchange.charged and where(exchange, answer):
            service.meters._database.execute(
                "UPDATE usage SET used = used - 1 WHERE meter = ? AND day = ?",
                (exchange.caller.meter, day_of(service.clock.now())),
            )
        return answer

    return change_answer


def _stale_today(service: Service, exchange: Exchange, answer: Answer) -> Answer:
    def change(members: Members) -> None:
        if "days" not in exchange.request.query_params:
            members["days"][-1]["used"] = 0

    return change_success(change)(service, exchange, answer)


def _shared_slot(serve: Serve) -> Serve:
    async def mint(service: Service, exchange: Exchange) -> Answer:
        tenant = exchange.caller.tenant
        if tenant in _in_flight:
            return await asyncio.shield(_in_flight[tenant])
        _in_flight[tenant] = asyncio.get_running_loop().create_future()
        await asyncio.sleep(_PAUSE_SECONDS / 10)
        answer = await serve(service, exchange)
        _in_flight.pop(tenant).set_result(answer)
        return answer

    return mint


SERVICES = {
    "the key that a rotation made gets no slots": Mutant(
        rule="rotate-new-key-works-everywhere", on=("uploads",), wrap_serve=_refusing_minted(403)
    ),
    "the key that a rotation made cannot be rotated": Mutant(on=_ROTATE, wrap_serve=_refusing_minted(409)),
    "two simultaneous rotations make two keys": Mutant(
        rule="rotate-simultaneous-rotations-make-one-key", on=_ROTATE, wrap_serve=_racing
    ),
    "a rotation is replayed to another tenant": Mutant(
        rule="rotate-other-tenant-gets-no-replay", on=_ROTATE, wrap_serve=_replaying_to_all
    ),
    "a rotation that is refused with 409 makes a key": Mutant(on=_ROTATE, wrap_serve=_minting_when_refused(409)),
    "a rotation that is refused with 400 makes a key": Mutant(on=_ROTATE, wrap_serve=_minting_when_refused(400)),
    "a rotation renames the old key": Mutant(on=_ROTATE, replace_part=replacing("keys", _OldRenamed)),
    "a rotated key is listed no more": Mutant(on=("keys",), replace_part=replacing("keys", _OldUnlisted)),
    "the new key is listed without its name": Mutant(on=_ROTATE, replace_part=replacing("keys", _NameLost)),
    "all keys of a tenant share a count": Mutant(
        rule="limits-keys-have-counts-of-their-own", replace_part=replacing("keys", _MeterShared)
    ),
    "successes alone are counted": Mutant(
        rule="endpoints-reading-changes-nothing", change_answer=_uncounted(lambda _, answer: answer.status >= 400)
    ),
    "assets are not counted": Mutant(on=("asset",), change_answer=_uncounted(lambda _, answer: bool(answer.status))),
    "a key in its grace window is not counted": Mutant(
        change_answer=_uncounted(lambda exchange, _: exchange.caller.is_in_grace)
    ),
    "rotations are not counted": Mutant(on=_ROTATE, change_answer=_uncounted(lambda _, answer: bool(answer.status))),
    "today is not counted in the default window": Mutant(on=("usage",), change_answer=_stale_today),
    "two slots that are requested at once are one": Mutant(on=("uploads",), wrap_serve=_shared_slot),
    "an erasure has no request ID": Mutant(on=("erase",), change_answer=set_header("x-request-id", None)),
    "Retry-After of a rotation is a date": Mutant(
        on=_ROTATE, change_answer=set_header("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT", status=429)
    ),
    "usage of a week ends yesterday": Mutant(
        on=("usage",), change_request=change_query(lambda query: query.get("days") == "7" and query.update(days="8"))
    ),
}
