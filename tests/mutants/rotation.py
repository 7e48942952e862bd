"""Mutants of rotation."""

from proofsweep_sandbox.answers import Answer
from proofsweep_sandbox.routing import Exchange, Serve
from proofsweep_sandbox.service import Service

from .broken_keys import end_other_keys, move_new_key
from .broken_parts import accept_any_key, refuse_new_key, refuse_old_key, use_rotation_lane
from .changes import Members, change_request_header, change_status, change_success, set_header
from .definition import Mutant

# The unit in which the mutant shortens the grace window.
_DAY_SECONDS = 86_400


def _with_another_secret(service: Service, exchange: Exchange, answer: Answer) -> Answer:
    is_replay = "idempotency-replayed" in answer.headers
    return change_success(_another_secret)(service, exchange, answer) if is_replay else answer


def _with_another_end(service: Service, exchange: Exchange, answer: Answer) -> Answer:
    is_replay = "idempotency-replayed" in answer.headers
    return change_success(_a_second_later)(service, exchange, answer) if is_replay else answer


def _a_second_later(members: Members) -> None:
    members["previousKeyExpiresAt"] += 1


def _with_the_old_id(service: Service, exchange: Exchange, answer: Answer) -> Answer:
    if answer.status != 201:
        return answer
    return change_success(lambda members: members.update(keyId=exchange.caller.key_id))(service, exchange, answer)


def _minting_again(serve: Serve) -> Serve:
    async def rotate(service: Service, exchange: Exchange) -> Answer:
        answer = await serve(service, exchange)
        if "idempotency-replayed" in answer.headers:
            service.keys.add_key(exchange.caller.tenant, "one more", service.options.quota)
        return answer

    return rotate


def _another_secret(members: Members) -> None:
    members["apiKey"] = f"{members['apiKey']}x"


def _two_days_earlier(members: Members) -> None:
    members["previousKeyExpiresAt"] -= 2 * _DAY_SECONDS


_ROTATE = ("rotate",)

MUTANTS = (
    Mutant(
        rule="rotate-needs-an-idempotency-key",
        breaks="a rotation needs no Idempotency-Key",
        on=_ROTATE,
        change_request=change_request_header("idempotency-key", lambda given: given or "0123456789abcdef"),
    ),
    Mutant(
        rule="rotate-needs-an-idempotency-key",
        breaks="15 characters are accepted",
        on=_ROTATE,
        change_request=change_request_header("idempotency-key", lambda given: given and given.ljust(16, "0")),
    ),
    Mutant(
        rule="rotate-needs-an-idempotency-key",
        breaks="129 characters are accepted",
        on=_ROTATE,
        change_request=change_request_header("idempotency-key", lambda given: given and given[:128]),
    ),
    Mutant(
        rule="rotate-answers-201-with-a-new-key",
        breaks="a rotation is answered with 200",
        on=_ROTATE,
        change_answer=change_status(201, 200),
    ),
    Mutant(
        rule="rotate-old-key-expires-72-hours-later",
        breaks="the old key's grace window is one day",
        on=_ROTATE,
        change_answer=change_success(_two_days_earlier),
    ),
    Mutant(
        rule="rotate-answers-201-with-a-new-key",
        breaks="a rotation has no `X-RateLimit-Limit`",
        on=_ROTATE,
        change_answer=set_header("x-ratelimit-limit", None),
    ),
    Mutant(
        rule="rotate-replays-the-same-answer",
        breaks="a replay has another secret",
        on=_ROTATE,
        change_answer=_with_another_secret,
    ),
    Mutant(
        rule="rotate-replays-the-same-answer",
        breaks="a replay is not marked",
        on=_ROTATE,
        change_answer=set_header("idempotency-replayed", None),
    ),
    Mutant(
        rule="rotate-again-is-409",
        breaks="a second rotation is answered with 400",
        on=_ROTATE,
        change_answer=change_status(409, 400),
    ),
    Mutant(
        rule="rotate-old-key-works-everywhere",
        breaks="a rotated key is refused at once",
        on=("usage",),
        replace_part=refuse_old_key,
    ),
    Mutant(
        rule="rotate-new-key-works-everywhere",
        breaks="the new key is refused",
        on=("usage",),
        replace_part=refuse_new_key,
    ),
    Mutant(
        rule="rotate-old-key-works-everywhere",
        breaks="a rotated key may not verify",
        on=("verify",),
        replace_part=refuse_old_key,
    ),
    Mutant(
        rule="rotate-changes-one-key-alone",
        breaks="a rotation ends the tenant's other keys",
        on=_ROTATE,
        replace_part=end_other_keys,
    ),
    Mutant(
        rule="rotate-answers-201-with-a-new-key",
        breaks="the new key has the old key's id",
        on=_ROTATE,
        change_answer=_with_the_old_id,
    ),
    Mutant(
        rule="rotate-new-key-is-of-the-same-tenant",
        breaks="the new key is a new tenant's",
        on=("proofs",),
        replace_part=move_new_key,
    ),
    Mutant(
        rule="rotate-replays-the-same-answer",
        breaks="a replay has another end of the grace window",
        on=_ROTATE,
        change_answer=_with_another_end,
    ),
    Mutant(
        rule="rotate-answers-201-with-a-new-key",
        breaks="each answer is marked as a replay",
        on=_ROTATE,
        change_answer=set_header("idempotency-replayed", "true"),
    ),
    Mutant(
        rule="rotate-refusals-change-nothing",
        breaks="a replay makes a further key",
        on=_ROTATE,
        wrap_serve=_minting_again,
    ),
    Mutant(
        rule="rotate-replay-needs-the-key",
        breaks="a rotation needs no valid key",
        on=_ROTATE,
        change_request=change_request_header("x-api-key", lambda key: key or "nobody"),
        replace_part=accept_any_key,
    ),
    Mutant(
        rule="rotate-again-is-409",
        breaks="capitals of an Idempotency-Key do not matter",
        on=_ROTATE,
        change_request=change_request_header("idempotency-key", lambda given: given and given.lower()),
    ),
    Mutant(
        rule="rotate-has-a-lane-of-its-own",
        breaks="usage runs in the lane of rotation",
        on=("usage",),
        replace_part=use_rotation_lane,
    ),
)
