"""From settings and the options of a command to bounds, a catalog and a plan."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.app import App
from proofsweep.config.load import Settings
from proofsweep.domain.errors import ConfigError, NothingDue, UsageError
from proofsweep.domain.runs import INGEST, Bounds, Plan
from proofsweep.sources.catalog import PartOfCatalog
from proofsweep.sources.selection import Selection
from proofsweep.store import layout
from proofsweep.store.parts import Results
from proofsweep.verify.survey import items_of

from ..left_behind import verdict
from ..scripted_service import ScriptedService
from ..wired import WAV, Change


def test_what_is_not_given_is_as_in_the_settings(change: Change) -> None:
    """Each bound by itself."""
    settings = change(BOUNDS__RESERVE=50, BOUNDS__MAX_CALLS=70, BOUNDS__UNTIL="2026-11-21T06:00Z")
    closing = datetime(2026, 11, 21, 6, tzinfo=UTC)

    assert App(settings).bounds() == Bounds(reserve=50, max_calls=70, closes_at=closing)
    assert App(settings).bounds(max_calls=7) == Bounds(reserve=50, max_calls=7, closes_at=closing)
    assert App(settings).bounds(until="2026-11-21T05:00Z").closes_at == closing - timedelta(hours=1)


def test_a_given_window_replaces_that_of_the_settings(change: Change) -> None:
    """Seven hours are seven hours, although the settings say four; and an empty time is none at all, but refused."""
    app = App(change(BOUNDS__MAX_DURATION="4h", BOUNDS__UNTIL="2201-01-01T00:00Z"))

    closing = app.bounds(until="7h").closes_at

    assert closing is not None
    assert timedelta(hours=6) < closing - datetime.now(UTC) < timedelta(hours=8)
    with pytest.raises(UsageError, match="write it like"):
        app.bounds(until="")


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


def test_rows_that_could_not_be_sent_are_no_run_of_their_own_again(settings: Settings, catalog: str) -> None:
    """A night in which nothing else is due; another reason, a file that can be sent, or a person's wish make a run."""
    selection, folder = Selection(max_age="30d"), Path(catalog)
    for audio in folder.iterdir():
        audio.write_bytes(b"")
    first = App(settings).plan(catalog, selection=selection)
    assert first.reasons == {"empty": 3}
    publish(App(settings).results, first, *3 * ["empty"])

    with pytest.raises(NothingDue, match="rows that cannot be sent, each for the same reason as before: 3"):
        App(settings).plan(catalog, selection=selection)
    with pytest.raises(NothingDue):
        App(settings).planner.survey(App(settings).chosen_rows(catalog, selection), selection)
    assert App(settings).results.store.folders("_runs") == [first.run_id]
    assert App(settings).plan(catalog).items == 3
    (folder / "0.wav").rename(folder / "0.flac")
    assert App(settings).plan(catalog, selection=selection).items == 3
    (folder / "1.wav").write_bytes(WAV)
    assert App(settings).plan(catalog, selection=selection).eligible == 1


def test_damage_is_looked_at_again(settings: Settings, catalog: str) -> None:
    """What a delivery declares may be corrected, so it is due like a file that failed."""
    selection = Selection(max_age="30d")
    first = App(settings).plan(catalog, selection=selection)
    publish(App(settings).results, first, *3 * ["damaged_in_delivery"])

    assert App(settings).plan(catalog, selection=selection).items == 3


def publish(results: Results, plan: Plan, *reasons: str, leg: int = 1) -> None:
    """Publish a leg in which the first items turned out to be such that they cannot be sent."""
    verdicts = [
        verdict(plan, leg, item.manifest_row)
        | {"item_id": item.item_id, "audio_version": item.audio_version, "sidecar_version": item.sidecar_version}
        | {"outcome": "ineligible", "accepted": False, "verdict": None, "reason": reason}
        for item, reason in zip(results.items(plan), reasons, strict=False)
    ]
    results.create_part(layout.part_name("verdicts", plan.run_id, plan.run_date, 0, leg), "verdicts", verdicts)


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

    opened, limits = {place: App(settings).catalog(place) for place in places}, settings.service.sidecar_field
    ids = {place: [item.item_id for item in items_of(each.rows(), each.name, limits)] for place, each in opened.items()}

    assert len(set(map(tuple, ids.values()))) == 1, ids
