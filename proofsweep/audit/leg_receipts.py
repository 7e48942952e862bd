"""The receipts of a run's legs: read as far as they can be, and held against each other."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proofsweep.audit.findings import Findings
from proofsweep.model import layout
from proofsweep.store.plans_and_parts import sha256_hex
from proofsweep.store.receipt_links import ReceiptLink, links_in
from proofsweep.store.receipts import Part, has_claim
from proofsweep.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class LegReceipt:
    """A leg's receipt as it is in the store.

    Attributes:
        sha256: of its bytes, in hex.
        previous: the digest of the receipt before it, as it says; None for the first.
        links: the other receipts that it names.
        drift_sha256: the digest of the leg's part of `drift`; None if it has none.
    """

    name: str
    sha256: str
    run_id: str
    leg: int
    ended_by: str
    counts: Mapping[str, Any]
    parts: Sequence[Part]
    merkle_roots: Mapping[str, str]
    plan_sha256: str
    previous: str | None
    links: Sequence[ReceiptLink]
    drift_sha256: str | None

    def count(self, column: str) -> int:
        """Give a count of the leg's row in `runs`; 0 if it has none."""
        found = self.counts.get(column)
        return found if isinstance(found, int) else 0


def leg_numbers(store: Store, run_id: str) -> list[int]:
    """List the legs that have a claim or a receipt, also beyond a gap; a folder alone is no leg yet."""
    folders = {int(name) for name in store.folders(layout.legs_folder(run_id)) if name.isdecimal()}
    listed = {leg for leg in folders if has_claim(store, run_id, leg) or store.read(layout.receipt_name(run_id, leg))}
    number = 1
    while number in listed or has_claim(store, run_id, number):  # a listing may lag behind
        listed.add(number)
        number += 1
    return sorted(listed)


def read_receipts(store: Store, run_id: str, findings: Findings) -> dict[int, LegReceipt]:
    """Read all receipts of a run; what cannot be read is a finding."""
    found: dict[int, LegReceipt] = {}
    for leg in leg_numbers(store, run_id):
        name = layout.receipt_name(run_id, leg)
        content = store.read(name)
        if content is not None:
            receipt = _receipt_of(name, content)
            if receipt is None:
                findings.bad(name, "cannot be read as a receipt")
            else:
                found[leg] = receipt
    return found


def check_chain(store: Store, run_id: str, receipts: Mapping[int, LegReceipt], findings: Findings) -> None:
    """Hold the receipts of a run against each other, its claims and its plan."""
    numbers = leg_numbers(store, run_id)
    plan = store.read(layout.plan_name(run_id))
    for leg in range(1, max(numbers, default=0) + 1):
        name = layout.receipt_name(run_id, leg)
        if not has_claim(store, run_id, leg):
            findings.bad(layout.claim_name(run_id, leg), "is missing, but the leg left something behind")
        if leg in receipts:
            for what in _contradictions(receipts[leg], run_id, leg, plan, receipts.get(leg - 1)):
                findings.bad(name, what)
        elif store.read(name) is None and leg < max(receipts, default=0):
            findings.bad(name, "is missing, though a later leg has ended")
        elif store.read(name) is None:
            findings.note(run_id, f"leg {leg} has no receipt: it is at work, or was killed (then resume the run)")


def _contradictions(
    receipt: LegReceipt, run_id: str, leg: int, plan: bytes | None, before: LegReceipt | None
) -> Iterator[str]:
    if (receipt.run_id, receipt.leg) != (run_id, leg):
        yield f"is the receipt of leg {receipt.leg} of run {receipt.run_id}"
    if plan is not None and receipt.plan_sha256 != sha256_hex(plan):
        yield "names another digest of plan.json than that file has: one of them was changed"
    if leg == 1 and receipt.previous is not None:
        yield "names a receipt before it, but it is the first"
    if leg > 1 and before is not None and receipt.previous != before.sha256:
        yield f"names another digest of the receipt of leg {leg - 1} than that file has: one of them was changed"
    rows = sum(part.rows for part in receipt.parts if part.name.startswith("verdicts/"))
    counted = sum(receipt.count(outcome) for outcome in ("accepted", "rejected", "failed", "ineligible"))
    if rows != counted:
        yield f"counts {counted:,} outcomes, but names parts with {rows:,} rows"


def _receipt_of(name: str, content: bytes) -> LegReceipt | None:
    try:
        said: dict[str, Any] = json.loads(content)
        previous, drift = said["previous_receipt_sha256"], said["drift_sha256"]
        return LegReceipt(
            name=name,
            sha256=sha256_hex(content),
            run_id=str(said["run_id"]),
            leg=int(said["leg"]),
            ended_by=str(said["ended_by"]),
            counts=dict(said["counts"]),
            parts=[Part(name=each["name"], rows=int(each["rows"]), sha256=each["sha256"]) for each in said["parts"]],
            merkle_roots={str(part): str(root) for part, root in said["merkle_roots"].items()},
            plan_sha256=str(said["plan_sha256"]),
            previous=None if previous is None else str(previous),
            links=list(links_in(said)),
            drift_sha256=None if drift is None else str(drift),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
