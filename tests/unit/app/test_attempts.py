"""A leg is held by one process at a time; a run that was killed goes on, with what is left of the bounds of its leg."""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.app import App
from proofsweep.config.load import Settings, load_settings
from proofsweep.config.threads import utc_now
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ConfigError, ResultsError, RunIsActive, RunMustStop
from proofsweep.domain.exchanges import Call
from proofsweep.domain.runs import INGEST, Bounds, Plan, new_run_id
from proofsweep.queries.status import describe_run
from proofsweep.store.legs import Legs
from proofsweep.store.parts import Results
from proofsweep.verify import attempt
from proofsweep.verify.commit import LegParts
from proofsweep.verify.leg import Leg
from proofsweep.verify.worker import verify_batch

from ...worlds.core import begin_leg, write_receipt
from ..left_behind import let_holder_die, rows_of, write_journal
from ..scripted_service import ScriptedService
from ..wired import WAV, Change

CLOSING = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=7)
GIVEN = Bounds(max_calls=50, closes_at=CLOSING)
LATER = Bounds(max_calls=50, closes_at=CLOSING + timedelta(hours=2))
"""What the same parameters give when the flow run is run again two hours later."""


@pytest.fixture
def run_id(settings: Settings, catalog: str) -> str:
    return App(settings).plan(catalog).run_id


@contextmanager
def held(run_id: str, config: str, **more: object) -> Iterator[Leg]:
    with App.here(load_settings(config)).attempt(run_id, flow_run_id="flow-7", **more) as leg:
        yield leg


def receipts(settings: Settings, run_id: str) -> list[object]:
    record = App(settings).results.log.runs().records[run_id]
    return [leg.ended_by for leg in record.legs] + [None for _ in record.open]


def test_settings_mean_the_same_in_each_worker_process(
    config: str, change: Change, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One may have another working directory, and reads the key for itself; two have about as many workers as one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "known.wav").write_bytes(WAV)
    change(SERVICE__API_KEY_FILE="key", SERVICE__KNOWN_GOOD='["known.wav"]', PACE__WORKERS=5, PACE__FIRST_RATE=6.0)
    app = App(load_settings(config, "results"))

    settings = app.settings.anywhere(app.store.url, 2)
    packed = pickle.dumps(settings)

    assert settings.results.url == str(tmp_path / "results")
    assert settings.service.api_key_file == tmp_path / "key"
    assert settings.service.known_good == ((str(tmp_path / "known.wav"), None),)
    assert (settings.pace.workers, settings.pace.first_rate) == (3, 3.0)
    assert b"pk_test" not in packed
    assert pickle.loads(packed) == settings  # noqa: S301 - it is our own


def test_what_a_leg_needs_is_read_before_it_begins(change: Change, run_id: str, config: str) -> None:
    """A known-good file that is gone leaves no leg behind, and keeps nobody out."""
    settings = change(SERVICE__KNOWN_GOOD='["gone.wav"]')

    with pytest.raises(ConfigError, match=r"gone\.wav"), held(run_id, config):
        pytest.fail("it must not begin")

    assert App(settings).results.log.runs().records[run_id].begun == []


@pytest.mark.parametrize("what", ["audio", "sidecar", "folder"])
def test_what_leads_outside_when_it_is_opened_is_not_sent(
    change: Change, config: str, tmp_path: Path, service: ScriptedService, what: str
) -> None:
    """It was inside when the run was planned; then the supplier put a link in its place."""
    settings = change(SERVICE__SIDECAR_FIELD="sidecar")
    (tmp_path / "secret").mkdir()
    (tmp_path / "drop" / "sub").mkdir(parents=True)
    for folder, content in (("secret", b"secret"), ("drop/sub", b"public")):
        (tmp_path / folder / "a.wav").write_bytes(WAV + content)
        (tmp_path / folder / "a.wav.sidecar").write_bytes(content)
    plan = App(settings).plan(str(tmp_path / "drop"))
    inside = tmp_path / "drop" / "sub"
    victim = {"audio": inside / "a.wav", "sidecar": inside / "a.wav.sidecar", "folder": inside}[what]
    victim.rename(tmp_path / "away")
    victim.symlink_to(tmp_path / "secret" / ("" if what == "folder" else victim.name))

    with held(plan.run_id, config) as leg:
        verify_batch(leg)

    results = App(settings).results
    (row,) = results.table("verdicts", results.parts_of("verdicts", plan), ["reason", "calls"]).to_pylist()
    assert row == {"reason": "outside_catalog", "calls": 0}
    assert not any(b"secret" in content for content in service.uploads)


@pytest.mark.parametrize("error", [None, ZeroDivisionError, RunMustStop("Enough.", ended_by="cancelled")])
def test_a_leg_that_is_over_is_forgotten(
    app: App, settings: Settings, config: str, run_id: str, *, error: type[Exception] | Exception | None
) -> None:
    """However the work ended: its service is closed, and the next leg of this process has a new one."""
    service = app.service

    with suppress(ZeroDivisionError, RunMustStop), held(run_id, config) as leg:
        assert app.service is service
        assert app.leg is leg
        if error is not None:
            raise error
        verify_batch(leg)

    assert app.leg is None
    assert app.service is not service
    assert receipts(settings, run_id) == ["complete" if error is None else "error"]


def test_another_environment_is_refused_before_anything_else(
    settings: Settings, config: str, run_id: str, change: Change, service: ScriptedService
) -> None:
    """Rows of two environments would stand in one run: no call is made for it, and nothing is written."""
    change(SERVICE__ENVIRONMENT="production")
    service.calls.clear()

    with (
        pytest.raises(ConfigError, match="was planned for beta, but the settings are for production"),
        held(run_id, config),
    ):
        pytest.fail("it is of another environment")

    assert service.calls == []
    assert receipts(settings, run_id) == []


def test_a_stop_that_was_asked_before_the_leg_is_not_lost(
    app: App, settings: Settings, run_id: str, service: ScriptedService
) -> None:
    """Such as Ctrl-C while a cluster starts: no file begins."""
    app.service.stop.pull(RunMustStop("Enough.", ended_by="cancelled"))

    with app.attempt(run_id) as leg:
        verify_batch(leg)

    assert service.calls.count(Call.UPLOADS) == 0
    assert receipts(settings, run_id) == ["cancelled"]


def test_a_leg_is_bounded_as_its_caller_says_or_as_the_settings_have_it(
    config: str, run_id: str, change: Change
) -> None:
    change(BOUNDS__MAX_CALLS=70, CATALOG__DEDUPE="true")

    with held(run_id, config) as usual:
        pass
    with held(run_id, config, bounds=Bounds(max_calls=9), sharers=2) as given:
        pass

    assert (usual.budget.bounds, usual.verify.duplicates is None, usual.number) == (Bounds(max_calls=70), False, 1)
    assert given.budget.bounds == Bounds(max_calls=4, sharers=2)


@pytest.fixture
def plan(settings: Settings, catalog: str) -> Plan:
    return App(settings).plan(catalog)


def leave_killed_leg(settings: Settings, plan: Plan, flow_run: str, numbers: list[int]) -> int:
    """Leave a leg whose process is gone, with what a leg of a flow run says of itself; it made a call for each row."""
    with App(settings).attempt(plan.run_id, flow_run_id=flow_run, bounds=GIVEN) as leg:
        facts = leg.heartbeat.held.signs.holder.facts
    killed, results = leg.number + 1, App(settings).results
    begin_leg(results, plan, killed, **facts)
    write_journal(results, plan, killed, numbers)
    return killed


def test_a_killed_flow_run_has_what_is_left_of_its_bounds(settings: Settings, plan: Plan) -> None:
    """Its window closes when it would have closed, and its calls count; the rows that it wrote down are published.

    The first time it has all its bounds, as has what Prefect does not run again.
    """
    assert App(settings).run_of_retry(None, GIVEN) == App(settings).run_of_retry("flow-7", GIVEN) == (None, GIVEN)
    killed = leave_killed_leg(settings, plan, "flow-7", [0, 1])
    with pytest.raises(RunIsActive):
        App(settings).run_of_retry("flow-7", LATER)
    let_holder_die(App(settings).results, plan, killed)

    again = App(settings).run_of_retry("flow-7", LATER)

    assert again == (plan.run_id, Bounds(max_calls=48, closes_at=CLOSING))
    assert sorted(map(int, rows_of(App(settings).results, plan))) == [0, 1]
    assert App(settings).run_of_retry("flow-8", LATER) == (None, LATER)


def test_a_killed_flow_run_that_resumed_an_older_run_may_still_plan_its_own(settings: Settings, plan: Plan) -> None:
    """It goes on as for the first time: it resumes the run, and plans what is due then."""
    leave = leave_killed_leg(settings, plan, "flow-7", [0])
    let_holder_die(App(settings).results, plan, leave)
    let_holder_die(App(settings).results, plan, leave_killed_leg(settings, plan, "flow-8", [1]))

    assert App(settings).run_of_retry("flow-8", LATER) == (None, Bounds(max_calls=49, closes_at=CLOSING))


@pytest.mark.parametrize(("stopped_by", "runs"), [(None, 2), (EndedBy.CANCELLED, 1), (EndedBy.INTERRUPTED, 1)])
def test_a_process_that_was_asked_to_stop_begins_no_second_run(
    settings: Settings, catalog: str, *, stopped_by: EndedBy | None, runs: int
) -> None:
    """Although the first one ended whole, since all its files were in flight when the request came.

    The second one has what was added since: what the first one answered is not paid twice.
    """
    app = App(settings)
    resumed, worked_on = app.plan(catalog), list[str]()
    Path(catalog, "new.wav").write_bytes(WAV + b"of its own")

    for run_id, bounds in app.runs_of_catalog(None, catalog, Bounds()):
        worked_on.append(run_id)
        with app.attempt(run_id, bounds=bounds) as leg:
            verify_batch(leg)
            if stopped_by is not None:
                leg.stop.pull(RunMustStop("Enough.", ended_by=stopped_by))

    assert [app.results.plan(run_id).items for run_id in worked_on] == [resumed.items, 1][:runs]
    assert receipts(settings, resumed.run_id) == ["complete"]


@pytest.fixture
def begun(settings: Settings, catalog: str) -> Plan:
    plan, results = App(settings).plan(catalog), App(settings).results
    Legs(results, plan).begin({})
    write_journal(results, plan, 1, [0])
    let_holder_die(results, plan, 1)
    return plan


def verify(config: str, plan: Plan, bounds: Bounds | None = None) -> None:
    """Work on a run, even if another of its catalog began after it was planned."""
    with held(plan.run_id, config, bounds=bounds) as leg:
        verify_batch(leg)


def copied(settings: Settings, plan: Plan, minutes: float, **facts: str) -> Plan:
    """Write another plan of the same rows that was made so many minutes later."""
    results, at = App(settings).results, utc_now() + timedelta(minutes=minutes)
    read_after = results.log.runs().through
    made = replace(plan, run_id=new_run_id(at, "aaaaaa"), created_at=at.isoformat(), read_after=read_after, **facts)  # type: ignore[arg-type]
    results.store.create(
        f"_runs/{made.run_id}/items/00000.parquet",
        results.store.read(f"_runs/{plan.run_id}/items/00000.parquet") or b"",
    )
    results.write_plan(made)
    return made


def test_a_run_is_found_with_its_catalog_or_without_and_not_with_another(
    settings: Settings, catalog: str, begun: Plan, tmp_path: Path
) -> None:
    """Its dead leg is settled."""
    (tmp_path / "other").mkdir()

    assert App(settings).run_to_resume(catalog) == App(settings).run_to_resume() == begun
    assert App(settings).run_to_resume(str(tmp_path / "other")) is None
    assert describe_run(App(settings).results, begun.run_id).remaining == 2


def test_a_run_whose_rest_was_answered_since_is_skipped_and_marked(
    settings: Settings, config: str, catalog: str, begun: Plan, service: ScriptedService
) -> None:
    """It is not sent again; one whose rest was answered in part goes on."""
    service.clock = utc_now
    later = copied(settings, begun, 0)
    verify(config, later, Bounds(max_calls=5))
    in_part = App(settings).run_to_resume(catalog)
    verify(config, later)

    assert in_part == later
    assert App(settings).run_to_resume(catalog) is None
    status = describe_run(App(settings).results, begun.run_id)
    assert (status.ended_by, status.remaining, status.is_over) == ("superseded", 2, True)


def test_all_partitions_of_a_run_are_superseded_together(settings: Settings, catalog: str) -> None:
    """One that comes to its catalog later than another finds it free, and must not go on alone."""
    results, plan = App(settings).results, App(settings).plan(catalog)
    plan = replace(plan, partitions=2)
    supersede_one(results, plan)

    with pytest.raises(ResultsError, match="was superseded by another run of its catalog"):
        attempt.open_leg(results, plan, utc_now, {}, 1)

    assert receipts(settings, plan.run_id) == ["superseded", "superseded"]


def supersede_one(results: Results, plan: Plan) -> None:
    """Let the first partition of a run begin while another run of its catalog is worked on, which then ends."""
    rival = replace(plan, run_id="20261120T120000Z_000bb", partitions=1)
    results.write_plan(rival)
    begin_leg(results, rival, 1)
    with pytest.raises(RunIsActive):
        attempt.open_leg(results, plan, utc_now, {}, 0)
    write_receipt(results, rival, 1, {"ended_by": "complete"})


@pytest.mark.parametrize("has_parts", [False, True])
def test_a_run_that_was_killed_when_all_rows_were_done_is_the_one_to_end(
    settings: Settings, config: str, catalog: str, *, has_parts: bool
) -> None:
    """To verify its catalog again does not begin another one, which would pay for all files once more."""
    results, plan = App(settings).results, App(settings).plan(catalog)
    Legs(results, plan).begin({})
    write_journal(results, plan, 1, range(plan.items))
    if has_parts:
        LegParts.found(results, plan, 1).close()
    let_holder_die(results, plan, 1)
    was_over = describe_run(results, plan.run_id).is_over

    found = App(settings).run_to_resume(catalog)
    verify(config, plan)

    assert (was_over, found) == (False, plan)
    assert describe_run(results, plan.run_id).is_over
    assert App(settings).run_to_resume(catalog) is None


def test_the_run_of_a_pass_is_never_superseded(settings: Settings, config: str, begun: Plan) -> None:
    """Its files are moved when it ends."""
    ingest = copied(settings, begun, 0, catalog_kind=INGEST)
    verify(config, copied(settings, begun, 0.01))

    assert App(settings).run_to_resume() == ingest
