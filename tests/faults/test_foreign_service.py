"""A service that keeps the contract, but differs from the sandbox in every choice, is used correctly."""

from datetime import UTC, datetime

from ..worlds.foreign_world import ForeignWorld

VERDICTS = ("valid", "tampered", "audioChanged", "unregistered", "unreadable", "local_seal")


def test_other_choices_of_the_service_are_understood(world: ForeignWorld) -> None:
    """Other header names, HTTP/1.0, no quota headers, unknown members, no storage IDs: every row is right.

    Every request ID and every call is recorded. A form has each field as received and in order, the file last with a
    neutral name; the storage gets no API key.
    """
    code = world.run("verify", world.catalog(*VERDICTS))

    rows, (leg,) = world.rows(), world.legs()
    assert code == 3
    assert [row["verdict"] for row in rows] == list(VERDICTS)
    assert [row["accepted"] for row in rows] == [True] + [False] * 5
    assert {row["storage_request_id"] for row in rows} == {None}
    assert world.service.ids() <= {row["request_id"] for row in world.table("exchanges")}
    assert leg["calls"] == world.service.charged
    assert (leg["quota_before"], leg["quota_after"]) == (None, None)
    assert leg["service_deployed_at"] == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    for parts in world.service.forms:
        names = [head.partition("\r\n")[0].partition("; ")[2] for head, _ in parts]
        assert names[:-1] == ['name="x:upload"', 'name=""', 'name="Ünïcode %22 name"', 'name="file-name"', 'name="z"']
        assert names[-1] == 'name="file"; filename="audio"'
        assert parts[2][1].decode() == "värde\r\nmit Zeile"
    audio = [(world.folder / f"{number}.wav").read_bytes() for number in range(len(VERDICTS))]
    assert sorted(parts[-1][1] for parts in world.service.forms) == sorted(audio)
    assert world.service.keyed_at_storage == []
