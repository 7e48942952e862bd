"""A file or a run is explained from the store alone."""

from datetime import UTC, datetime

import pytest

from proofsweep import __version__
from proofsweep.domain.exchanges import CONTRACT_VERSION
from proofsweep.domain.items import Row
from proofsweep.queries.search import Standing, searching
from proofsweep.reports.explain import json_of, lines_of, packet_of
from proofsweep.store import layout
from proofsweep.store.parts import Results
from proofsweep.store.rows import empty_row

from ...worlds.ended_runs import answered, end_leg, exchange, plan_of_run

PLAN = plan_of_run("20261120T025900Z_000aa", items=2)
LISTED = dict.fromkeys(("beta", "production", "sandbox"), Standing("rejected", None))


def verdict_of(**cells: object) -> Row:
    return empty_row("verdicts") | answered(PLAN, 1, "a", **cells)


def test_a_rejected_file_says_what_to_do() -> None:
    rejected = verdict_of(outcome="rejected", verdict="tampered", reason="tampered", detail="Because.")
    calls = [exchange(PLAN, 1, request_id="r-1"), exchange(PLAN, 0, request_id="of another row")]

    assert list(lines_of([rejected, rejected | {"leg": 2, "manifest_row": 7}], calls, LISTED, {})) == [
        "/c/a",
        "  item a, in 2 rows",
        "  newest: rejected · tampered, 2026-11-20 02:59 UTC",
        "  open since 2026-11-20 02:59 UTC, in 2 rows; never accepted before",
        "  what to do: reject, and ask the supplier for the untouched original delivery",
        "",
        f"run {PLAN.run_id} (beta): rejected · tampered, 2026-11-20 02:59 UTC",
        "  Because.",
        "  2026-11-20 02:59:00  verify   200  1,500 ms  r-1",
        "",
        f"run {PLAN.run_id} (beta): rejected · tampered, 2026-11-20 02:59 UTC",
        "  Because.",
        "  no call was made",
    ]


def test_a_file_is_open_since_the_first_row_after_its_last_accepted_one() -> None:
    """Whatever the rows between say; another environment says nothing of it. An accepted file is not open."""
    accepted, failed = verdict_of(), verdict_of(outcome="failed", reason="timeout")
    rejected = verdict_of(outcome="rejected", reason="tampered", finished_at=datetime(2026, 11, 2, tzinfo=UTC))

    lines = list(
        lines_of([failed, accepted | {"environment": "production"}, rejected, accepted, rejected], [], LISTED, {})
    )

    assert lines[3] == "  open since 2026-11-02 00:00 UTC, in 2 rows; accepted before"
    assert not [line for line in lines_of([accepted, rejected], [], LISTED, {}) if "open since" in line]


def test_the_object_for_programs_says_what_to_do_now_alone() -> None:
    """An older row asks nobody for anything; nor does the newest one of a file that was moved since."""
    old, new = verdict_of(outcome="rejected", reason="tampered", run_id="OLD"), verdict_of(run_id="NEW")
    moved = json_of([old], [], {"beta": Standing("moved", "b.wav")}, {})

    (now, before) = json_of([new, old], [], LISTED, {})["runs"]  # type: ignore[misc]  # a list of two

    assert (now["what_to_do"], before["what_to_do"]) == (
        "accept the credential",
        "nothing: the row of run NEW counts instead of this one",
    )
    assert "its bytes are b.wav now" in str(moved["runs"])


def test_each_environment_has_its_own_newest_answer() -> None:
    rejected = verdict_of(outcome="rejected", verdict="tampered", reason="tampered", environment="beta")
    accepted = verdict_of(outcome="accepted", verdict="valid", environment="production")

    lines = list(lines_of([rejected, accepted], [], LISTED, {}))

    assert lines[2].startswith("  newest in beta: rejected · tampered")
    assert lines[4].startswith("  newest in production: accepted · valid")
    assert lines[3].startswith("  what to do in beta: reject")


@pytest.mark.parametrize(
    ("standing", "what_to_do"),
    [
        ({}, "nothing: no catalog that counts lists it"),
        ({"beta": Standing("gone", None)}, "nothing: its catalog lists it no more"),
        ({"beta": Standing("moved", "new/a.wav")}, "nothing: it is listed no more; its bytes are new/a.wav now"),
    ],
)
def test_nobody_is_asked_for_a_file_that_no_catalog_has(standing: dict[str, Standing], what_to_do: str) -> None:
    rejected = verdict_of(outcome="rejected", verdict="tampered", reason="tampered", environment="beta")

    assert list(lines_of([rejected], [], standing, {}))[3] == f"  what to do: {what_to_do}"


def test_an_answer_of_the_same_bytes_is_named() -> None:
    """The calls that follow are those of the other row."""
    lines = list(lines_of([verdict_of(answered_by_row=0)], [exchange(PLAN, 0, request_id="r-1")], LISTED, {}))

    assert "  The answer is that of another row, which has the same bytes; its calls:" in lines
    assert lines[-1].endswith("r-1")


def packet(results: Results, *calls: Row) -> str:
    end_leg(results, PLAN, [answered(PLAN, 0, "a")])
    results.create_part(layout.part_name("exchanges", PLAN.run_id, PLAN.run_date, 0, 1), "exchanges", list(calls))
    with searching(results) as search:
        return packet_of(search.kinds_of_failed_calls(PLAN.run_id))


def test_failed_calls_are_grouped_by_endpoint_answer_and_hour(results: Results) -> None:
    """No usable answer is a failure, whatever the status says."""
    text = packet(
        results,
        exchange(PLAN, 0, "uploads", 0, status=503, error_code="unavailable", request_id="one"),
        exchange(PLAN, 1, "uploads", 30, status=503, error_code="unavailable", request_id="two"),
        exchange(PLAN, 1, "uploads", 40, request_id="a success"),
        exchange(PLAN, 1, "uploads", 90, status=503, error_code="unavailable", request_id="later"),
        exchange(PLAN, 2, "verify", 5, status=None, failure="timeout", bytes_sent=4096),
        exchange(PLAN, 2, "verify", 99, status=200, failure="bad_answer", request_id="odd"),
    )

    assert text == (
        f"Calls to look up. Contract {CONTRACT_VERSION}, client proofsweep {__version__}. All times are UTC.\n"
        "\n"
        "POST /uploads: 503 unavailable. 2 calls, 2026-11-20 02:59:00 to 02:59:30; beta\n"
        "  02:59:00  one\n"
        "  02:59:30  two\n"
        "\n"
        "POST /verify: no answer in time. 1 call, 2026-11-20 02:59:05; beta\n"
        "  02:59:05  no request ID; 4,096 bytes sent, after 1.5 s\n"
        "\n"
        "POST /uploads: 503 unavailable. 1 call, 2026-11-20 03:00:30; beta\n"
        "  03:00:30  later\n"
        "\n"
        "POST /verify: 200 unusable answer. 1 call, 2026-11-20 03:00:39; beta\n"
        "  03:00:39  odd\n"
    )


def test_ten_calls_of_a_kind_are_named(results: Results) -> None:
    """The others are counted; those with a request ID come first."""
    lost = [exchange(PLAN, 0, second=second, status=500) for second in range(3)]
    named = [exchange(PLAN, 0, second=second, status=500, request_id=f"r{second}") for second in range(3, 15)]

    lines = packet(results, *lost, *named).splitlines()

    assert [line.split()[-1] for line in lines[3:13]] == [f"r{second}" for second in range(3, 13)]
    assert lines[13] == "  and 5 more"


def test_what_the_partner_wrote_cannot_forge_a_line(results: Results) -> None:
    text = packet(results, exchange(PLAN, 0, status=500, error_code="a\nPOST /verify: 200", request_id="x\ny"))

    assert "a\\nPOST" in text
    assert "x\\ny" in text
    assert len(text.splitlines()) == 4
