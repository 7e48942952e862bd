"""A few items tell what all of them will take."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from proofsweep.model.exchanges import Call
from proofsweep.model.items import WorkItem
from proofsweep.verify.item.verify_item import VerifyContext
from proofsweep.verify.plan.history import measure_sample

from ...scripted_service import Scripted, ScriptedService


def sample(wav: Path, count: int) -> list[WorkItem]:
    """Take a file several times."""
    return [WorkItem(manifest_row=number, item_id=str(number), audio=str(wav)) for number in range(count)]


def test_a_sample_is_measured_as_a_leg_is(verify_context: VerifyContext, service: ScriptedService, wav: Path) -> None:
    """Rows, calls with the two that look at the quota, bytes, and what the headroom fell by."""
    with ThreadPoolExecutor(2) as pool:
        measured = measure_sample(sample(wav, 3), verify_context, pool, headroom_before=910)

    assert measured is not None
    assert (measured.rows, measured.calls, measured.throttled, measured.quota_spent) == (3, 3 * 2 + 2, 0, 10)
    assert measured.sent_bytes == sum(len(body) for body in service.uploads) + 3 * len(b'{"uploadId": "u"}')
    assert measured.upload_share == pytest.approx(1 / 3)
    assert measured.seconds > 0


def test_items_that_cost_no_call_are_no_sample(verify_context: VerifyContext, wav: Path) -> None:
    """The file was replaced by something else since it was planned."""
    wav.write_bytes(b"fLaC" + bytes(64))

    with ThreadPoolExecutor(1) as pool:
        assert measure_sample(sample(wav, 2), verify_context, pool, headroom_before=910) is None


@pytest.mark.parametrize(
    ("before", "usage"),
    [
        (None, Scripted(document={}, remaining=900)),
        (910, Scripted(document={})),
        (910, Scripted(status=500)),
        (890, Scripted(document={}, remaining=900)),
    ],
)
def test_a_price_is_told_only_where_the_quota_was(
    verify_context: VerifyContext, service: ScriptedService, wav: Path, *, before: int | None, usage: Scripted
) -> None:
    """Told before and after, and it did not begin anew in between."""
    service.usual[Call.USAGE] = usage

    with ThreadPoolExecutor(1) as pool:
        measured = measure_sample(sample(wav, 1), verify_context, pool, before)

    assert measured is not None
    assert measured.quota_spent is None
