"""A file or a run is explained from the store alone."""

from dataclasses import asdict
from datetime import UTC, datetime, timedelta

from proofsweep import __version__
from proofsweep.domain.headers import CONTRACT_VERSION
from proofsweep.operations.erase import Erasure
from proofsweep.queries.search import Occurrence
from proofsweep.reports.explain import (
    json_of_item,
    lines_of,
    packet_of,
)
from proofsweep.store.rows import empty_row

from ...worlds.ended_runs import answered, plan_of_run
from ...worlds.exchange_rows import exchange

OLD, NEW = (plan_of_run(f"202611{day}T020000Z_000aa", items=2) for day in (19, 20))
RUN = plan_of_run("20261120T025900Z_000aa")


def occurrence_of(**cells: object) -> Occurrence:
    row = empty_row("verdicts") | answered(OLD, 1, "a", **cells)
    return Occurrence(plan=OLD, manifest_row=1, row=row, exchanges=[exchange(OLD, 1, request_id="r-1")])


def test_a_rejected_file_says_what_to_do() -> None:
    """The newest run has no answer yet; the answer before it counts."""
    remains = Occurrence(plan=NEW, manifest_row=0, row=None, exchanges=[])
    rejected = occurrence_of(outcome="rejected", verdict="tampered", reason="tampered", detail="Because.")

    lines = list(lines_of("a", [remains, rejected]))

    assert lines == [
        "/c/a",
        "  item a, in 2 runs",
        "  newest: rejected · tampered, 2026-11-19 02:00 UTC",
        "  what to do: reject, and ask the supplier for the untouched original delivery",
        "",
        f"run {NEW.run_id} (beta): remains: no outcome yet",
        "  no call was made",
        "",
        f"run {OLD.run_id} (beta): rejected · tampered, 2026-11-19 02:00 UTC",
        "  Because.",
        "  2026-11-19 02:00:00  verify   200  1,500 ms  r-1",
    ]


def test_an_answer_of_the_same_bytes_is_named() -> None:
    """The calls that follow are those of the other row."""
    lines = list(lines_of("a", [occurrence_of(answered_by_row=0)]))

    assert "  The answer is that of another row, which has the same bytes; its calls:" in lines


def test_a_proof_that_was_erased_by_us_explains_a_later_unregistered() -> None:
    """An answer from before the erasure has another cause."""
    at = datetime(2026, 11, 19, 1, tzinfo=UTC)
    erasure = asdict(Erasure(proof_id="p1", asked_at=at, answered_at=at, outcome="erased", request_id="r-9"))
    later = erasure | {"asked_at": at + timedelta(days=1)}
    rejected = occurrence_of(outcome="rejected", verdict="unregistered", reason="unregistered")

    explained, unexplained = (list(lines_of("a", [rejected], [row])) for row in (erasure, later))

    assert explained[3].startswith("  what to do: nothing: its proof was erased by us")
    assert explained[4] == "  erased by us: proof p1, erased, 2026-11-19 01:00 UTC, r-9"
    assert "nothing" not in unexplained[3]
    assert json_of_item("a", [rejected], [erasure])["erasures"] == [erasure]


def packet(*calls: dict[str, object]) -> str:
    return packet_of([(RUN, calls)])


def test_calls_are_grouped_by_endpoint_answer_and_hour() -> None:
    """Two kinds of answers, and one of them in two hours."""
    text = packet(
        exchange(RUN, 0, "uploads", 0, status=503, error_code="unavailable", request_id="one"),
        exchange(RUN, 1, "uploads", 30, status=503, error_code="unavailable", request_id="two"),
        exchange(RUN, 1, "uploads", 90, status=503, error_code="unavailable", request_id="later"),
        exchange(RUN, 2, "verify", 5, status=None, failure="timeout", bytes_sent=4096),
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
    lost = [exchange(RUN, 0, second=second, status=500) for second in range(3)]
    named = [exchange(RUN, 0, second=second, status=500, request_id=f"r{second}") for second in range(3, 15)]

    lines = packet(*lost, *named).splitlines()

    assert [line.split()[-1] for line in lines[3:13]] == [f"r{second}" for second in range(3, 13)]
    assert lines[13] == "  and 5 more"


def test_what_the_partner_wrote_cannot_forge_a_line() -> None:
    """Neither an error code nor a request ID."""
    text = packet(exchange(RUN, 0, status=500, error_code="a\nPOST /verify: 200", request_id="x\ny"))

    assert "a\\nPOST" in text
    assert "x\\ny" in text
    assert len(text.splitlines()) == 4
