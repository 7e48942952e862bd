"""A service that keeps to the contract's letter and is contrary in every silence is as good as any."""

from datetime import UTC, datetime
from typing import Any

World = Any

VERDICTS = ("valid", "tampered", "audioChanged", "unregistered", "unreadable", "local_seal")


def test_a_contrary_service_is_understood(world: World) -> None:
    """Odd header names, HTTP/1.0 manners, no quota headers, unknown members, storage ids absent: every row is right."""
    code = world.run("verify", world.catalog(*VERDICTS))

    rows = world.rows()
    assert code == 3
    assert [row["verdict"] for row in rows] == list(VERDICTS)
    assert [row["accepted"] for row in rows] == [True] + [False] * 5
    assert {row["storage_request_id"] for row in rows} == {None}


def test_the_form_is_what_the_slot_asked_for(world: World) -> None:
    """Every field as received and in its order, the file last and under a neutral name; no key at the storage."""
    world.run("verify", world.catalog("valid"))

    (parts,) = world.service.forms
    names = [head.partition("\r\n")[0].partition("; ")[2] for head, _ in parts]
    assert names == ['name="x:upload"', 'name=""', 'name="Ünïcode %22 name"', 'name="file-name"', 'name="z"', names[-1]]
    assert names[-1] == 'name="file"; filename="audio"'
    assert parts[2][1].decode() == "värde\r\nmit Zeile"
    assert parts[-1][1] == (world.folder / "0.wav").read_bytes()
    assert world.service.keyed_at_storage == []


def test_every_request_id_and_every_call_is_on_record(world: World) -> None:
    """Also where only x-amzn-requestid is sent, and where the usage is not told in headers."""
    world.run("verify", world.catalog(*VERDICTS))

    (leg,) = world.legs()
    assert world.service.ids() <= {row["request_id"] for row in world.table("exchanges")}
    assert leg["calls"] == world.service.charged
    assert (leg["quota_before"], leg["quota_after"]) == (None, None)
    assert leg["service_deployed_at"] == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
