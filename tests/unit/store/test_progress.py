"""A leg's progress says in plain words what it waits for, and survives its way through a heartbeat."""

import json
from datetime import UTC, datetime

import pytest

from proofsweep.store.progress import LegProgress, WaitsFor, progress_in

PAUSED_UNTIL = datetime(2026, 11, 20, 3, 12, tzinfo=UTC)
PROGRESS = LegProgress(
    rows=5_000,
    finished_before=1_200,
    counts={"accepted": 30, "rejected": 4},
    rate=1.2345,
    calls=70,
    call_rate=2.5,
    seconds_left=3050.3,
    lane_rate=2.6,
    quota_left=400,
    sent_bytes=1_000,
    in_flight=12,
    uploads=3,
    paused_until=PAUSED_UNTIL,
    waits_for=WaitsFor.PAUSE,
    waits_since=datetime(2026, 11, 20, 2, 12, tzinfo=UTC),
)


@pytest.mark.parametrize(
    ("waits_for", "words"),
    [
        (None, ""),
        (WaitsFor.PAUSE, "the service asked for a pause until 03:12:00 UTC"),
        (WaitsFor.STOP, "stopping: 12 files in flight"),
        (WaitsFor.UPLOADS, "uploading 3 files"),
        (WaitsFor.STORE, "the results store cannot be written"),
    ],
)
def test_what_it_waits_for_is_said_in_plain_words(waits_for: WaitsFor | None, words: str) -> None:
    """A person at another terminal reads it."""
    waiting = LegProgress(rows=9, counts={}, in_flight=12, uploads=3, paused_until=PAUSED_UNTIL, waits_for=waits_for)

    assert waiting.waiting == words


@pytest.mark.parametrize("waits_for", list(WaitsFor))
def test_each_reason_to_wait_has_words(waits_for: WaitsFor) -> None:
    """One file is not written as several."""
    words = LegProgress(rows=9, counts={}, in_flight=1, uploads=1, waits_for=waits_for).waiting

    assert words
    assert not {"{", "1 files"} & set(words.partition(":"))


def test_progress_is_read_as_it_was_written() -> None:
    """Instants are ISO text; rates are rounded for people who read the heartbeat itself."""
    document = json.loads(json.dumps(PROGRESS.document()))

    assert document["waiting"] == "the service asked for a pause until 03:12:00 UTC"
    assert document["paused_until"] == "2026-11-20T03:12:00+00:00"
    assert progress_in(document) == LegProgress(
        **{name: getattr(PROGRESS, name) for name in LegProgress.__slots__} | {"rate": 1.23}  # type: ignore[arg-type]
    )


def test_a_later_version_may_tell_more() -> None:
    """What is not known is ignored."""
    assert progress_in(PROGRESS.document() | {"mood": "good", "rate": 1.2345}) == PROGRESS


@pytest.mark.parametrize(
    "document",
    [None, 3, "text", {}, {"rows": 5}, {"rows": 5, "counts": {"accepted": "x"}}, {"rows": 5, "counts": 3}]
    + [PROGRESS.document() | broken for broken in ({"waits_for": "luck"}, {"paused_until": "soon"})],
)
def test_what_cannot_be_understood_is_none(document: object) -> None:
    """A display then says that nothing is known, and the sign of life still counts."""
    assert progress_in(document) is None
