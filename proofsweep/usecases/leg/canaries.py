"""Send files whose answers are known ahead of a leg, and one of our own to ask whether the service answers at all."""

import io
import wave
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice

from proofsweep.client.partner import Partner
from proofsweep.client.stop import StopSwitch
from proofsweep.contract.verdicts import Verdict
from proofsweep.domain.items import FileFacts, ManifestRow, WorkItem
from proofsweep.domain.outcomes import Accepted, Deferred, Outcome, Rejected, word_for
from proofsweep.domain.preflight import SizeLimits, work_item_of
from proofsweep.errors import ConfigError, RunMustStop
from proofsweep.storage.catalog.open_catalog import Catalog
from proofsweep.storage.files.files import Files
from proofsweep.storage.files.source import OpenFile
from proofsweep.usecases.item.item_work import Record, VerifyContext
from proofsweep.usecases.item.source_watch import SourceWatch
from proofsweep.usecases.item.verify_item import verify_item
from proofsweep.usecases.leg.leg_context import LegContext

# Each canary costs two calls in every leg. Chosen: 200 calls at the most, which is little beside a night's quota.
MOST_CANARIES = 100

_NO_ROW = -1
_EXPECTATIONS = frozenset({"accepted", "rejected", *Verdict})


@dataclass(frozen=True, slots=True)
class Canary:
    """One file with what must become of it: `accepted`, `rejected`, or a verdict as on the wire."""

    item: WorkItem
    expect: str

    def contradiction(self, outcome: Outcome) -> str | None:
        """Say in one clause how an outcome differs from what was expected; None when it does not."""
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
    sources = leg.verify.sources
    anywhere = replace(leg.verify, sources=replace(sources, files=sources.files.within(None)))
    for canary in canaries:
        if not leg.budget.admits(_NO_ROW):
            return
        done = verify_item(canary.item, anywhere, leg.trail.of_row(None))
        leg.budget.release(_NO_ROW)
        if isinstance(done, Deferred):
            return
        if (wrong := canary.contradiction(done.outcome)) is not None:
            leg.stop.pull(RunMustStop(_suspicion(canary, wrong), ended_by="breaker"))


class HealthProbe:
    """Sends a canary of our own, a tenth of a second of silence; any verdict shows that the service answers."""

    def __init__(self, record: Record) -> None:
        """Take what records the exchanges, which belong to no row."""
        self._record = record
        self._item = WorkItem(manifest_row=_NO_ROW, item_id="health probe", audio="health probe")
        self._sources = SourceWatch(_ProbeFiles(), StopSwitch(), threshold=2, patience_seconds=0.0)

    def __call__(self, partner: Partner) -> None:
        """Take the probe through the core flow; the dispatcher sees each exchange and knows what it means."""
        context = VerifyContext(
            partner=partner, limits=SizeLimits(), sources=self._sources, clock=lambda: datetime.now(UTC)
        )
        verify_item(self._item, context, self._record)


class _ProbeFile(OpenFile):
    """The probe's audio."""

    def __init__(self) -> None:
        written = io.BytesIO()
        with wave.open(written, "wb") as file:
            file.setparams((1, 2, 44_100, 0, "NONE", ""))
            file.writeframes(bytes(8_820))
        self._content = written.getvalue()

    def facts(self) -> FileFacts:
        return FileFacts(len(self._content), "")

    def read_at(self, offset: int, most_bytes: int) -> bytes:
        return self._content[offset : offset + most_bytes]

    def close(self) -> None:
        """Nothing is open."""


class _ProbeFiles(Files):
    """A source that holds the probe's audio alone."""

    def facts(self, location: str) -> FileFacts:
        """Give the facts that it always has."""
        with self.open(location) as file:
            return file.facts()

    def open(self, location: str, *, is_whole: bool = False) -> _ProbeFile:  # noqa: ARG002 - there is one file
        """Open it."""
        return _ProbeFile()


def _canary_of(row: ManifestRow, catalog: Catalog, limits: SizeLimits) -> Canary:
    where = f"{catalog.location}: row {row.number + 1}"
    expect = row.tags.get("expect", "").strip()
    if expect not in _EXPECTATIONS:
        raise ConfigError(f"{where}: the column expect must say accepted, rejected or a verdict of the contract")
    item = work_item_of(row, catalog.name, limits)
    if item.ineligible is not None:
        raise ConfigError(f"{where}: this canary cannot be sent. {item.ineligible.detail}")
    return Canary(item, expect)


def _suspicion(canary: Canary, wrong: str) -> str:
    return (
        f"The canary {canary.item.item_id} must be {canary.expect} and {wrong}: suspect another environment, the "
        "sidecar's wire name, an emptied registry, or that the canary itself was changed."
    )
