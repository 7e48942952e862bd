"""All keys are listed, with what recorded rotations add."""

from datetime import timedelta

import pytest

from proofsweep.client.client import Partner
from proofsweep.domain.errors import CallFailed
from proofsweep.domain.exchanges import Call
from proofsweep.domain.operations import Rotation
from proofsweep.operations.rotate import list_keys

from ..scripted_service import NOW, Scripted, ScriptedService


def page(*key_ids: str, cursor: str | None = None) -> Scripted:
    """Make a page of keys."""
    keys = [{"keyId": key_id, "name": "n", "status": "quantum"} for key_id in key_ids]
    return Scripted(document={"keys": keys} | ({} if cursor is None else {"nextCursor": cursor}))


def rotation(old: str | None, new: str, fingerprint: str) -> Rotation:
    """Make a recorded rotation; `fingerprint` is of the new key."""
    return Rotation(
        operation_id="20261120T120000Z_000aa",
        environment="beta",
        key_fingerprint="0" * 12,
        new_key_fingerprint=fingerprint,
        requested_at=NOW,
        answered_at=NOW + timedelta(seconds=1),
        key_id=old,
        new_key_id=new,
    )


def test_all_pages_are_read_and_a_status_stays_as_received(partner: Partner, service: ScriptedService) -> None:
    """A whole inventory may still have a cursor; an empty page is not the last one."""
    service.script[Call.KEYS] = [page("k1", cursor="a"), page(cursor="b"), page("k2")]

    found = list_keys(partner, [], "f" * 12)

    assert [(each.record.key_id, each.record.status, each.is_in_use) for each in found] == [
        ("k1", "quantum", None),
        ("k2", "quantum", None),
    ]


def test_a_cursor_that_comes_twice_ends_the_list(partner: Partner, service: ScriptedService) -> None:
    """A service that turns in circles would take the whole quota."""
    service.script[Call.KEYS] = [page("k1", cursor="a"), page("k2", cursor="a")]

    with pytest.raises(CallFailed, match="does not end"):
        list_keys(partner, [], "f" * 12)


def test_recorded_rotations_say_which_key_is_in_use_and_which_ends(partner: Partner, service: ScriptedService) -> None:
    """The contract lets nobody ask for it."""
    service.script[Call.KEYS] = [page("k1", "k2", "k3")]
    rotations = [rotation(None, "k2", "a" * 12), rotation("k2", "k3", "b" * 12)]

    found = list_keys(partner, rotations, "b" * 12)

    assert [each.is_in_use for each in found] == [False, False, True]
    assert [each.replaced_by for each in found] == [None, rotations[1], None]
    assert [each.rotation for each in found] == [None, *rotations]
