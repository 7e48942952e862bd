"""A run as the index of runs knows it: its plan, and each leg that has ended. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from proofsweep.domain.runs import EndedBy, Plan
from proofsweep.domain.tables.columns import Row

OUTCOMES = ("accepted", "rejected", "failed", "ineligible")

# What readers need of a receipt; its parts and digests stay in the receipt alone.
RECEIPT_MEMBERS = ("ended_by", "counts", "why", "quota_reset", "cpu_seconds", "duplicates", "drift")


@dataclass(frozen=True, slots=True, kw_only=True)
class LegRecord:
    """A leg that has ended.

    Attributes:
        receipt: of its receipt, the `RECEIPT_MEMBERS`.
        groups: its rows by outcome, verdict and reason, each with `rows` and an `example`; None if nobody counted.
        upload_share: which share of the time in exchanges its uploads took; None if it was not measured.
    """

    leg: int
    receipt: Mapping[str, object]
    groups: Sequence[Row] | None = None
    upload_share: float | None = None

    @property
    def counts(self) -> Mapping[str, object]:
        """The leg's row of `runs`; empty if its receipt has none."""
        counts = self.receipt.get("counts")
        return counts if isinstance(counts, dict) else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A run and its ended legs, the oldest first."""

    plan: Plan
    legs: Sequence[LegRecord] = ()

    @property
    def remaining(self) -> int:
        """How many rows have no outcome, by the last leg that ended."""
        found = self.legs[-1].counts.get("remaining") if self.legs else None
        return found if isinstance(found, int) else self.plan.items

    @property
    def is_over(self) -> bool:
        """Whether nobody needs to go on with it: no row remains, or it was superseded."""
        return not self.remaining or self.is_superseded

    @property
    def is_superseded(self) -> bool:
        """Whether other runs of the catalog took its place."""
        return any(leg.receipt.get("ended_by") == EndedBy.SUPERSEDED for leg in self.legs)

    def is_newer_than(self, other: "RunRecord | None") -> bool:
        """Say whether this record knows more: legs only end, they never come back."""
        return other is None or self._knowledge() > other._knowledge()  # noqa: SLF001 - the same class

    def document(self) -> dict[str, object]:
        """Give the record as JSON-ready values."""
        return {"plan": asdict(self.plan), "legs": [asdict(leg) for leg in self.legs]}

    def _knowledge(self) -> tuple[int, int]:
        return len(self.legs), sum(leg.groups is not None for leg in self.legs)
