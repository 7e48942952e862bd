"""Send files whose answers are known ahead of a leg."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from proofsweep.catalog.catalog import Catalog
from proofsweep.catalog.preflight import SizeLimits, work_item_of
from proofsweep.contract.verdicts import Verdict
from proofsweep.endings import EndedBy
from proofsweep.errors import ConfigError, RunMustStop
from proofsweep.model.items import ManifestRow, Mode, WorkItem
from proofsweep.model.outcomes import Accepted, Deferred, Outcome, Rejected, word_for
from proofsweep.model.tags import tag_of
from proofsweep.verify.item.verify_item import verify_item
from proofsweep.verify.leg.leg_context import LegContext

# Each canary costs two calls in every leg. Chosen: 200 calls at the most, which is little beside a night's quota.
MOST_CANARIES = 100

# Chosen: two calls of the negative control are at most a hundredth of the calls of such a leg.
_MANY_FILES = 100

_NO_ROW = -1
_EXPECTATIONS = frozenset({"accepted", "rejected", *Verdict})


@dataclass(frozen=True, slots=True)
class Canary:
    """One file with what must become of it: `accepted`, `rejected`, or a verdict as on the wire."""

    item: WorkItem
    expect: str

    def contradiction(self, outcome: Outcome) -> str | None:
        """Return in one clause how an outcome differs from what was expected; None when it does not."""
        if isinstance(outcome, Accepted | Rejected):
            verdict = outcome.answer.response.verdict
            return None if self.expect in {word_for(outcome), verdict} else f"came out {word_for(outcome)} ({verdict})"
        return f"could not be verified ({outcome.reason})"


def read_canaries(catalog: Catalog, limits: SizeLimits) -> list[Canary]:
    """Read a manifest whose column `expect` says of each file what must become of it.

    Raises:
        CatalogError: it cannot be read.
        ConfigError: a row expects what cannot be, its file cannot be sent, or there are too many.
    """
    canaries = [_canary_of(row, catalog, limits) for row in islice(catalog.rows(), MOST_CANARIES + 1)]
    if len(canaries) > MOST_CANARIES:
        raise ConfigError(f"{catalog.location}: more than {MOST_CANARIES} canaries; each costs two calls in every leg")
    return canaries


def send_canaries(leg: LegContext, canaries: Sequence[Canary]) -> None:
    """Verify the canaries before anything else of a leg; the first that comes out otherwise ends it.

    Their exchanges belong to no row. A failure ends the leg as well: before a night of calls is spent, it must be known
    that answers can be had.
    """
    anywhere = replace(leg.verify, files=leg.verify.files.within(None))
    for canary in canaries:
        if not leg.budget.admits(_NO_ROW):
            return
        done = verify_item(canary.item, anywhere, partial(leg.trail.note, None))
        leg.budget.release(_NO_ROW)
        if isinstance(done, Deferred):
            return
        if (wrong := canary.contradiction(done.outcome)) is not None:
            why = (
                f"The canary {canary.item.item_id} must be {canary.expect} and {wrong}: suspect another environment, "
                "the sidecar's wire name, an emptied registry, or that the canary itself was changed."
            )
            leg.stop.pull(RunMustStop(why, ended_by=EndedBy.BREAKER))


def send_negative_control(leg: LegContext) -> None:
    """Send the probe audio ahead of a leg of many files; one that is accepted ends it before anything is believed."""
    if leg.remaining.count < _MANY_FILES or leg.stop.reason is not None:
        return
    modes = {Mode.LEGACY_PAIR: leg.plan.pairs, Mode.ONE_FILE: leg.plan.eligible - leg.plan.pairs}
    for mode in (mode for mode, items in modes.items() if items):
        why = leg.control.false_acceptance(mode)
        if why is not None:
            leg.stop.pull(RunMustStop(why, ended_by=EndedBy.BREAKER))


def _canary_of(row: ManifestRow, catalog: Catalog, limits: SizeLimits) -> Canary:
    where = f"{catalog.location}: row {row.number + 1}"
    expect = (tag_of(row.tags, "expect") or "").strip()
    if expect not in _EXPECTATIONS:
        raise ConfigError(f"{where}: the column expect must say accepted, rejected or a verdict of the contract")
    item = work_item_of(row, catalog.name, limits)
    if item.ineligible is not None:
        raise ConfigError(f"{where}: this canary cannot be sent. {item.ineligible.detail}")
    return Canary(item, expect)
