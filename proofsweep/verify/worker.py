"""Work through one batch of planned items after the other, on threads; what failed is tried again last."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice

from proofsweep.config.known_errors import known_error
from proofsweep.config.threads import Future, get_ident, wait
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ProofsweepError, ResourceShortage, ResultsError, RunMustStop
from proofsweep.domain.items import Row, WorkItem
from proofsweep.domain.outcomes import Deferred, Finished
from proofsweep.domain.reasons import Reason
from proofsweep.store.latest import Latest
from proofsweep.store.rows import row_of
from proofsweep.verify.item import verify_item
from proofsweep.verify.leg import Leg

# How soon an item begins after the results store is well again; twice as long costs that much once in an outage.
_STORE_CHECK_SECONDS = 0.2
# Over what has no row, at the end: a second one is for what an outage has met, the others for a service that is flaky.
_ROUNDS, _MOST_ROUNDS = 3, 15
_ITEMS_AT_ONCE = 1_000  # items whose rows are kept as they come, some 10 KB each, before they are packed


def verify_batch(leg: Leg, rows: range | None = None) -> int:
    """Work through what remains of some rows, or of all; return how many it finished. `work_last` does the rest."""
    with suppress(ResultsError, RunMustStop):  # the items, or the earlier answers of some, cannot be read now
        return _verified(leg, leg.completed.items(rows))
    return 0


def _verified(leg: Leg, items: Iterator[WorkItem]) -> int:
    """Verify items in portions; once the leg ends, no other item is read."""
    # A portion is begun before the one before it is awaited, so no thread is ever idle. What was begun is awaited,
    # whatever fails: a leg is settled after that.
    before = list[Future[bool | None]]()
    begun = list[Future[bool | None]]()
    finished = 0
    remaining = _until_stop(leg, items)
    latest: Latest | None = None
    try:
        while portion := list(islice(remaining, _ITEMS_AT_ONCE)):
            touched = [item.item_id for item in portion if item.is_touched]
            earlier: dict[str, Row] = {}
            # A store that cannot be read is waited for: what was answered already is not paid again.
            if touched:
                latest = latest or leg.attribution.awaited(partial(Latest, leg.results))
                earlier = leg.attribution.awaited(partial(latest.whole_answers, leg.plan.environment, touched))
            begun = []
            for item in _until_stop(leg, iter(portion)):
                known = replace(item, earlier=earlier.get(item.item_id)) if item.is_touched else item
                begun.append(leg.workers.submit(work_item, leg, known))
            finished += sum(bool(future.result()) for future in before)
            before = begun
        return finished + sum(bool(future.result()) for future in before)
    finally:
        wait([*before, *begun])


def _until_stop(leg: Leg, items: Iterator[WorkItem]) -> Iterator[WorkItem]:
    """Yield items while the leg goes on; none is read after that."""
    while leg.stop.reason is None and (item := next(items, None)) is not None:
        yield item


def work_item(leg: Leg, item: WorkItem) -> bool:
    """Verify one item and write its row down; False when the row remains, or waits for evidence.

    Once the service was seen to work, an item that failed before is tried again beside it: what is answered after that
    is evidence for both. A mistake of this program ends the leg.
    """
    try:
        is_written = _work(leg, item)
        again = leg.attribution.next_to_try_again()
        if again is not None:
            _work(leg, again)
    except ProofsweepError as error:  # such as for a proxy that cannot be used
        leg.stop.pull(RunMustStop(error.message, ended_by=EndedBy.BREAKER))
        return False
    except Exception as error:
        mistake = RunMustStop("A worker failed through a mistake of this program.", ended_by=EndedBy.ERROR)
        known = known_error(error)  # a full disk, say, ends the leg, and is no mistake
        leg.stop.pull(known if isinstance(known, RunMustStop) else mistake)
        raise
    return is_written


def _work(leg: Leg, item: WorkItem) -> bool:
    with suppress(RunMustStop):  # begin nothing that could not be written down
        while not leg.heartbeat.store_is_well or leg.trail.journal.is_full:
            leg.stop.rest(_STORE_CHECK_SECONDS)
    if leg.stop.reason is not None or not leg.attribution.may_try(item):
        return False
    # What the plan found ineligible makes no call, so it is written down also when no calls are left.
    is_free = item.ineligible is not None and not item.may_be_found
    if not is_free and not leg.budget.may_begin(item.manifest_row):
        return False
    began_at = leg.scheduler.clock()
    try:
        verify = partial(verify_item, item, leg.verify, partial(leg.trail.record, item.manifest_row))
        done = verify()
        # Where too few files can be opened, all items would run through in a moment: this one is tried again instead.
        if isinstance(done, Deferred) and done.shortage is not None:
            done = leg.attribution.awaited(partial(_done_unless_short, verify))
        if isinstance(done, Deferred):
            return False
        return leg.attribution.admit(done, row_of(done, leg.row_context), began_at)
    finally:
        leg.budget.release(item.manifest_row)
        leg.hanging.pop(get_ident(), None)


def _done_unless_short(verify: Callable[[], Finished | Deferred]) -> Finished | Deferred:
    done = verify()
    if isinstance(done, Deferred) and done.shortage is not None:
        raise ResourceShortage(done.shortage, reason=Reason.SOURCE_UNAVAILABLE)
    return done


def work_last(leg: Leg) -> None:
    """Finish what a leg has left: try what has no row again, with the service asked for each file, and check the rest.

    What an outage has met meanwhile is tried in another round. What remains then ends the leg.
    """
    leg.workers.await_beside(partial(_work_last, leg))  # it looks at folders, which may hang


def _work_last(leg: Leg) -> None:
    leg.workers.make_room()
    leg.verify = replace(leg.verify, duplicates=None)
    try:
        for number in range(_MOST_ROUNDS):
            if number >= _ROUNDS and not leg.attribution.has_undecided:
                break
            leg.stop.check()
            leg.attribution.awaited(partial(_verify_remaining, leg))
            leg.attribution.finish()
            if not leg.completed.remaining:
                return
        remaining = leg.completed.remaining
    except RunMustStop:
        return
    leg.stop.pull(RunMustStop(leg.attribution.sentence(remaining), ended_by=EndedBy.BREAKER))


def _verify_remaining(leg: Leg) -> None:
    waiting = leg.attribution.begin_round()
    _verified(leg, (item for item in leg.completed.items() if item.manifest_row not in waiting))
