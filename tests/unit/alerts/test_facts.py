"""What is told of ends, read from the store."""

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.alerts.facts import AlertFacts, alerts_of_run
from proofsweep.alerts.rules import (
    QUOTA_IS_SPENT,
    Alert,
    FlowEnd,
    over_if_it_works,
    over_without_failures,
    over_without_rows,
    state_after_error,
    title_of_error,
)
from proofsweep.alerts.send import Memory, name_of
from proofsweep.config.sections import CatalogSettings
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import Row
from proofsweep.domain.runs import Plan, new_run_id
from proofsweep.ingest.pass_report import PassReport
from proofsweep.ingest.rules import Decision
from proofsweep.queries.status import describe_run
from proofsweep.store import layout
from proofsweep.store.journal import Journal
from proofsweep.store.parts import Results

from ...worlds.core import StoredRun
from ...worlds.ended_runs import answered, end_leg, plan_of_run
from ..ended_operations import call_of, operation_named
from ..passes_of_monitoring import leave_pass
from .conftest import NOW, OLD, leave_rotation, rotation


def at(hours: float) -> datetime:
    return NOW - timedelta(hours=hours)


def add_run(results: Results, planned: datetime, *, catalog: str = "music", environment: str = "beta") -> Plan:
    plan = plan_of_run(new_run_id(planned, "aaa"), 4, catalog=catalog, environment=environment)
    results.write_plan(plan)
    return plan


def add_leg(results: Results, plan: Plan, ended: datetime, **counts: object) -> None:
    run = StoredRun(results, plan)
    ended_by = str(counts.pop("ended_by", "complete"))
    run.write_receipt(run.take(), ended_by, counts={"finished_at": ended, "accepted": 4} | counts)


def last_success(facts: AlertFacts, catalog: str | None = "music") -> datetime | None:
    """Return when the alert says that the last run ended; nobody waits for the next one here."""
    impatient = facts.settings.model_copy(update={"no_success_hours": 1.0})
    (alert,) = replace(facts, settings=impatient).no_success(catalog)
    said = alert.body.partition("ended: ")[2].partition(" UTC.")[0]
    return datetime.fromisoformat(said).replace(tzinfo=NOW.tzinfo)


def test_the_last_leg_that_did_its_work_counts(facts: AlertFacts, results: Results) -> None:
    """Not a later one that an outage ended, nor one of another environment, nor of another catalog if one is named."""
    add_leg(results, add_run(results, at(60)), at(55), ended_by="quota")
    add_leg(results, add_run(results, at(40)), at(39), ended_by="breaker")
    add_leg(results, add_run(results, at(10), catalog="deliveries"), at(9))
    add_leg(results, add_run(results, at(8), environment="production"), at(7))

    assert (last_success(facts), last_success(facts, None)) == (at(55), at(9))


@pytest.mark.parametrize(
    ("legs", "last"),
    [
        ([(100, 90, 3), (200, 40, 0), (31, 30, 4)], 40),  # one was resumed late, and of the newest all rows failed
        ([(9_001, 9_000, 0)], 9_000),  # its schedule was paused for months
    ],
)
def test_a_run_counts_by_its_end(
    facts: AlertFacts, results: Results, legs: list[tuple[float, float, int]], last: float
) -> None:
    """Hours ago it was planned and ended; a leg whose rows all failed has an outcome for each row, and no answer."""
    for planned, ended, failed in legs:
        add_leg(results, add_run(results, at(planned)), at(ended), accepted=4 - failed, failed=failed)

    assert (last_success(facts), last_success(facts, None)) == (at(last), at(last))


def test_a_pass_or_a_night_that_found_nothing_due_is_a_success(facts: AlertFacts, results: Results) -> None:
    """No run says it: all answers are young, or nobody delivered over the weekend. What cannot be read says nothing."""
    add_leg(results, add_run(results, at(60)), at(55))
    replace(facts, clock=lambda: at(20)).record_idle("music")
    replace(facts, clock=lambda: at(10)).end_of_pass("drops", PassReport())
    replace(facts, clock=lambda: at(5)).end_of_pass("drops", PassReport(is_whole=False))
    results.store.replace(f"{layout.IDLE_FOLDER}/other.json", b"[]")

    assert [last_success(facts, catalog) for catalog in ("music", "drops", None)] == [at(20), at(10), at(10)]


def test_rows_that_conditions_chose_are_no_success_of_the_others(facts: AlertFacts, results: Results) -> None:
    """Neither a run of them, nor one that found none; they count only for a catalog that has nothing else."""
    add_leg(results, add_run(results, at(60)), at(55))
    chosen = plan_of_run(new_run_id(at(30), "aaa"), 1, catalog="music", unmet=3)
    results.write_plan(chosen)
    add_leg(results, chosen, at(29))
    replace(facts, clock=lambda: at(10)).record_idle("music", is_part=True)
    replace(facts, clock=lambda: at(9)).record_idle("suppliers", is_part=True)

    assert [last_success(facts, catalog) for catalog in ("music", "suppliers")] == [at(55), at(9)]
    assert last_success(facts, None) == at(55)


def test_a_catalog_is_known_by_its_name_and_by_each_path_that_leads_to_it(
    facts: AlertFacts, results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever wrote which of them: runs, passes, causes and nights without a due row have one form of it."""
    catalog, link, here = tmp_path / "cat", tmp_path / "link", tmp_path / "here"
    catalog.mkdir()
    here.mkdir()
    link.symlink_to(catalog)
    monkeypatch.chdir(here)
    plan = plan_of_run(new_run_id(at(60), "aaa"), 4, catalog=str(link), catalog_identity=str(catalog))
    named = plan_of_run(new_run_id(at(50), "bbb"), 4, catalog=str(here), catalog_identity="masters")
    for each in (plan, named):
        results.write_plan(each)
        add_leg(results, each, at(45))
    replace(facts, clock=lambda: at(9)).record_idle("../link")
    with_name = replace(facts, catalogs=CatalogSettings(name="masters"))
    replace(with_name, clock=lambda: at(8)).record_idle(str(here))

    assert {last_success(facts, each) for each in (str(catalog), str(link), "../cat", "../link/")} == {at(9)}
    assert {last_success(facts, each) for each in ("masters", str(here), ".")} == {at(8)}
    assert last_success(with_name, "wherever") == at(8)
    impatient = facts.settings.model_copy(update={"no_success_hours": 1.0})
    each_way = (str(link), "../cat", "masters", str(here))
    causes = [alert.cause for each in each_way for alert in replace(facts, settings=impatient).no_success(each)]
    assert len({*causes}) == 2
    (away,), _ = facts.end_of_flow("verify-catalog", "Outage", "It said so.", catalog="../link")()
    (odd,), _ = facts.end_of_flow("verify-catalog", "Failed", "It said so.", catalog="a\0b")()
    assert (away.cause, odd.cause) == (f"outage\tbeta\t{catalog}", "failed\tbeta\ta\0b")


def test_only_recent_probes_of_the_environment_are_given(facts: AlertFacts, results: Results) -> None:
    """The oldest first, also over midnight."""
    now = datetime.fromisoformat("2026-11-20T00:10:00+00:00")
    assert facts.recent_probes() == []
    for operation_id, environment in (
        ("20261119T080000Z_000aa", "beta"),
        ("20261119T235500Z_000aa", "beta"),
        ("20261120T000000Z_000aa", "production"),
        ("20261120T000500Z_000aa", "beta"),
    ):
        operation = operation_named(operation_id, "monitoring", environment)
        leave_pass(results, operation_id, environment, [call_of(operation, operation_id, Call.USAGE, 429)])

    found = replace(facts, clock=lambda: now).recent_probes()

    assert [probe.request_id for probe in found] == ["20261119T235500Z_000aa", "20261120T000500Z_000aa"]
    assert {probe.trouble for probe in found} == {"throttled"}


RUN = "20261120T100000Z_aaaaaa"


def ended(facts: AlertFacts, *outcomes: str, items: int, **counts: str) -> tuple[FlowEnd, list[Alert]]:
    cells = {"failed": {"reason": "timeout"}, "rejected": {"verdict": "tampered", "reason": "tampered"}}
    plan = plan_of_run(RUN, items, catalog="s3://label/catalog")
    rows = [answered(plan, row, str(row), outcome, **cells.get(outcome, {})) for row, outcome in enumerate(outcomes)]
    end_leg(facts.results, plan, rows, **counts)
    run = describe_run(facts.results, RUN)
    end = facts.end_of_run(run)
    return end, alerts_of_run(end, run)


def test_rows_that_remain_are_told_with_counts_reasons_and_what_to_do(facts: AlertFacts, results: Results) -> None:
    """First what happens without anybody, and what to do; then which run, how its rows stand, and where tables are."""
    _, (alert,) = ended(facts, "accepted", "rejected", items=26, ended_by="quota")

    machine = results.log.runs().records[RUN].begun[0].holder.host
    assert alert.subject == "proofsweep: the quota is spent or reserved (beta)"
    assert alert.body.splitlines() == [
        f"If nobody acts: {QUOTA_IS_SPENT.unattended}",
        f"To do: {QUOTA_IS_SPENT.advice}",
        f"Catalog `s3://label/catalog`, run `{RUN}`: 24 of 26 rows remain. Environment `beta`, machine `{machine}`.",
        "Flow `verify-catalog` ended as QuotaSpent.",
        "How it ended: stopped: the quota is spent or reserved; resume after its reset for the rest.",
        "2 of 26 rows have their outcome:",
        "- 1 `accepted`: accept the credential",
        "- 1 `rejected · tampered`: reject, and ask the supplier for the untouched original delivery",
        f"Tables: `{results.store.url}`",
    ]
    assert alert.cause not in facts.end_of_leg(describe_run(results, RUN))()[1]


def test_a_leg_that_never_read_its_key_says_nothing_of_the_key_in_use(facts: AlertFacts, results: Results) -> None:
    """The leg before says which key it was; a killed one has no counts of its own."""
    leave_rotation(results, rotation(60))
    plan = plan_of_run(RUN, 2, catalog="music")
    end_leg(results, plan, [answered(plan, 0, "a")], ended_by="window", key_fingerprint=OLD)
    end_leg(results, plan, leg=2, ended_by="error")

    alerts, _ = facts.end_of_leg(describe_run(results, RUN))()

    (expires,) = (alert for alert in alerts if alert.kind == "key_expires")
    assert "The settings still name the old key." in expires.body


@pytest.mark.parametrize(
    ("ended_by", "outcomes", "works"),
    [
        ("quota", ["rejected"], True),
        ("breaker", [], False),
        ("error", ["ineligible"], False),
        ("key_refused", ["accepted"], False),
    ],
)
def test_only_an_answer_says_that_a_key_works_again(
    facts: AlertFacts, ended_by: str, outcomes: list[str], *, works: bool
) -> None:
    """A leg that an outage ended before its first answer has not tried it; nor has a pass that found nothing new."""
    ended(facts, *outcomes, items=2, ended_by=ended_by)

    _, over = facts.end_of_leg(describe_run(facts.results, RUN))()
    _, over_pass = facts.end_of_pass("/in", PassReport())()
    _, over_operation = facts.end_of_flow("run-operation notes", "Completed", "3 notes.")()

    refused = "key_refused\tbeta"
    assert (refused in over, refused in over_pass, refused in over_operation) == (works, False, True)


MUSIC = ("beta", "s3://label/catalog")
WORKS, NO_ROWS, NO_FAILURES = (
    frozenset(over(*MUSIC)) for over in (over_if_it_works, over_without_rows, over_without_failures)
)


@pytest.mark.parametrize(
    ("ended_by", "outcomes", "plan", "over"),
    [
        ("complete", ["accepted", "rejected"], {}, WORKS | NO_ROWS | NO_FAILURES),
        ("complete", ["accepted", "failed"], {}, WORKS | NO_ROWS),
        ("complete", ["accepted", "rejected"], {"unmet": 7}, WORKS | NO_ROWS),
        ("window", ["accepted"], {}, WORKS),
        ("quota", [], {}, frozenset()),
        ("breaker", ["accepted"], {}, frozenset()),
        ("complete", ["accepted", "rejected"], {"catalog_kind": "ingest"}, WORKS),
    ],
)
def test_what_a_run_shows_to_be_over(
    facts: AlertFacts, ended_by: str, outcomes: list[str], plan: Row, over: frozenset[str]
) -> None:
    """What kept a catalog from being worked on is over when it works; rows that remain or fail, when none does.

    Of a watched folder only a pass knows that: each of its runs is of some files.
    """
    made = plan_of_run(RUN, 2, catalog=MUSIC[1], **plan)
    rows = [answered(made, row, str(row), outcome) for row, outcome in enumerate(outcomes)]
    end_leg(facts.results, made, rows, ended_by=ended_by)

    found = facts.end_of_leg(describe_run(facts.results, RUN))()[1]

    assert {*found} - {"key_refused\tbeta"} == over


def test_nothing_of_a_catalog_is_over_while_another_run_of_it_remains(facts: AlertFacts) -> None:
    """Such as one with rows in doubt, which goes on each night before the others: it would be told each night."""
    first = plan_of_run("20261120T090000Z_aaaaaa", 2, catalog=MUSIC[1])
    end_leg(facts.results, first, [answered(first, 0, "a")], ended_by="breaker")
    ended(facts, "accepted", items=1)

    _, over = facts.end_of_leg(describe_run(facts.results, RUN))()
    _, over_idle = facts.end_of_idle(MUSIC[1], is_whole=True)()
    _, much_later = replace(facts, clock=lambda: NOW + timedelta(days=40)).end_of_leg(
        describe_run(facts.results, RUN)
    )()

    assert (over, over_idle) == (["key_refused\tbeta"], [])
    assert {*much_later} >= WORKS


def told(facts: AlertFacts, *causes: str) -> None:
    for cause in causes:
        facts.results.store.replace(name_of(cause), Memory(cause=cause, at=NOW).content())


@pytest.mark.parametrize("is_well", [True, False])
@pytest.mark.parametrize("is_whole", [True, False])
def test_a_night_without_a_due_row_ends_what_was_told_if_the_service_is_well(
    facts: AlertFacts, *, is_well: bool, is_whole: bool
) -> None:
    """The service is asked only if something was told: a night without a due row costs no call."""
    asked: list[bool] = []

    def ask() -> bool:
        asked.append(is_well)
        return is_well

    asking = replace(facts, is_well=ask)
    assert WORKS.isdisjoint(asking.end_of_idle(MUSIC[1], is_whole=is_whole)()[1])
    assert asked == []
    told(facts, f"outage\t{MUSIC[0]}\t{MUSIC[1]}")

    _, over = asking.end_of_idle(MUSIC[1], is_whole=is_whole)()

    assert {*over} == (WORKS if is_well else frozenset()) | (NO_ROWS | NO_FAILURES if is_whole else frozenset())


def test_a_pass_ends_what_was_told_of_its_folder(facts: AlertFacts) -> None:
    """A file that waits for its next try fails still; so does one that has failed now."""
    unmoved: Row = {"detail": "No space left on device."}
    reports = [
        PassReport(),
        PassReport(decisions=Counter({Decision.RESTING: 1})),
        PassReport(rows=[{"outcome": "failed"}]),
        PassReport(not_moved={"a": unmoved}),
        PassReport(is_whole=False),
    ]
    over = [{*facts.end_of_pass(MUSIC[1], report)()[1]} for report in reports]

    moved = {f"not_moved\t{MUSIC[0]}\t{MUSIC[1]}"}
    assert over[0] == NO_ROWS | NO_FAILURES | moved
    assert over[1] == over[2] == NO_ROWS | moved
    assert over[3] == NO_ROWS | NO_FAILURES
    assert over[4] == set()
    told(facts, f"outage\t{MUSIC[0]}\t{MUSIC[1]}")
    assert {*facts.end_of_pass(MUSIC[1], PassReport())()[1]} >= WORKS


def test_a_sunset_header_is_told_at_the_end_of_any_run(facts: AlertFacts) -> None:
    """Also of a run that is well; none of its rows is counted."""
    ended(facts, "accepted", items=1, sunset="Sat, 31 Jul 2027 00:00:00 GMT")

    (sunset,), _ = facts.end_of_leg(describe_run(facts.results, RUN))()

    assert sunset.kind == "sunset"
    assert " of 1 row" not in sunset.body


def test_a_run_whose_end_nobody_could_write_is_told_with_its_rows(facts: AlertFacts, results: Results) -> None:
    """As on a full disk: the last heartbeat is fresh, and the rows are those that `status` counts a moment later."""
    run = StoredRun(results, plan_of_run(RUN, 6, catalog=MUSIC[1]))
    run.write_plan()
    run.take()
    run.beat(finished_before=0, counts={"accepted": 5})
    journal = Journal(results, RUN, 1, "w")
    for row in range(2):
        journal.add(answered(run.plan, row, str(row)), [])
    journal.flush()
    error = ResultsError("The results store cannot be written.", is_outage=True)
    state, title = state_after_error(error), title_of_error(error)

    (alert,), _ = facts.end_of_flow("verify-catalog", state, error.message, catalog=MUSIC[1], run_id=RUN, title=title)()

    assert (alert.kind, alert.subject) == (
        "outage",
        "proofsweep: the results store cannot be used (beta, label/catalog)",
    )
    assert f"Catalog `{MUSIC[1]}`, run `{RUN}`: 4 of 6 rows remain." in alert.body
    assert alert.body.startswith("If nobody acts: the next run tries again.")


def test_files_that_are_not_moved_are_told_with_their_reasons(facts: AlertFacts) -> None:
    """The cause is the folder: not each file is told."""
    rows: list[Row] = [{"detail": "No space left on device."}] * 15 + [{"detail": "Denied."}]

    (alert,), over = facts.end_of_pass(
        "/in/<!here>", PassReport(not_moved=dict(zip("abcdefghijklmnop", rows, strict=True)))
    )()

    assert alert.subject == "proofsweep: verified files that are not moved: 16 (beta, in/\u2039!here\u203a)"
    assert alert.cause == "not_moved\tbeta\t/in/<!here>"
    assert alert.cause not in over
    assert "- 15: `No space left on device.`" in alert.body
    assert "<!here>" not in alert.body
