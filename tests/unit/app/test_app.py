"""From settings and the options of a command to bounds, a catalog, a plan, the one service, and who is told."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from proofsweep.app import App
from proofsweep.client.keys import fingerprint
from proofsweep.config.load import Settings
from proofsweep.config.threads import utc_now
from proofsweep.domain.errors import ConfigError, NothingDue, ResultsError, RunMustStop, UsageError
from proofsweep.domain.exchanges import Call
from proofsweep.domain.runs import INGEST, Bounds
from proofsweep.sources.catalog import PartOfCatalog
from proofsweep.sources.selection import Selection
from proofsweep.verify.service import bind_key

from ...worlds.ended_runs import answered, end_leg
from ..scripted_service import Scripted, ScriptedService
from ..wired import WAV, Change

BLOCKS = {"alerts": "json://127.0.0.1/c"}


def test_what_is_not_given_is_as_in_the_settings(change: Change) -> None:
    """Each bound by itself; an empty time is none at all, but refused."""
    settings = change(BOUNDS__RESERVE=50, BOUNDS__MAX_CALLS=70, BOUNDS__UNTIL="2026-11-21T06:00Z")
    closing = datetime(2026, 11, 21, 6, tzinfo=UTC)

    assert App(settings).bounds() == Bounds(reserve=50, max_calls=70, closes_at=closing)
    assert App(settings).bounds(max_calls=7) == Bounds(reserve=50, max_calls=7, closes_at=closing)
    assert App(settings).bounds(until="2026-11-21T05:00Z").closes_at == closing - timedelta(hours=1)
    with pytest.raises(UsageError, match="write it like"):
        App(settings).bounds(until="")


def test_a_setting_leaves_them_out_of_every_whole_catalog(change: Change, catalog: str) -> None:
    """Nightly runs have no options; a pass over a watched folder asks for each file."""
    (Path(catalog) / "3.wav").write_bytes(WAV)
    settings = change(CATALOG__SKIP_WITHOUT_CREDENTIAL="true")

    whole = App(settings).catalog(catalog)
    part = PartOfCatalog(whole)
    part.kind = INGEST

    assert App(settings).plan(catalog).reasons == {"no_credential": 1}
    assert App(settings).plan_listed(part).reasons == {}


def test_a_known_good_file_that_cannot_be_sent_stops_the_planning(
    change: Change, catalog: str, service: ScriptedService, tmp_path: Path
) -> None:
    """Before any call, and rather than the run's first leg, at night."""
    settings = change(SERVICE__KNOWN_GOOD=f'["{tmp_path}/gone.wav"]')

    with pytest.raises(ConfigError, match=r"service\.known_good: .*gone\.wav cannot be sent\. There is no audio"):
        App(settings).plan(catalog)

    assert App(settings).results.store.folders("_runs") == []
    assert service.calls == []


def test_a_night_without_a_due_row_is_no_night_without_a_success(settings: Settings, catalog: str) -> None:
    """It leaves no run, so it is recorded: else somebody is woken though each answer is young."""
    app = App(settings)
    assert [alert.kind for alert in app.alert_facts.no_success(catalog)] == ["no_success"]

    with pytest.raises(NothingDue):
        app.plan(catalog, Selection(newer_than="2999-01-01"))

    assert app.alert_facts.no_success(catalog) == []


def test_a_selection_that_finds_nothing_is_no_success_of_the_catalog(settings: Settings, catalog: str) -> None:
    """Only a night that looked at all rows is one: a job that asks for old failures says nothing of the nightly one."""
    app = App(settings)
    plan = app.plan(catalog)
    answers = [
        answered(plan, item.manifest_row, item.item_id, audio_version=item.audio_version)
        for item in app.results.items(plan)
    ]
    ended_at = utc_now() - timedelta(hours=40)
    end_leg(app.results, plan, answers, finished_at=ended_at.isoformat())

    with pytest.raises(NothingDue):
        app.plan(catalog, Selection(only=("timeout",)))

    (alert,) = app.alert_facts.no_success(catalog)
    assert f"that did its work ended: {ended_at:%Y-%m-%d %H:%M} UTC" in alert.body
    with pytest.raises(NothingDue):
        app.plan(catalog, Selection(since_last=True))
    assert app.alert_facts.no_success(catalog) == []


def test_a_resumed_run_compares_with_the_root_of_its_plan(
    change: Change, settings: Settings, catalog: str, tmp_path: Path
) -> None:
    """Whatever the settings say now; without any it is the catalog's folder."""
    (tmp_path / "a.wav").write_bytes(WAV)
    (Path(catalog) / "link.wav").symlink_to(tmp_path / "a.wav")

    plans = [
        App(settings).plan(catalog),
        App(change(CATALOG__ROOT=tmp_path)).plan(catalog),
        App(change(CATALOG__ROOT="anywhere")).plan(catalog),
    ]

    assert [plan.eligible for plan in plans] == [3, 4, 4]
    assert [plan.catalog_root for plan in plans] == [f"file://{catalog}", f"file://{tmp_path}", None]
    assert [App(settings).planner.has_changed(plan) for plan in plans] == [False, False, False]


def test_items_have_one_id_however_the_catalog_is_spelled(
    settings: Settings, catalog: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link to the folder, a way round, and manifests of it in any spelling: the same three files."""
    (tmp_path / "link").symlink_to(catalog)
    (Path(catalog) / "m.csv").write_text(f"audio\n0.wav\n./1.wav\n{tmp_path}/link/2.wav\n")
    monkeypatch.chdir(catalog)
    places = [".", "../music", "../music/../link", catalog, "m.csv", "../link/m.csv", "../link/*.csv"]

    planner, opened = App(settings).planner, {place: App(settings).catalog(place) for place in places}
    ids = {place: [item.item_id for item in planner.items(each)] for place, each in opened.items()}

    assert len(set(map(tuple, ids.values()))) == 1, ids


def test_a_flow_shares_the_app_of_the_command_that_calls_it(app: App, change: Change) -> None:
    """What one part of a process learns of the lane, the others know; other settings may mean another lane."""
    with App.here(change()) as shared:
        service = shared.service

    assert shared is app
    assert app.service is service
    assert App.here(change(PACE__FIRST_RATE=5)) is not app


def test_a_service_that_was_stopped_is_not_used_again(app: App) -> None:
    """Its switch stays pulled; the next leg of this process needs another one."""
    stopped = app.service
    stopped.stop.pull(RunMustStop("Enough.", ended_by="cancelled"))

    fresh = app.service

    assert fresh is not stopped
    assert fresh.stop.reason is None
    assert app.service is fresh


def test_a_key_that_takes_over_must_be_this_services_too(app: App, tmp_path: Path, service: ScriptedService) -> None:
    """A key file that was overwritten with production's key leads to no call with it."""
    before = app.service.key_fingerprint
    (tmp_path / "key").write_text("pk_other")
    bind_key(app.results.store, fingerprint_of("pk_other"), "https://other.example/v1")
    service.usual[Call.USAGE] = Scripted(status=403, error_code="forbidden")

    with pytest.raises(RunMustStop) as stopped:
        app.service.status()

    assert stopped.value.ended_by == "key_refused"
    assert service.calls.count(Call.USAGE) == 1
    assert fingerprint_of("pk_test") == before


def test_a_key_belongs_to_the_service_that_any_command_used_it_with(
    app: App, change: Change, service: ScriptedService
) -> None:
    """Once that service took it: a wrong address, which is corrected, gets no key for good."""
    app.store.begin()
    service.script[Call.USAGE] = [Scripted(status=403, error_code="forbidden")]
    elsewhere = change(SERVICE__BASE_URL="https://other.example/v1")

    with pytest.raises(RunMustStop):
        app.service.answer(lambda partner: partner.usage())
    assert App(elsewhere).service.key_fingerprint == fingerprint_of("pk_test")
    app.service.answer(lambda partner: partner.usage())

    with pytest.raises(ResultsError, match="This key was used with"):
        App(elsewhere).service  # noqa: B018 - it reads the key


def test_a_command_that_verifies_nothing_begins_no_store_for_its_key(app: App) -> None:
    app.service.answer(lambda partner: partner.usage())

    assert not Path(app.store.url).exists()


def fingerprint_of(key: str) -> str:
    return fingerprint(SecretStr(key))


def test_receivers_are_read_from_a_file_or_a_block(
    change: Change, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The URL itself is never a setting."""
    (tmp_path / "urls").write_text("json://127.0.0.1/a\njson://127.0.0.1/b")
    from_file = App(change(ALERTS__URLS_FILE=tmp_path / "urls")).receivers()
    monkeypatch.delenv("PROOFSWEEP_ALERTS__URLS_FILE")
    in_block = change(ALERTS__URLS_BLOCK="alerts")

    from_block = App(in_block, BLOCKS.__getitem__).receivers()
    assert [len(each.names) for each in (from_file, from_block) if each is not None] == [2, 1]
    with pytest.raises(ConfigError, match="Secret block"):
        App(in_block).receivers()


def test_an_alert_that_fails_is_one_line(change: Change, tmp_path: Path) -> None:
    """For a wrong file, or a mistake of this program."""
    (tmp_path / "urls").write_text("json://127.0.0.1/a")
    app = App(change(ALERTS__URLS_FILE=tmp_path / "urls"))

    (mistake,) = app.send_alerts(lambda: 1 / 0)  # type: ignore[arg-type,return-value]  # the mistake
    (tmp_path / "urls").write_text("")
    (wrong,) = app.send_alerts(app.alert_facts.end_of_flow("verify-catalog", "Outage", "It does not answer."))

    assert wrong.startswith(f"Nobody could be told: The file {tmp_path}/urls holds no alert URL")
    assert mistake == "Nobody could be told, through a mistake of this program (ZeroDivisionError)."
