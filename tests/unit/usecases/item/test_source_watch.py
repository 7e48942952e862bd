"""A bucket that cannot be read is told from a file that cannot."""

import obstore
import pytest
from obstore.store import MemoryStore

from proofsweep.client.stop import StopSwitch
from proofsweep.domain.items import FileFacts
from proofsweep.domain.reasons import Reason
from proofsweep.errors import ResultsError, RunMustStop, SourceError
from proofsweep.storage.files.bucket_files import BucketFiles
from proofsweep.storage.files.files import Files
from proofsweep.usecases.item.source_watch import SourceStreak, SourceWatch

FORBIDDEN = SourceError("No access.", reason=Reason.SOURCE_FORBIDDEN)


class GuardedFiles(BucketFiles):
    """A bucket whose owner may close it."""

    is_closed = False

    def facts(self, location: str) -> FileFacts | None:
        """Refuse to tell while it is closed."""
        if self.is_closed:
            raise FORBIDDEN
        return super().facts(location)


class Clock:
    """Each reading is five seconds later."""

    now = 0.0

    def __call__(self) -> float:
        """Give the time."""
        self.now += 5.0
        return self.now


@pytest.fixture
def bucket() -> GuardedFiles:
    """A bucket with one object that can be read."""
    store = MemoryStore()
    obstore.put(store, "good.wav", b"x")
    return GuardedFiles(lambda _root: store)


@pytest.fixture
def watch(bucket: GuardedFiles) -> SourceWatch:
    """A watch that rests a moment only."""
    files = Files()
    files._buckets = bucket
    return SourceWatch(files, StopSwitch(), threshold=3, patience_seconds=0.04, clock=Clock())


def until_settled(watch: SourceWatch, location: str) -> None:
    """Fail with the same file until it is blamed, or until the leg ends."""
    while watch.is_worth_another_try(location, FORBIDDEN):
        pass


def test_one_forbidden_object_among_good_ones_is_to_blame(watch: SourceWatch) -> None:
    """At once: another can be read."""
    watch.was_read("s3://bucket/good.wav")

    assert [watch.is_worth_another_try(f"s3://bucket/{number}", FORBIDDEN) for number in range(9)] == [False] * 9
    assert watch.stop.reason is None


def test_a_fault_of_the_file_itself_is_nobody_elses(watch: SourceWatch) -> None:
    """An archived object says nothing of its bucket."""
    archived = SourceError("Archived.", reason=Reason.ARCHIVED)

    assert [watch.is_worth_another_try(f"s3://bucket/{number}", archived) for number in range(9)] == [False] * 9


def test_a_bucket_that_was_read_and_cannot_be_any_more_ends_the_leg(watch: SourceWatch, bucket: GuardedFiles) -> None:
    """No file is blamed; the message names the bucket, and the leg ends as by a breaker."""
    watch.was_read("s3://bucket/good.wav")
    bucket.is_closed = True

    with pytest.raises(RunMustStop, match="The source s3://bucket cannot be read: No access") as stopped:
        until_settled(watch, "s3://bucket/a.wav")

    assert stopped.value.ended_by == "breaker"
    assert watch.stop.reason is not None


def test_a_bucket_that_comes_back_costs_no_row(watch: SourceWatch, bucket: GuardedFiles) -> None:
    """While everybody waits it is opened anew, with fresh credentials; then the files are tried again."""
    watch.patience_seconds = 6.0
    watch.was_read("s3://bucket/good.wav")
    store = bucket._stores["s3://bucket"] if bucket.facts("s3://bucket/good.wav") else None
    bucket.is_closed = True

    waited = watch.is_worth_another_try("s3://bucket/a.wav", FORBIDDEN)
    was_reopened = bucket._stores.get("s3://bucket") is not store
    bucket.is_closed = False
    tried_again = watch.is_worth_another_try("s3://bucket/b.wav", FORBIDDEN)

    assert (waited, was_reopened, tried_again) == (True, True, True)
    assert not watch.is_worth_another_try("s3://bucket/b.wav", FORBIDDEN)


def test_many_that_fail_where_none_was_read_are_not_to_blame(watch: SourceWatch) -> None:
    """A few are, so that a catalog which ends in a few forbidden rows comes to its end."""
    blamed = [watch.is_worth_another_try(f"s3://bucket/{number}", FORBIDDEN) for number in range(2)]

    assert blamed == [False, False]
    with pytest.raises(RunMustStop):
        watch.is_worth_another_try("s3://bucket/3", FORBIDDEN)


def test_each_bucket_is_watched_by_itself(watch: SourceWatch) -> None:
    """That one can be read says nothing of another."""
    watch.was_read("s3://bucket/good.wav")

    for number in range(2):
        watch.is_worth_another_try(f"s3://other/{number}", FORBIDDEN)
    with pytest.raises(RunMustStop, match="s3://other"):
        watch.is_worth_another_try("s3://other/3", FORBIDDEN)


def test_files_of_this_machine_are_not_remembered() -> None:
    """A catalog may hold a million; only a bucket needs a file to compare with, and one is enough."""
    watch = SourceWatch(Files(), StopSwitch(), threshold=2, patience_seconds=1.0)

    for number in range(3):
        watch.was_read(f"/audio/{number}.wav")
        watch.was_read(f"s3://drops/{number}.wav")

    assert watch._last_read == {"s3://drops": "s3://drops/2.wav"}


def test_files_that_are_left_over_are_judged_by_one_that_an_earlier_leg_read(
    watch: SourceWatch, bucket: GuardedFiles
) -> None:
    """A leg that has nothing but forbidden files ends with them, and not in the breaker again and again."""
    watch.read_earlier = {"s3://bucket": "s3://bucket/good.wav"}.get

    blamed = [watch.is_worth_another_try(f"s3://bucket/{number}", FORBIDDEN) for number in range(9)]
    bucket.is_closed = True
    with pytest.raises(RunMustStop):
        until_settled(watch, "s3://bucket/9")

    assert blamed == [False] * 9


@pytest.mark.parametrize(
    ("failing", "is_away", "seconds", "end"),
    [
        (1, False, 0.0, "wait"),
        (99, True, 19.9, "wait"),
        (1, False, 20.0, "file"),
        (9, False, 20.0, "file"),
        (10, False, 20.0, "source"),
        (1, True, 20.0, "source"),
    ],
)
def test_after_some_patience_a_few_files_are_to_blame_and_many_are_not(
    bucket: GuardedFiles, failing: int, seconds: float, end: str, *, is_away: bool
) -> None:
    """Nor is a single one, when a file that was read before cannot be read either."""
    files, stop = Files(), StopSwitch()
    files._buckets, bucket.is_closed = bucket, is_away
    earlier = "s3://bucket/good.wav" if is_away else None
    watch = SourceWatch(files, stop, 10, 20.0, clock=lambda: 100.0 + seconds, read_earlier=lambda _root: earlier)
    watch._streaks["s3://bucket"] = SourceStreak(100.0, {str(number) for number in range(failing - 1)})
    stop.rest = lambda _seconds: None  # type: ignore[method-assign]

    try:
        ended = "wait" if watch.is_worth_another_try("s3://bucket/last", FORBIDDEN) else "file"
    except RunMustStop:
        ended = "source"

    assert ended == end


def test_a_results_store_that_fails_says_nothing_of_a_bucket(watch: SourceWatch) -> None:
    """Whether an earlier leg read a file of the bucket is asked again with the next failure."""
    answers: list[Exception | str] = [ResultsError("No route to the store."), "s3://bucket/good.wav"]

    def read_earlier(_root: str) -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    watch.read_earlier = read_earlier

    blamed = [watch.is_worth_another_try(f"s3://bucket/{number}", FORBIDDEN) for number in range(9)]

    assert (blamed, answers) == ([False] * 9, [])
