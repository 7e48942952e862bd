"""Every row that some leg has finished counts, wherever it lies."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import PROOF_PREFIX, Mode, Row, sidecar_key
from proofsweep.domain.runs import Plan
from proofsweep.store.journal import Journal
from proofsweep.store.known_rows import AcceptedItem, AnswerTimes, PastAnswers, are_known_since
from proofsweep.store.latest import Latest, refresh
from proofsweep.store.legs import Legs
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results

from ...worlds.ended_runs import answered, end_leg, plan_of_run
from ..ended_operations import leave_operation, operation_named

NOTED, MISSED, KILLED = (plan_of_run(f"20261120T12{minute:02}00Z_000aa", 2) for minute in range(3))


@pytest.fixture
def three_runs(results: Results) -> Results:
    """A store with a leg in the base, one in the tail, and one whose process was killed."""
    end_leg(results, NOTED, [answered(NOTED, 0, "noted", audio_version="v1")])
    refresh(results)
    end_leg(results, MISSED, [answered(MISSED, 0, "missed", audio_version="v1")])
    results.write_plan(KILLED)
    Legs(results, KILLED).begin({})
    journal = Journal(results, KILLED.run_id, 1, "w")
    journal.add(answered(KILLED, 0, "killed", "rejected", audio_version="v1"), [])
    journal.flush()
    return results


@pytest.mark.parametrize(
    ("run", "items", "are_known"),
    [
        (NOTED, ["missed", "killed"], True),
        (NOTED, ["missed", "new"], False),
        (NOTED, ["noted"], False),  # by itself
        (MISSED, ["noted"], False),  # before
        (KILLED, [], False),  # nobody else has worked since
    ],
)
def test_only_other_runs_since_the_plan_answer_for_a_run(
    three_runs: Results, run: Plan, items: list[str], *, are_known: bool
) -> None:
    assert are_known_since(three_runs, run, items) is are_known


def test_what_was_answered_before_a_plan_is_not_known_since(results: Results) -> None:
    """However late its leg is settled; a later attempt that failed answers nothing."""
    early, late = plan_of_run("20261119T120000Z_000aa", 2), plan_of_run("20261121T120000Z_000aa")
    end_leg(results, late, [answered(late, 0, "b", "failed")])
    end_leg(results, early, [answered(early, 0, "a"), answered(early, 1, "b")])
    end_leg(results, late, [answered(late, 0, "c")], leg=2)

    assert not are_known_since(results, NOTED, ["a"])
    assert not are_known_since(results, NOTED, ["b"])
    assert are_known_since(results, NOTED, ["c"])


def test_the_newest_time_counts_in_whatever_order_legs_end(results: Results) -> None:
    early, late = plan_of_run("20261119T120000Z_000aa"), plan_of_run("20261121T120000Z_000aa")
    end_leg(results, late, [answered(late, 0, "a", audio_version="v1")])
    end_leg(results, early, [answered(early, 0, "a", audio_version="v1")])

    assert str(AnswerTimes(results, "beta", ("accepted",)).of("a", "v1", None)).startswith("2026-11-21")


def test_a_time_that_lies_ahead_hides_none_before_it(results: Results) -> None:
    right, ahead = plan_of_run("20261119T120000Z_000aa"), plan_of_run("20281121T120000Z_000aa")
    end_leg(results, right, [answered(right, 0, "a", audio_version="v1")])
    end_leg(results, ahead, [answered(ahead, 0, "a", audio_version="v1")])

    times = AnswerTimes(results, "beta", ("accepted",), datetime(2026, 11, 23, tzinfo=UTC))

    assert str(times.of("a", "v1", None)).startswith("2026-11-19")


NOW = datetime(2026, 11, 22, 12, 0, 0, 123456, tzinfo=UTC)


@pytest.fixture
def timed(results: Results) -> Results:
    """A store whose base holds answers and failures of two environments."""
    cells = [
        ("a", "beta", "accepted", None, 5),
        ("a", "beta", "failed", None, 1),
        ("a", "production", "accepted", None, 0),
        ("b", "beta", "rejected", "s1", 3),
        ("c", "beta", "failed", None, 2),
    ]
    rows = [
        answered(NOTED, number, item, outcome, environment=environment, finished_at=NOW - timedelta(days=days))
        | {"audio_version": "v1", "sidecar_version": version, "sidecar": version and "/drop/b.proof"}
        for number, (item, environment, outcome, version, days) in enumerate(cells)
    ]
    end_leg(results, NOTED, rows)
    refresh(results)
    return results


def test_the_newest_time_of_an_outcome_is_found(timed: Results) -> None:
    """Rows with other outcomes, of other environments and other versions do not count."""
    answered, tried = (
        AnswerTimes(timed, "beta", outcomes).of
        for outcomes in (("accepted", "rejected"), ("accepted", "rejected", "failed", "ineligible"))
    )

    assert answered("a", "v1", None) == NOW - timedelta(days=5)
    assert tried("a", "v1", None) == NOW - timedelta(days=1)
    assert answered("b", "v1", sidecar_key("b.proof", "s1")) == NOW - timedelta(days=3)
    assert answered("b", "v1", None) is None
    assert answered("b", "v1", sidecar_key("/drop/c.proof", "s1")) is None
    assert answered("b", "v2", sidecar_key("b.proof", "s1")) is None
    assert answered("b", None, sidecar_key("b.proof", "s1")) is None
    assert (answered("c", "v1", None), tried("c", "v1", None)) == (None, NOW - timedelta(days=2))


RUN = plan_of_run("20261121T120000Z_000aa", 3, environment="sandbox")


def digest_of(name: str) -> str:
    return name.encode().hex().rjust(64, "0")


def row_of(name: str, outcome: str = "accepted", **cells: object) -> Row:
    facts: Row = {"audio": f"/c/{name}", "audio_sha256": digest_of(name), "audio_bytes": 8, "mode": Mode.ONE_FILE}
    return facts | {"outcome": outcome, "accepted": outcome == "accepted"} | cells


def ran(results: Results, run_id: str, *rows: Row, leg: int = 1) -> None:
    """Leave an earlier run behind with these rows, which no base shows."""
    plan = plan_of_run(run_id, len(rows), environment="sandbox")
    end_leg(results, plan, [answered(plan, number, "i") | row for number, row in enumerate(rows)], leg=leg)


def knows(past: PastAnswers, *names: str) -> list[bool]:
    """Return which of these files were accepted, as one file each."""
    return [past.was_accepted(Mode.ONE_FILE, digest_of(name), None) for name in names]


def test_an_acceptance_of_any_run_counts(results: Results) -> None:
    """Whatever came later: a control says whether a refusal of the same bytes is right."""
    ran(results, "20261118T120000Z_000aa", row_of("a"), row_of("b"), row_of("c"))
    ran(results, "20261119T120000Z_000aa", row_of("a"), row_of("b", "rejected"), row_of("c"))
    ran(results, "20261120T120000Z_000aa", row_of("a", "rejected"), row_of("b", "failed"))

    assert knows(PastAnswers(results, RUN), "a", "b", "c", "d") == [True, True, True, False]


def test_the_same_bytes_are_known_by_another_name_and_not_in_another_mode(results: Results) -> None:
    """What was sent is compared, not what it was called."""
    pair = row_of("a", mode=Mode.LEGACY_PAIR, sidecar="/c/a.proof", sidecar_sha256=digest_of("proof"))
    ran(results, "20261120T120000Z_000aa", pair | {"audio": "/elsewhere/b"}, row_of("b"))
    past = PastAnswers(results, RUN)

    assert past.was_accepted(Mode.LEGACY_PAIR, digest_of("a"), digest_of("proof"))
    assert not past.was_accepted(Mode.LEGACY_PAIR, digest_of("a"), digest_of("other"))
    assert not past.was_accepted(Mode.LEGACY_PAIR, digest_of("b"), None)
    assert knows(past, "a", "b") == [False, True]


def test_an_accepted_file_can_be_sent_again(results: Results) -> None:
    """With its sidecar; not one that was not read, nor a proof, which has no file."""
    pair = row_of("b", mode=Mode.LEGACY_PAIR, sidecar="/c/b.proof", sidecar_sha256=digest_of("proof"))
    proof = row_of("p") | {"audio": f"{PROOF_PREFIX}p"}
    ran(results, "20261120T120000Z_000aa", row_of("a"), pair, row_of("c", audio_sha256=None), proof)

    found = sorted(PastAnswers(results, RUN).accepted())

    assert found == [
        AcceptedItem(8, "/c/a", None, digest_of("a"), None),
        AcceptedItem(8, "/c/b", "/c/b.proof", digest_of("b"), digest_of("proof")),
    ]
    assert [item.mode for item in found] == [Mode.ONE_FILE, Mode.LEGACY_PAIR]


def erasure_of(proof_id: str, at: datetime, **cells: object) -> Row:
    row: Row = {"operation_id": "x", "environment": "sandbox", "proof_id": proof_id, "asked_at": at, "answered_at": at}
    return row | {"outcome": "erased", "reason": None} | cells


def erase(results: Results, *rows: Row) -> None:
    results.create_part("erasures/run_date=2026-11-20/x.parquet", "erasures", list(rows))


@pytest.mark.parametrize("is_in_base", [False, True])
def test_an_acceptance_whose_proof_was_erased_since_says_nothing(results: Results, *, is_in_base: bool) -> None:
    """Its file is refused on our own demand. Another one's erasure that failed, or came before, changes nothing."""
    names = ("a", "b", "c", "d")
    ran(results, "20261120T120000Z_000aa", *(row_of(name, proof_id=f"p-{name}", item_id=name) for name in names))
    if is_in_base:
        refresh(results)
    later, earlier = NOW + timedelta(days=400), NOW - timedelta(days=400)
    failed = erasure_of("p-b", later, outcome=None, reason="timeout")
    elsewhere = erasure_of("p-d", later, environment="beta")
    erase(results, erasure_of("p-a", later), failed, erasure_of("p-c", earlier), elsewhere)

    past = PastAnswers(results, RUN)

    assert sorted(item.audio for item in past.accepted()) == ["/c/b", "/c/c", "/c/d"]
    assert knows(past, *names) == [False, True, True, True]
    assert sorted(Latest(results).answers("sandbox", names, ["outcome"])) == ["b", "c", "d"]


def test_an_erasure_that_was_killed_counts_by_its_journal(results: Results) -> None:
    """The proof is gone, though no part says it yet."""
    ran(results, "20261120T120000Z_000aa", row_of("a", proof_id="p-a", item_id="a"))
    operation = operation_named("20261121T120000Z_000aa", "erasure", "sandbox")
    leave_operation(
        results, operation, rows={"erasures": [erasure_of("p-a", NOW + timedelta(days=400))]}, is_killed=True
    )

    assert Latest(results).answers("sandbox", ["a"], ["outcome"]) == {}


def test_what_was_erased_since_the_answers_were_read_is_known(results: Results) -> None:
    """A check must not send such a file: its refusal speaks of no registry."""
    ran(results, "20261120T120000Z_000aa", row_of("b", proof_id="p-b", item_id="b"))
    past = PastAnswers(results, RUN)
    assert [item.proof_id for item in past.accepted()] == ["p-b"]

    results.create_part("erasures/run_date=2026-11-20/y.parquet", "erasures", [erasure_of("p-b", NOW)])

    assert past.erased() == ["p-b"]


def test_files_that_earlier_legs_read_are_named(results: Results) -> None:
    """The last leg's first; a file without a digest was not read to its end, whatever its answer."""
    ran(results, RUN.run_id, row_of("a"), row_of("b", "rejected"), row_of("c", "failed", audio_sha256=None))
    ran(results, RUN.run_id, row_of("d"), leg=2)
    ran(results, "20261120T120000Z_000aa", row_of("e"))
    past = PastAnswers(results, RUN)

    assert past.files_read(1) == ["/c/d"]
    assert sorted(past.files_read(9)) == ["/c/a", "/c/b", "/c/d"]


def test_a_damaged_base_is_no_reason_to_stop(results: Results) -> None:
    """It is derived: the rows of this run are read instead."""
    ran(results, "20261119T120000Z_000aa", row_of("a"))
    refresh(results)
    ran(results, RUN.run_id, row_of("b"))
    for file in Path(results.store.url, "_latest").glob("*.parquet"):
        file.write_bytes(b"PAR1")

    assert knows(PastAnswers(results, RUN), "a", "b") == [False, True]


class SlowlyFailingStore(FolderStore):
    """A store that is away, which shows after a while; it counts how often it was asked."""

    asked = 0

    def read(self, name: str) -> bytes | None:
        """Fail as a bucket does whose requests are tried again for some time."""
        self.asked += 1
        time.sleep(0.5)
        raise ResultsError(f"{name} cannot be read.")


def test_threads_that_wait_for_a_store_do_not_all_ask_it_once_it_failed(tmp_path: Path) -> None:
    """Else the hundredth thread of a leg ends half an hour after the store went away."""
    store = SlowlyFailingStore(tmp_path)
    past = PastAnswers(Results(store), RUN)
    with ThreadPoolExecutor(12) as threads:
        asked = [threads.submit(past.was_accepted, Mode.ONE_FILE, digest_of("a"), None) for _ in range(12)]

        assert {type(each.exception()) for each in asked} == {ResultsError}
    assert store.asked < 6
