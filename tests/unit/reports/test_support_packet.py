"""A packet names calls by what the partner's support can look up, and nothing else."""

import pytest

from proofsweep import __version__
from proofsweep.domain.headers import CONTRACT_VERSION
from proofsweep.reports.explain import packet_of

from ...worlds.ended_runs import plan_of_run
from ...worlds.exchange_rows import exchange

PLAN = plan_of_run("20261120T025900Z_000aa")


def packet(*calls: dict[str, object]) -> str:
    return packet_of([(PLAN, calls)])


def test_calls_are_grouped_by_endpoint_answer_and_hour() -> None:
    """Two kinds of answers, and one of them in two hours."""
    text = packet(
        exchange(PLAN, 0, "uploads", 0, status=503, error_code="unavailable", request_id="one"),
        exchange(PLAN, 1, "uploads", 30, status=503, error_code="unavailable", request_id="two"),
        exchange(PLAN, 1, "uploads", 90, status=503, error_code="unavailable", request_id="later"),
        exchange(PLAN, 2, "verify", 5, status=None, failure="timeout", bytes_sent=4096),
    )

    assert text == (
        f"Calls to look up. Contract {CONTRACT_VERSION}, client proofsweep {__version__}. All times are UTC.\n"
        "\n"
        "POST /uploads: 503 unavailable. 2 calls, 2026-11-20 02:59:00 to 02:59:30; partner.example (beta)\n"
        "  02:59:00  one\n"
        "  02:59:30  two\n"
        "\n"
        "POST /verify: no answer in time. 1 call, 2026-11-20 02:59:05; partner.example (beta)\n"
        "  02:59:05  no request ID; 4,096 bytes sent, after 1.5 s\n"
        "\n"
        "POST /uploads: 503 unavailable. 1 call, 2026-11-20 03:00:30; partner.example (beta)\n"
        "  03:00:30  later\n"
    )


def test_ten_calls_of_a_kind_are_named() -> None:
    """The others are counted; those with a request ID come first."""
    lost = [exchange(PLAN, 0, second=second, status=500) for second in range(3)]
    named = [exchange(PLAN, 0, second=second, status=500, request_id=f"r{second}") for second in range(3, 15)]

    lines = packet(*lost, *named).splitlines()

    assert [line.split()[-1] for line in lines[3:13]] == [f"r{second}" for second in range(3, 13)]
    assert lines[13] == "  and 5 more"


def test_what_the_partner_wrote_cannot_forge_a_line() -> None:
    """Neither an error code nor a request ID."""
    text = packet(exchange(PLAN, 0, status=500, error_code="a\nPOST /verify: 200", request_id="x\ny"))

    assert "a\\nPOST" in text
    assert "x\\ny" in text
    assert len(text.splitlines()) == 4


def test_no_calls_make_no_packet() -> None:
    """There is nothing to paste."""
    assert packet() == ""


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({"status": 200}, "200"),
        ({"status": 429, "error_code": "RATE"}, "429 RATE"),
        ({"status": 200, "failure": "bad_answer"}, "200 unusable answer"),
        ({"status": None, "failure": "connection"}, "connection broken"),
        ({"status": None}, "no answer"),
    ],
)
def test_an_answer_has_few_words(cells: dict[str, object], words: str) -> None:
    """Its status and code, or why it cannot be used."""
    assert f": {words}. 1 call," in packet(exchange(PLAN, 0, **cells))
