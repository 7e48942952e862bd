"""Rotate the key once for all checks, replay the answer, and save each new secret before anything else."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from partner_conformance.assertions import rooted, success_members, text_of
from partner_conformance.definition import Check, Risk, check
from partner_conformance.new_key_file import NewKeyFile
from partner_conformance.operations import ROTATE
from partner_conformance.replies import NotTried, Reply
from partner_conformance.snapshot import CALLS, snapshot
from partner_conformance.subject import Rotation, Subject


def rotating(calls: int, *needs: str) -> Callable[[Callable[[Subject], None]], Check]:
    """Make a check that rotates the key, beside its calls with those that read the state before."""
    return check(calls=calls + 1 + CALLS, needs=("new_key_file", *needs), risk=Risk.ROTATES)


def rotation_of(service: Subject) -> Rotation:
    """Rotate the key, once for all checks; the keys before it are listed first."""
    if service.rotation is None:
        _ = service.key_ids
        before = snapshot(service)
        reply = request_rotation(service, _new_keys(service).idempotency_key)
        with rooted(str(ROTATE)):
            members = success_members(reply)
            text_of(members, "apiKey", reply)
        service.rotation = Rotation(reply=reply, members=members, before=before, completed_at=time.time())
    return service.rotation


def replay_of(service: Subject, *, waits: bool = True) -> Reply:
    """Repeat the rotation's call."""
    rotation_of(service)
    return request_rotation(service, _new_keys(service).idempotency_key, waits=waits)


def request_rotation(service: Subject, idempotency_key: str | None, *, key: str = "", waits: bool = True) -> Reply:
    """Request a rotation; save any secret in the reply before anything else."""
    new_key_file = _new_keys(service)
    new_key_file.begin()
    headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
    reply = service.wire.ask(ROTATE, key=key, headers=headers, waits=waits)
    if isinstance(secret := reply.members.get("apiKey"), str) and secret:
        service.new_secrets.add(secret)
        new_key_file.save(secret)
    return reply


def rotate_twice_at_once(service: Subject, key: str) -> list[Reply]:
    """Rotate a key twice at the same time, with one Idempotency-Key."""
    idempotency_key = f"{_new_keys(service).idempotency_key}-at-once"
    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(request_rotation, service, idempotency_key, key=key) for _ in range(2)]
    replies = [call.result() for call in calls]
    for secret in {str(reply.members["apiKey"]) for reply in replies if reply.status == ROTATE.success}:
        _new_keys(service).put_first(secret)
    return replies


def replay_needs_its_key(service: Subject, key: str | None) -> Reply:
    """Repeat the rotation's call with another key, or with none."""
    rotation_of(service)
    headers = {"Idempotency-Key": _new_keys(service).idempotency_key}
    return service.wire.ask(ROTATE, key=key, headers=headers)


def idempotency_key_of(service: Subject) -> str:
    """Return the Idempotency-Key of the rotation."""
    return _new_keys(service).idempotency_key


def _new_keys(service: Subject) -> NewKeyFile:
    if service.new_key_file is None:
        raise NotTried("needs --new-key-file")
    return service.new_key_file
