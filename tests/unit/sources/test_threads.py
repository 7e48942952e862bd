"""Of several messages of a release, the newest is in force."""

import pytest

from proofsweep.sources.ddex_message import Header, Threads


def header(number: int, created: float = 1, **facts: object) -> Header:
    """Return the header of a live message of one release."""
    usual: dict[str, object] = {
        "location": f"/b/{number}/m.xml",
        "is_purge": False,
        "is_test": False,
        "has_files": True,
        "sender": "S",
        "message_id": f"M{number}",
        "thread_id": "T",
        "ids": ("ICPN:1",),
        "release_id": "1",
    }
    return Header(number=number, created=created, **(usual | facts))  # type: ignore[arg-type]  # as given above


def numbers(threads: Threads, number: int) -> list[int]:
    """Return the messages of the thread of one, the newest last."""
    return [each.number for each in threads.thread_of(number)]


def test_messages_of_a_release_are_sorted_by_their_creation() -> None:
    """Then by their IDs, then by their locations."""
    found = Threads([header(0, 3), header(1, 2, message_id="B"), header(2, 2, message_id="A")])

    assert numbers(found, 0) == numbers(found, 2) == [2, 1, 0]
    assert found.releases == 1


@pytest.mark.parametrize(
    "other",
    [
        {"sender": "X"},
        {"ids": ("ICPN:2",)},
        {"is_test": True},
        {"ids": ()},
    ],
)
def test_other_releases_and_senders_are_apart(other: dict[str, object]) -> None:
    """One thread ID for a whole batch joins nothing; a test changes nothing of a release."""
    found = Threads([header(0), header(1, 2, **other)])

    assert (numbers(found, 0), numbers(found, 1)) == ([0], [1])
    assert found.releases == 2


def test_release_is_known_by_any_of_its_ids() -> None:
    """An update may name only some."""
    found = Threads([header(0, 1, ids=("ICPN:1", "GRid:A")), header(1, 2, ids=("GRid:A",))])

    assert numbers(found, 0) == [0, 1]


def test_messages_without_ids_are_known_by_their_thread() -> None:
    """Without a thread, each stands alone."""
    found = Threads([header(0, ids=()), header(1, 2, ids=()), header(2, ids=(), thread_id="")])

    assert (numbers(found, 0), numbers(found, 2)) == ([0, 1], [2])


def test_purge_withdraws_what_was_sent_before() -> None:
    """What is sent later is a release again."""
    purge = header(1, 2, is_purge=True)
    found = Threads([header(0), purge, header(2, 3)])

    assert [found.is_withdrawn(each) for each in (header(0), purge, header(2, 3))] == [True, True, False]
    assert numbers(found, 1) == []


@pytest.mark.parametrize("other", [{"sender": "X"}, {"ids": ("ICPN:2",)}, {"is_test": True}])
def test_purge_is_of_one_sender_and_release(other: dict[str, object]) -> None:
    """Nobody withdraws the releases of others, and a test withdraws none."""
    assert not Threads([header(0), header(1, 2, is_purge=True, **other)]).is_withdrawn(header(0))


def test_purge_without_a_date_withdraws_all() -> None:
    """Somebody wants it gone."""
    assert Threads([header(0), header(1, 0, is_purge=True)]).is_withdrawn(header(0))
