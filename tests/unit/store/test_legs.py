"""Of each partition one leg is worked on at a time, and of a catalog the legs of one run."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import RunIsActive, RunMustStop
from proofsweep.store import layout
from proofsweep.store.legs import Legs, ask_to_stop, refuse_if_active, refuse_rivals
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results

from ...worlds.core import begin_leg, write_receipt
from ...worlds.ended_runs import plan_of_run
from ..scripted_service import NOW

A, B = plan_of_run("20261120T120000Z_000aa"), plan_of_run("20261120T120001Z_000aa")
OF_THREE = replace(plan_of_run("20261120T120002Z_000aa", 900), partitions=3)
MUSIC = (A.environment, A.identity)


@pytest.fixture
def planned(results: Results) -> Results:
    for plan in (A, B, OF_THREE):
        results.write_plan(plan)
    return results


def test_each_partition_has_legs_of_its_own(planned: Results) -> None:
    """Of three, the second one has 2, 5, 8."""
    legs = Legs(planned, OF_THREE)
    numbers = [legs.begin({}, partition).number for partition in (1, 0)]
    write_receipt(planned, OF_THREE, 2, {})
    numbers += [legs.begin({}, partition).number for partition in (1, 2)]

    assert numbers == [2, 1, 5, 3]
    assert [leg.leg for leg in legs.open()] == [1, 5, 3]
    with pytest.raises(RunIsActive, match=r"Leg 5 of run .* is being worked on by process"):
        legs.begin({}, 1)


def test_a_leg_is_lost_when_it_has_a_receipt_or_another_process_has_its_entry(planned: Results) -> None:
    """Some gateways let two creates of one name through; the one that came later stands."""
    held, other = Legs(planned, A).begin({}), Legs(planned, B).begin({})
    assert not held.is_lost()

    write_receipt(planned, A, 1, {})
    entry = Path(planned.store.url, layout.log_name(other.entry))
    facts = json.loads(entry.read_bytes())
    entry.write_text(json.dumps(facts | {"holder": facts["holder"] | {"token": "another"}}))

    assert held.is_lost()
    assert other.is_lost()


def test_of_a_catalog_one_run_is_worked_on(planned: Results) -> None:
    """Other catalogs and environments do not meet it; who comes is told who works."""
    read_after = refuse_if_active(planned, *MUSIC)
    held = Legs(planned, A).begin({})

    runs = planned.log.runs()
    with pytest.raises(RunIsActive, match=f"Leg 1 of run {A.run_id}"):
        refuse_rivals(planned, runs, *MUSIC, B.run_id)
    with pytest.raises(RunIsActive, match=f"Leg 1 of run {A.run_id}"):
        refuse_if_active(planned, *MUSIC)
    refuse_rivals(planned, runs, *MUSIC, A.run_id)
    refuse_if_active(planned, MUSIC[0], "/other")
    refuse_if_active(planned, "production", MUSIC[1])
    assert runs.began_after(replace(B, read_after=read_after)) == runs.records[A.run_id]
    assert runs.began_after(replace(B, read_after=held.entry)) is None
    assert runs.began_after(replace(A, read_after=read_after)) is None


def test_a_leg_of_a_process_that_is_gone_refuses_no_plan(planned: Results) -> None:
    begin_leg(planned, A, 1, is_killed=True)

    assert refuse_if_active(planned, *MUSIC) == planned.log.runs().through


def test_what_forbids_a_leg_is_asked_again_when_another_process_was_first(planned: Results) -> None:
    """It decides on what stands in the log right before its own entry."""

    class Late(FolderStore):
        def create(self, name: str, content: bytes) -> None:
            if layout.log_number(name) == 4:
                Legs(Results(FolderStore(Path(self.url))), A).begin({})
            super().create(name, content)

    late = Results(Late(Path(planned.store.url)))

    with pytest.raises(RunIsActive, match=f"run {A.run_id}"):
        Legs(late, B).begin({}, refuse=lambda runs: refuse_rivals(late, runs, *MUSIC, B.run_id))


def test_a_run_whose_planner_was_killed_before_its_entry_is_entered_by_its_first_leg(results: Results) -> None:
    results.write_plan(A)
    results.store.delete(layout.log_name(1))
    own = Results(results.store)

    Legs(own, A).begin({})

    assert [leg.leg for leg in own.log.runs().records[A.run_id].open] == [1]


def test_a_request_to_stop_is_for_one_process_alone(planned: Results) -> None:
    """The first one counts."""
    held = Legs(planned, A).begin({})
    (shown,) = Legs(planned, A).shown()
    other = replace(shown, holder=replace(shown.holder, token="another"))

    ask_to_stop(planned.store, other, NOW)
    assert held.stop_asked() is None
    ask_to_stop(planned.store, shown, NOW, RunMustStop("Enough.", ended_by=EndedBy.WINDOW))
    ask_to_stop(planned.store, shown, NOW)

    asked = held.stop_asked()
    assert asked is not None
    assert (asked.message, asked.ended_by) == ("Enough.", EndedBy.WINDOW)
