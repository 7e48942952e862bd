"""What a browser sends with a form."""

import asyncio

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message

from proofsweep.answers.serve.forms import form_of


def form_in(*portions: bytes) -> dict[str, str]:
    """Read a form that comes in portions."""
    messages: list[Message] = [{"type": "http.request", "body": each, "more_body": True} for each in portions]
    messages.append({"type": "http.request", "body": b"", "more_body": False})

    async def receive() -> Message:
        return messages.pop(0)

    return asyncio.run(form_of(Request({"type": "http", "method": "POST", "headers": []}, receive)))


def test_fields_are_read_as_text() -> None:
    """Of a field that is given twice the first counts; what is no UTF-8 is replaced."""
    assert form_in(b"words=a+%C3%A9", b"&next=%2Fruns&next=x") == {"words": "a é", "next": "/runs"}
    assert form_in(b"words=%FF") == {"words": "\ufffd"}
    assert form_in(b"&&") == {}


def test_a_large_form_is_refused_before_it_has_ended() -> None:
    """Nobody fills the memory."""
    with pytest.raises(HTTPException) as refused:
        form_in(*[b"words=" + b"x" * 1_000] * 5)

    assert refused.value.status_code == 413
