"""Rows are chosen by the settings' environment, and become a run of their own."""

from collections.abc import Callable
from pathlib import Path

import pytest

from proofsweep.errors import ResultsError, RunIsActive, UsageError
from proofsweep.model.declared import Declared
from proofsweep.model.reading import Reading
from proofsweep.model.runs import REDRIVE
from proofsweep.model.selection import Selection
from proofsweep.settings import Settings
from proofsweep.store.claims import CatalogClaims
from proofsweep.store.legs import Legs
from proofsweep.verify.leg.note_leg import note_leg
from proofsweep.wiring.operations import plan_redrive, selected_rows
from proofsweep.wiring.runs import plan_catalog
from proofsweep.wiring.stores import results_for

from ..ended_runs import answered, end_leg, plan_of_run

WAV = b"RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x08\0\0\0" + bytes(8)

Change = Callable[..., Settings]


@pytest.fixture
def music(tmp_path: Path) -> Path:
    """A catalog's folder with two files."""
    folder = tmp_path / "music"
    folder.mkdir()
    for name in ("a.wav", "b.wav"):
        (folder / name).write_bytes(WAV)
    return folder


def night(settings: Settings, run_id: str, music: Path, environment: str = "beta", catalog: str = "music.csv") -> None:
    """Leave a run behind of which one row was accepted, and two got no verdict."""
    facts = {"environment": environment, "catalog": f"{music}/{catalog}", "catalog_root": f"file://{music}"}
    plan = plan_of_run(run_id, 3, **facts)
    kinds = [("a", "accepted", None), ("b", "failed", "timeout"), ("gone", "failed", "connection")]
    rows = [
        answered(
            plan, row, f"{catalog}-{name}", outcome, reason=reason, audio=f"{music}/{name}.wav", tags='{"isrc": "X"}'
        )
        for row, (name, outcome, reason) in enumerate(kinds)
    ]
    end_leg(results_for(settings), plan, rows)
    note_leg(results_for(settings), plan)


def test_a_redrive_is_a_run_of_just_these_rows(change: Change, music: Path) -> None:
    """Each keeps its id and tags, and is looked at anew; the run names the catalog that the rows come from."""
    settings = change()
    night(settings, "20261116T100000Z_a", music)

    plan = plan_redrive(settings, selected_rows(settings, None, ["failed"], ["timeout", "connection"]), None, reserve=0)

    items = results_for(settings).shard_items(plan.run_id, 0)
    assert [(item.item_id, item.audio, item.tags_json) for item in items] == [
        ("music.csv-b", f"{music}/b.wav", '{"isrc": "X"}'),
        ("music.csv-gone", f"{music}/gone.wav", '{"isrc": "X"}'),
    ]
    assert [item.ineligible is None for item in items] == [True, False]
    assert (plan.catalog, plan.catalog_kind, plan.catalog_root) == (f"{music}/music.csv", REDRIVE, f"file://{music}")
    assert plan.selection == "--reason timeout --reason connection"


def test_a_redrive_keeps_within_the_root_of_the_run(change: Change, music: Path, tmp_path: Path) -> None:
    """A link that leads out since then is not followed."""
    settings = change()
    night(settings, "20261116T100000Z_a", music)
    (tmp_path / "secret.wav").write_bytes(WAV)
    (music / "b.wav").unlink()
    (music / "b.wav").symlink_to(tmp_path / "secret.wav")

    with pytest.raises(UsageError, match="leads outside the catalog's root"):
        plan_redrive(settings, selected_rows(settings, None, ["failed"], ["timeout"]), None, reserve=0)


def test_rows_of_two_catalogs_are_no_run(change: Change, music: Path) -> None:
    """A run has one catalog; the message names both."""
    settings = change()
    night(settings, "20261116T100000Z_a", music)
    night(settings, "20261117T100000Z_b", music, catalog="other.csv")

    with pytest.raises(UsageError, match=r"of 2 catalogs \(.*music\.csv, .*other\.csv\): name a run"):
        plan_redrive(settings, selected_rows(settings, None, ["failed"]), None, reserve=0)


def test_rows_of_another_environment_are_not_sent_to_this_one(change: Change, music: Path) -> None:
    """A verdict of the sandbox says nothing about production."""
    settings = change()
    night(settings, "20261116T100000Z_a", music, "production")

    with pytest.raises(UsageError, match="are of the environment 'production', and the settings are for 'beta'"):
        plan_redrive(settings, selected_rows(settings, "20261116T100000Z_a", ["failed"]), None, reserve=0)


def test_the_only_environment_of_a_store_is_meant(change: Change, music: Path) -> None:
    """A person who reads the store of production needs no config for it; of two, one must be named."""
    settings = change()
    with pytest.raises(ResultsError, match="There is no run in"):
        selected_rows(settings, None)

    night(settings, "20261116T100000Z_a", music, "production")
    assert selected_rows(settings, None).environment == "production"

    night(settings, "20261117T100000Z_b", music, "sandbox")
    with pytest.raises(ResultsError, match="environments production, sandbox, and the settings are for beta"):
        selected_rows(settings, None)


def test_a_redrive_counts_as_its_catalog(change: Change, music: Path) -> None:
    """While another run of the catalog is worked on, its files are not sent by a redrive."""
    settings = change()
    night(settings, "20261116T100000Z_a", music)
    results, live = results_for(settings), "20261117T100000Z_a"
    Legs(results, live).claim(1)
    CatalogClaims(results, "beta", f"{music}/music.csv").claim(live, 1)

    with pytest.raises(RunIsActive, match=live):
        plan_redrive(settings, selected_rows(settings, None, ["failed"], ["timeout"]), None, reserve=0)


def test_a_redrive_compares_what_its_run_would_have_compared(settings: Settings, music: Path) -> None:
    """The lists of that run need not be named again."""
    (music.parent / "SUMS").write_text(f"{'0' * 32}  a.wav\n")
    selection = Selection(reading=Reading(checksums=(str(music.parent / "SUMS"),)))
    first = plan_catalog(settings, str(music), selection=selection)
    results = results_for(settings)
    rows = [
        answered(first, item.manifest_row, item.item_id, "failed", reason="timeout", audio=item.audio)
        for item in results.items(first)
    ]
    end_leg(results, first, rows)
    note_leg(results, first)

    plan = plan_redrive(settings, selected_rows(settings, first.run_id, ["failed"]), None, reserve=0)

    declared = {item.audio: item.declared for item in results.items(plan)}
    assert declared == {f"{music}/a.wav": Declared(digests={"md5": "0" * 32}), f"{music}/b.wav": None}
