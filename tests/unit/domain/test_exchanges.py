"""What one exchange and its headers mean: success, charge, throttle, waits, and whether an outage may be the cause."""

from datetime import UTC, datetime

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofsweep.domain.exchanges import SLOT_BYTES, AnswerHeaders, Call, is_transient

from ..left_behind import exchange


def test_all_calls_but_three_carry_the_key() -> None:
    """Health is public; slot and download go to other hosts (contract, Authentication 2)."""
    assert {call for call in Call if not call.is_keyed} == {Call.HEALTH, Call.SLOT, Call.DOWNLOAD}


@pytest.mark.parametrize(
    ("call", "status", "is_throttled"),
    [(Call.VERIFY, 429, True), (Call.SLOT, 429, False), (Call.HEALTH, 429, False), (Call.VERIFY, 503, False)],
)
def test_only_the_service_throttles(call: Call, status: int, is_throttled: bool) -> None:
    """A busy storage target does not know the limit of the key. A 429 shows that the service is up."""
    assert exchange(call, status).is_throttled is is_throttled
    assert is_transient(exchange(call, status)) is not is_throttled


NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
NAMES = [
    "Retry-After",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "Date",
    "Sunset",
    "X-Request-Id",
    "x-amzn-requestid",
]
NEARLY_RIGHT = st.from_regex(r"[-+ ]?[0-9_.,eE]{1,25}\Z") | st.datetimes().map(
    lambda moment: moment.strftime("%a, %d %b %Y %H:%M:%S -2359")
)


def read(**headers: str) -> AnswerHeaders:
    return AnswerHeaders.read(httpx.Headers({name.replace("_", "-"): text for name, text in headers.items()}), now=NOW)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("7", 7.0),
        (" 7 ", 7.0),
        ("1.5", 1.5),
        ("86400", 86_400.0),
        ("Fri, 20 Nov 2026 12:00:30 GMT", 30.0),
        ("Fri, 20 Nov 2026 11:00:00 GMT", 0.0),
        ("4, 4", 4.0),
        ("4,600,", 600.0),
        ("Fri, 20 Nov 2026 12:00:30 GMT, Fri, 20 Nov 2026 12:00:30 GMT", 30.0),
        ("-1", None),
        ("inf", None),
        ("nan", None),
        ("9" * 400, None),
        ("1795176000", None),
        ("soon", None),
        ("", None),
        ("\N{ARABIC-INDIC DIGIT SEVEN}", None),
        ("Fri, 31 Dec 9999 23:59:59 -2300", None),
    ],
)
def test_retry_after_is_a_duration(text: str, seconds: float | None) -> None:
    """It holds seconds or an HTTP date; an epoch second there is a mistake and is ignored."""
    assert AnswerHeaders.read({"retry-after": text}, now=NOW).retry_after_seconds == seconds


def test_a_retry_date_is_measured_by_the_partner_s_own_clock() -> None:
    """A difference between the partner's clock and ours does not change the wait."""
    headers = read(retry_after="Fri, 20 Nov 2026 12:00:30 GMT", date="Fri, 20 Nov 2026 12:00:20 GMT")

    assert headers.retry_after_seconds == 10.0


def test_the_reset_is_an_instant_and_the_limit_a_plain_count() -> None:
    headers = read(x_ratelimit_reset="1795176000", x_ratelimit_limit="100000", x_ratelimit_remaining="0")

    assert headers.rate_reset == datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
    assert (headers.rate_limit, headers.rate_remaining) == (100_000, 0)


def test_a_headroom_below_zero_is_none_left() -> None:
    """Other users of the key were let through beyond the quota; nobody goes on as if nothing were known of it."""
    assert read(x_ratelimit_remaining="-3").rate_remaining == 0
    assert read(x_ratelimit_reset="-3").rate_reset is None


def test_of_a_header_that_a_gateway_repeats_the_safest_value_counts() -> None:
    """Without one, a reserve would not be kept, and a call would be sent again in the wait that was asked for."""
    names = "Retry-After", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Idempotency-Replayed"
    said = [("5", "100", "7", "1795176000", "true"), ("600", "90", "12", "1795176009", "true")]
    lines = [(name, text) for texts in said for name, text in zip(names, texts, strict=True)]

    headers = AnswerHeaders.read(dict(httpx.Headers(lines).items()), now=NOW)

    assert (headers.retry_after_seconds, headers.rate_limit, headers.rate_remaining) == (600.0, 90, 7)
    assert headers.rate_reset == datetime(2026, 11, 20, 12, 0, 9, tzinfo=UTC)
    assert headers.is_replay


@pytest.mark.parametrize(
    "junk", ["", "many", "5; 5", "--5", "1.5", "0x10", "1_000", "\N{ARABIC-INDIC DIGIT THREE}", "9" * 19, "9" * 5_000]
)
def test_a_malformed_count_is_absent(junk: str) -> None:
    """Only plain digits that fit 64 bits get into the tables."""
    headers = AnswerHeaders.read(dict.fromkeys(("x-ratelimit-remaining", "x-ratelimit-reset"), junk), now=NOW)

    assert (headers.rate_remaining, headers.rate_reset) == (None, None)


@pytest.mark.parametrize(
    ("headers", "request_id"),
    [
        ({"X-Request-Id": "a-1", "x-amzn-RequestId": "b-2"}, "a-1"),
        ({"x-amzn-requestid": "b-2"}, "b-2"),
        ({"X-Request-Id": "  ", "x-amzn-requestid": "b-2"}, "b-2"),
        ({"X-Request-Id": "a" * 5_000}, "a" * 200),
        ({}, None),
    ],
)
def test_the_request_id_has_two_names(headers: dict[str, str], request_id: str | None) -> None:
    """X-Request-Id comes first, then x-amzn-requestid; a long one is cut."""
    assert AnswerHeaders.read(httpx.Headers(headers), now=NOW).request_id == request_id


@given(st.dictionaries(st.sampled_from([name.lower() for name in NAMES]), NEARLY_RIGHT | st.text()))
def test_no_header_raises(headers: dict[str, str]) -> None:
    """Headers are read on every exchange, and a malformed header must not end the exchange."""
    read_headers = AnswerHeaders.read(headers, now=NOW)

    assert read_headers.retry_after_seconds is None or read_headers.retry_after_seconds >= 0
    assert all(0 <= (count or 0) < 2**63 for count in (read_headers.rate_limit, read_headers.rate_remaining))


def test_the_slot_takes_65_mebibytes_and_not_65_million_bytes() -> None:
    """A file between the two numbers must not be refused."""
    assert SLOT_BYTES == 68_157_440
