"""The later release: changes that the contract allows at any time (Versioning 2-3, Verdicts). Pure."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime

from proofsweep_sandbox.answers import Answer, json_answer
from proofsweep_sandbox.registry.proofs import Proof
from proofsweep_sandbox.seals.identity import Signer

# Contract, Versioning 3: breaking changes are announced at least 6 months ahead. 200 days are a little more.
_NOTICE_SECONDS = 200 * 86_400
_NEW_MEMBER = {"addedLater": {"since": "2.5.0", "list": [1, None, {"deep": True}]}}
_MAPS = frozenset({"fields"})  # its names are form fields, not fields of a resource

NEW_STATUSES = ("in_review", "retiring", "archived")
NEW_PERIOD = "QUARTER"
NEW_CLASSIFICATION = "co_performed"


def newer_verdict(verdict: str, registered: Proof | None, *, was_erased: bool) -> tuple[bool, str]:
    """Return `good` and a finer verdict, which contract 2.4.2 does not know."""
    if verdict == "valid" and registered is not None and registered.sealed_by is Signer.DEVICE:
        return True, "valid_device"
    if verdict == "unregistered" and (registered is not None or was_erased):
        return False, "pending" if registered is not None else "withdrawn"
    return verdict == "valid", verdict


def sunset_of(started_at: int) -> str:
    """Return the value of the `Sunset` header: when the old behaviour ends."""
    return format_datetime(datetime.fromtimestamp(started_at + _NOTICE_SECONDS, UTC), usegmt=True)


def with_new_members(answer: Answer) -> Answer:
    """Return the answer with a new member in each JSON object."""
    if answer.headers.get("content-type") != "application/json":
        return answer
    members = _with_new_member(json.loads(answer.body))
    return replace(answer, body=json_answer(members if isinstance(members, Mapping) else {}).body)


def _with_new_member(value: object) -> object:
    if isinstance(value, list):
        return [_with_new_member(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {**_NEW_MEMBER, **{name: each if name in _MAPS else _with_new_member(each) for name, each in value.items()}}
