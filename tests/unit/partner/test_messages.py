"""What is sent and what comes back, as values."""

from datetime import UTC, datetime

import pytest

from proofsweep.contract.headers import AnswerHeaders
from proofsweep.model.exchanges import Call, Exchange
from proofsweep.partner.messages import Reply, Request


def test_a_request_prints_no_secret() -> None:
    """URL, headers and content may hold slots, keys and audio."""
    request = Request(
        call=Call.VERIFY, method="POST", url="http://h/SECRET", headers={"h": "SECRET"}, content=b"SECRET"
    )

    assert "SECRET" not in f"{request!r}{request}"
    assert "verify" in repr(request)


def test_a_reply_prints_no_document() -> None:
    """A body may hold a new key."""
    exchange = Exchange(
        call=Call.ROTATE,
        attempt=1,
        started_at=datetime(2026, 11, 20, tzinfo=UTC),
        elapsed_ms=1.0,
        headers=AnswerHeaders(),
    )

    assert "SECRET" not in repr(Reply(exchange, {"apiKey": "SECRET"}))


@pytest.mark.parametrize(("document", "is_usable"), [(None, False), ({}, True), ([], True), (0, True), ("", True)])
def test_any_json_is_usable_unless_the_request_says_more(document: object, is_usable: bool) -> None:
    """An answer without any JSON is repeated; an answer without its parts is for the reader of the resource."""
    request = Request(call=Call.KEYS, method="GET", url="http://h/")

    assert (request.flaw(document) is None) is is_usable
