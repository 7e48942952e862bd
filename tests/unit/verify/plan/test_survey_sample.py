"""Some items stand for all: those that are sent to measure the pace."""

from pathlib import Path

import pytest

from proofsweep.catalog.open_catalog import open_catalog
from proofsweep.catalog.preflight import SizeLimits
from proofsweep.files.files import Files
from proofsweep.model.items import WorkItem
from proofsweep.model.reasons import Ineligible, Reason
from proofsweep.verify.plan.deep_look import DeepLook
from proofsweep.verify.plan.survey import Surveyed, spread, survey_catalog

from ...wired import WAV

LIMITS = SizeLimits()
DOUBTFUL = WAV + b"more than the header says"


def items(eligible: int, *, of: int) -> list[WorkItem]:
    """Make items of which the last ones cannot be sent."""
    unfit = Ineligible(Reason.EMPTY, "No bytes.")
    return [
        WorkItem(manifest_row=number, item_id=str(number), audio="/a", ineligible=None if number < eligible else unfit)
        for number in range(of)
    ]


@pytest.mark.parametrize(
    ("eligible", "count", "picked"),
    [
        (10, 1, [0]),
        (10, 2, [0, 5]),
        (10, 3, [0, 4, 7]),
        (10, 10, list(range(10))),
        (3, 20, [0, 1, 2]),
    ],
)
def test_a_sample_is_spread_evenly(eligible: int, count: int, picked: list[int]) -> None:
    """Over what can be sent, from the first item on; never more than there are."""
    chosen = spread(items(eligible, of=12), eligible, count)

    assert [item.manifest_row for item in chosen] == picked


@pytest.mark.parametrize("count", [1, 7, 99, 100])
def test_as_many_are_picked_as_were_asked_for(count: int) -> None:
    """Whatever the rounding."""
    assert len(list(spread(items(100, of=100), 100, count))) == count


def test_a_sample_is_of_what_the_look_lets_through(tmp_path: Path) -> None:
    """Nothing of what is left out is sent to measure the pace, and as many files are sent as were asked for."""
    for number in range(40):
        (tmp_path / f"{number:02}.wav").write_bytes(WAV if number % 2 else DOUBTFUL)
    catalog, look = open_catalog(str(tmp_path), sidecar_names=[]), DeepLook(files=Files(), skips_bare=True)
    survey = survey_catalog(catalog, LIMITS, look)

    sample = Surveyed(catalog, survey, look).sample(LIMITS, 4)

    assert (survey.eligible, survey.deep_look.refused) == (20, 20)
    assert len(sample) == 4
    assert {int(Path(item.audio).stem) % 2 for item in sample} == {0}
