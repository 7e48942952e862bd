"""Faults of the response: they change a finished answer. Pure."""

import json
from collections.abc import Iterable
from dataclasses import replace

from proofsweep_sandbox.answers import Answer, json_answer
from proofsweep_sandbox.faults.rules import Fault, FaultKind

_PAGE = b"<!doctype html><title>Service Unavailable</title><h1>We will be back soon</h1>"


def with_faults(answer: Answer, faults: Iterable[Fault]) -> Answer:
    """Apply the faults to an answer; faults of the connection are applied in the pipeline."""
    for fault in faults:
        answer = _with_headers_of(fault, _with_body_of(fault, answer))
    return answer


def _with_body_of(fault: Fault, answer: Answer) -> Answer:
    match fault.kind:
        case FaultKind.ANSWER:
            return _with_members(answer, fault)
        case FaultKind.OVERSIZED:
            return _with_members(answer, fault.model_copy(update={"answer": {"padding": "x" * fault.size_bytes}}))
        case FaultKind.NOT_JSON:
            return replace(answer, body=_PAGE, file=None, headers={**answer.headers, "content-type": "text/html"})
        case FaultKind.CUT_JSON:
            return replace(answer, body=answer.body[: len(answer.body) // 2])
        case _:
            return answer


def _with_members(answer: Answer, fault: Fault) -> Answer:
    """Set and remove members of a success; an error is not changed."""
    if answer.status >= 300 or not answer.body:  # noqa: PLR2004 - no success
        return answer
    members = {**json.loads(answer.body), **fault.answer}
    kept = {name: value for name, value in members.items() if name not in fault.without}
    return replace(answer, body=json_answer(kept).body)


def _with_headers_of(fault: Fault, answer: Answer) -> Answer:
    changes = {name.lower(): value for name, value in fault.headers.items()}
    kept = {name: value for name, value in answer.headers.items() if name not in changes}
    new = {name: value for name, value in changes.items() if value is not None}
    return replace(answer, headers={**kept, **new})
