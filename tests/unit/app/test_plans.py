"""From settings and the options of a command to bounds, a catalog and a plan."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.app import App
from proofsweep.config.load import Settings
from proofsweep.domain.errors import ConfigError, NothingDue, UsageError
from proofsweep.domain.runs import INGEST, Bounds
from proofsweep.sources.catalog import PartOfCatalog
from proofsweep.sources.selection import Selection

from ..scripted_service import ScriptedService
from ..wired import WAV, Change


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
    assert [App(settings).has_changed(plan) for plan in plans] == [False, False, False]


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
