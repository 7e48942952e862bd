"""From settings to bounds, a catalog and a plan; and to a dead leg that is settled."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.app import App, utc_now
from proofsweep.config.load import Settings
from proofsweep.domain.errors import ConfigError, NothingDue, RunMustStop
from proofsweep.domain.runs import INGEST, Bounds, Plan
from proofsweep.sources.catalog import PartOfCatalog
from proofsweep.sources.selection import Selection
from proofsweep.store import layout
from proofsweep.store.parts import Results
from proofsweep.verify.forecast import Need
from proofsweep.verify.service import ServiceStatus

from ...worlds.ended_runs import end_leg, plan_of_run
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


def test_a_bound_of_zero_is_given(change: Change) -> None:
    """Who reserves nothing tonight does not mean the settings' reserve."""
    assert App(change(BOUNDS__RESERVE=50)).bounds(reserve=0) == Bounds()


@pytest.mark.parametrize(
    ("given", "hours"),
    [
        ({}, 4),
        ({"max_duration": "7h"}, 7),
        ({"max_duration": "2h"}, 2),
        ({"until": "2200-01-01T00:00Z", "max_duration": "7h"}, 7),
    ],
)
def test_a_given_window_replaces_that_of_the_settings(change: Change, given: dict[str, str], hours: int) -> None:
    """Seven hours are seven hours, although the settings say four; of two given times the earlier counts."""
    settings = change(BOUNDS__MAX_DURATION="4h", BOUNDS__UNTIL="2201-01-01T00:00Z")
    before = datetime.now(UTC).replace(microsecond=0)

    closing = App(settings).bounds(**given).closes_at

    assert closing is not None
    assert timedelta(hours=hours) <= closing - before < timedelta(hours=hours, minutes=5)


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


def test_a_run_that_could_send_nothing_is_not_planned(change: Change, catalog: str) -> None:
    """Of 900 calls the settings keep 900 for others; a command that keeps none overrules them."""
    settings = change(BOUNDS__RESERVE=900)

    with pytest.raises(RunMustStop, match="too few calls left"):
        App(settings).plan(catalog)
    planned_before = App(settings).results.store.folders("_runs")
    plan = App(settings).plan(catalog, bounds=Bounds())

    assert (planned_before, App(settings).results.store.folders("_runs")) == ([], [plan.run_id])


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
    results.create_part(layout.verdicts_name(plan.run_id, plan.run_date, 0, leg), "verdicts", verdicts)


NEED = Need(eligible=100, audio_bytes=1_000)


def fifty_accepted(settings: Settings, environment: str) -> None:
    """Leave a leg behind that accepted 50 rows in 100 seconds."""
    began = datetime(2026, 11, 20, 12, tzinfo=utc_now().tzinfo)
    times = {"started_at": began, "finished_at": began + timedelta(seconds=100)}
    plan = plan_of_run("20261120T120000Z_000aa", environment=environment)
    end_leg(App(settings).results, plan, accepted=50, calls=102, **times)


def test_the_pace_is_that_of_earlier_legs_in_this_environment(settings: Settings) -> None:
    """No call was refused, so that the pace grows; another environment's pace says nothing of this one's."""
    before = App(settings).forecast(NEED, ServiceStatus(), Bounds())
    fifty_accepted(settings, "beta")

    after = App(settings).forecast(NEED, ServiceStatus(), Bounds())

    assert (before.seconds, before.measured_rows) == (None, None)
    assert (after.seconds is None, after.measured_rows) == (False, 50)
