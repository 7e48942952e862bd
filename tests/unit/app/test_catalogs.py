"""Catalogs are opened as the settings and a command say."""

from pathlib import Path

import pytest

from proofsweep.app import App
from proofsweep.config.load import Settings
from proofsweep.config.sections import CatalogSettings
from proofsweep.domain.errors import CatalogError
from proofsweep.sources.selection import Selection
from proofsweep.verify.survey import items_of

from ..wired import WAV, Change


def test_a_root_that_is_given_goes_before_that_of_the_settings(change: Change, catalog: str, tmp_path: Path) -> None:
    """By default it is the catalog's folder; leave to lead out of it is given, or is in the settings."""
    settings = change(CATALOG__ROOT=tmp_path)

    roots = [
        App(settings).catalog(catalog, Selection(catalog=CatalogSettings(root=root, outside=outside))).root
        for root, outside in ((None, "deny"), ("/", "deny"), (None, "allow"))
    ]

    assert roots == [str(tmp_path.resolve()), "/", None]
    assert (
        App(change(CATALOG__OUTSIDE="allow")).catalog(catalog, Selection(catalog=CatalogSettings(root="/"))).root
        is None
    )
    with pytest.raises(CatalogError, match="the catalog's root is no folder"):
        App(settings).catalog(catalog, Selection(catalog=CatalogSettings(root=str(tmp_path / "gone"))))


def test_a_resumed_run_compares_with_the_root_of_its_plan(settings: Settings, catalog: str, tmp_path: Path) -> None:
    """The option of that command is not given again."""
    (tmp_path / "a.wav").write_bytes(WAV)
    (Path(catalog) / "link.wav").symlink_to(tmp_path / "a.wav")

    plans = [
        App(settings).plan(catalog),
        App(settings).plan(catalog, selection=Selection(catalog=CatalogSettings(root=str(tmp_path)))),
        App(settings).plan(catalog, selection=Selection(catalog=CatalogSettings(outside="allow"))),
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


def test_columns_of_the_command_go_before_those_of_the_settings(change: Change, catalog: str) -> None:
    """Role by role."""
    manifest = Path(catalog) / "m.csv"
    manifest.write_text("Datei,Nr,release\n0.wav,1,R1\n1.wav,2,R1\n")
    settings = change(CATALOG__COLUMNS='{"audio": "Datei", "id": "release"}')

    by_settings, by_command = (
        App(settings).catalog(str(manifest), Selection(catalog=CatalogSettings(columns=columns)))
        for columns in ({}, {"id": "Nr"})
    )

    with pytest.raises(CatalogError, match="have the same id 'R1'"):
        list(by_settings.rows())
    assert [row.item_id for row in by_command.rows()] == ["1", "2"]


def test_a_run_goes_on_whose_columns_were_given_on_the_command_line(settings: Settings, catalog: str) -> None:
    """Its catalog is recognised with the same options; `resume` needs none to see that nothing has changed."""
    manifest = Path(catalog) / "m.csv"
    manifest.write_text("Datei\n0.wav\n1.wav\n")
    selection = Selection(catalog=CatalogSettings(columns={"audio": "Datei"}))

    plan = App(settings).plan(str(manifest), selection=selection)

    assert plan.selection == "--column audio=Datei"
    assert App(settings).run_to_resume(str(manifest), selection) == plan
    assert not App(settings).has_changed(plan)
    manifest.write_text("Datei\n0.wav\n")
    assert App(settings).has_changed(plan)
