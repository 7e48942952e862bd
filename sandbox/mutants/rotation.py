"""Mutants of rotation."""

from sandbox.answers import Answer
from sandbox.mutants.broken_parts import refuse_new_key, refuse_old_key, use_rotation_lane
from sandbox.mutants.changes import Members, change_request_header, change_status, change_success, set_header
from sandbox.mutants.definition import Mutant
from sandbox.routing import Exchange
from sandbox.service import Service

# The unit in which the mutant shortens the grace window.
_DAY_SECONDS = 86_400


def _with_another_secret(service: Service, exchange: Exchange, answer: Answer) -> Answer:
    is_replay = "idempotency-replayed" in answer.headers
    return change_success(_another_secret)(service, exchange, answer) if is_replay else answer


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
        rule="rotate-bounds-the-idempotency-key",
        breaks="15 characters are accepted",
        on=_ROTATE,
        change_request=change_request_header("idempotency-key", lambda given: given and given.ljust(16, "0")),
    ),
    Mutant(
        rule="rotate-bounds-the-idempotency-key",
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
        rule="rotate-tells-the-quota",
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
        rule="rotate-marks-the-replay",
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
        rule="rotate-old-key-keeps-working",
        breaks="a rotated key is refused at once",
        on=("usage",),
        replace_part=refuse_old_key,
    ),
    Mutant(
        rule="rotate-new-key-works-on-the-same-plan",
        breaks="the new key is refused",
        on=("usage",),
        replace_part=refuse_new_key,
    ),
    Mutant(
        rule="rotate-has-a-lane-of-its-own",
        breaks="usage runs in the lane of rotation",
        on=("usage",),
        replace_part=use_rotation_lane,
    ),
)
