"""The receipts of legs and prunings, held against each other; all of a store as a graph; and what an audit finds."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from proofsweep.domain.errors import ResultsError, UsageError
from proofsweep.domain.runs import OUTCOMES, Plan
from proofsweep.store import layout
from proofsweep.store.objects import REQUESTS_AT_ONCE, Store, sha256_hex
from proofsweep.store.parts import Part, ReceiptLink, Results, has_claim, links_in, receipted_parts
from proofsweep.store.prunings import Pruning, completed_at, prunings_of

_TOLERANCE = timedelta(days=1)  # a clock of another machine may be ahead by so much
_HEAD = re.compile(r"[0-9a-f]{64}(\+[0-9a-f]{64})*")


class AuditFinding(NamedTuple):
    where: str  # the object or run that it is about
    what: str


@dataclass(slots=True)
class Audit:
    """What an audit found, and how much it checked."""

    head: str = ""  # digests of the receipts that no other receipt holds, joined by `+`; empty without receipts
    wrong: list[AuditFinding] = field(default_factory=list)  # records that were changed, or contradict each other
    notes: list[AuditFinding] = field(default_factory=list)  # all is as it should be, but a reader should know it
    runs: int = 0
    operations: int = 0
    legs: int = 0
    parts: int = 0
    rows: int = 0  # of `verdicts`
    pruned_parts: int = 0

    def bad(self, where: str, what: str) -> None:
        self.wrong.append(AuditFinding(where, what))

    def note(self, where: str, what: str) -> None:
        self.notes.append(AuditFinding(where, what))

    def document(self) -> dict[str, object]:
        return {
            "ok": not self.wrong,
            "head": self.head,
            "runs": self.runs,
            "legs": self.legs,
            "operations": self.operations,
            "parts": self.parts,
            "rows": self.rows,
            "parts_pruned": self.pruned_parts,
            "wrong": [each._asdict() for each in self.wrong],
            "notes": [each._asdict() for each in self.notes],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LegReceipt:
    name: str
    sha256: str  # of its bytes, in hex
    run_id: str
    leg: int
    ended_by: str
    counts: Mapping[str, Any]
    parts: Sequence[Part]
    plan_sha256: str
    previous: str | None  # the digest of the receipt before it, as it says; None for the first
    links: Sequence[ReceiptLink]  # the other receipts that it names


def leg_numbers(store: Store, run_id: str) -> list[int]:
    """List the legs that have a claim or a receipt, also beyond a gap; a folder alone is no leg yet."""
    folders = {int(name) for name in store.folders(layout.legs_folder(run_id)) if name.isdecimal()}
    listed = {leg for leg in folders if has_claim(store, run_id, leg) or store.read(layout.receipt_name(run_id, leg))}
    number = 1
    while number in listed or has_claim(store, run_id, number):  # a listing may lag behind
        listed.add(number)
        number += 1
    return sorted(listed)


def read_receipts(store: Store, run_id: str, audit: Audit) -> dict[int, LegReceipt]:
    found: dict[int, LegReceipt] = {}
    for leg in leg_numbers(store, run_id):
        name = layout.receipt_name(run_id, leg)
        content = store.read(name)
        if content is not None:
            receipt = _receipt_of(name, content)
            if receipt is None:
                audit.bad(name, "cannot be read as a receipt")
            else:
                found[leg] = receipt
    return found


def check_chain(store: Store, run_id: str, receipts: Mapping[int, LegReceipt], audit: Audit) -> None:
    numbers = leg_numbers(store, run_id)
    plan = store.read(layout.plan_name(run_id))
    for leg in range(1, max(numbers, default=0) + 1):
        name = layout.receipt_name(run_id, leg)
        if not has_claim(store, run_id, leg):
            audit.bad(layout.claim_name(run_id, leg), "is missing, but the leg left something behind")
        if leg in receipts:
            for what in _contradictions(receipts[leg], run_id, leg, plan, receipts.get(leg - 1)):
                audit.bad(name, what)
        elif store.read(name) is None and leg < max(receipts, default=0):
            audit.bad(name, "is missing, though a later leg has ended")
        elif store.read(name) is None:
            audit.note(run_id, f"leg {leg} has no receipt: it is at work, or was killed (then resume the run)")


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
    counted = sum(count for name in OUTCOMES if isinstance(count := receipt.counts.get(name), int))
    if rows != counted:
        yield f"counts {counted:,} outcomes, but names parts with {rows:,} rows"


def _receipt_of(name: str, content: bytes) -> LegReceipt | None:
    try:
        said: dict[str, Any] = json.loads(content)
        previous = said["previous_receipt_sha256"]
        return LegReceipt(
            name=name,
            sha256=sha256_hex(content),
            run_id=str(said["run_id"]),
            leg=int(said["leg"]),
            ended_by=str(said["ended_by"]),
            counts=dict(said["counts"]),
            parts=receipted_parts(said),
            plan_sha256=str(said["plan_sha256"]),
            previous=None if previous is None else str(previous),
            links=list(links_in(said)),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def read_prunings(store: Store, run_id: str, audit: Audit) -> Sequence[Pruning]:
    try:
        prunings = prunings_of(store, run_id)
        open_ones = [pruning for pruning in prunings if completed_at(store, pruning) is None]
    except (ResultsError, ValueError, KeyError, TypeError):
        audit.bad(layout.pruning_folder(run_id), "holds a damaged intent or receipt of a pruning")
        return []
    if [(each.run_id, each.number) for each in prunings] != [(run_id, each + 1) for each in range(len(prunings))]:
        audit.bad(layout.pruning_folder(run_id), "holds the intent of a pruning of another run or number")
    for pruning in open_ones:
        name = layout.pruning_intent_name(run_id, pruning.number)
        audit.note(name, "has no receipt: the pruning was interrupted; repeat proofsweep prune")
    return prunings


def check_claims(  # noqa: PLR0917 - the two sides that are compared
    results: Results,
    plan: Plan,
    receipts: Mapping[int, LegReceipt],
    prunings: Sequence[Pruning],
    held: Collection[str],
    now: datetime,
    audit: Audit,
) -> None:
    """Check the prunings of one run, the oldest first; `held` are the names of all objects that receipts hold."""
    ends = [str(each.counts["finished_at"]) for each in receipts.values() if each.counts.get("finished_at")]
    ended = max(map(datetime.fromisoformat, [*ends, plan.created_at]))
    gone: set[str] = set()
    for pruning in prunings:
        name = layout.pruning_intent_name(plan.run_id, pruning.number)
        gone |= {each.name for each in pruning.deleted}
        for what in _false_claims(pruning, ended, now):
            audit.bad(name, what)
        if name not in held:
            audit.bad(name, "is held by no receipt: repeat proofsweep prune if it was interrupted; else it is false")
    named = {part.name for receipt in receipts.values() for part in receipt.parts if part.name.startswith("verdicts/")}
    if prunings and named - gone != set(prunings[-1].kept) & named:
        name = layout.pruning_intent_name(plan.run_id, prunings[-1].number)
        audit.bad(name, "does not say of each part of verdicts whether it was kept")
    if named and named <= gone and not _is_answered_elsewhere(results, plan):
        audit.bad(plan.run_id, f"has lost all answers to a pruning, and no other run of {plan.environment} has any")


def _false_claims(pruning: Pruning, ended: datetime, now: datetime) -> list[str]:
    try:
        decided, said = map(datetime.fromisoformat, (pruning.decided_at, pruning.run_ended_at))
        is_old = decided - ended >= timedelta(days=max(1, pruning.older_than_days))
        found = [] if is_old else [f"prunes a run that was not {pruning.older_than_days} days old: it ended {ended}"]
        found += [] if said == ended.replace(microsecond=0) else ["names another end of the run than its receipts"]
        return found + (["was decided in the future"] if decided > now + _TOLERANCE else [])
    except (ValueError, TypeError):
        return ["has an instant that cannot be read"]


def _is_answered_elsewhere(results: Results, plan: Plan) -> bool:
    for run_id in reversed(results.store.folders("_runs")):
        if run_id != plan.run_id:
            try:
                other = results.plan(run_id)
                if other.environment == plan.environment and results.parts_of("verdicts", other):
                    return True
            except (ResultsError, ValueError, TypeError, KeyError):
                continue  # a finding already
    return False


@dataclass(slots=True)
class ReceiptGraph:
    digests: dict[str, str] = field(default_factory=dict)  # hex sha256 of each receipt, by its name
    links: dict[str, Sequence[ReceiptLink]] = field(default_factory=dict)  # what each receipt names, by its name

    @property
    def head(self) -> str:
        """Join the digests of the receipts that no other names: they hold all."""
        named = {link.name for links in self.links.values() for link in links}
        return "+".join(sorted({digest for name, digest in self.digests.items() if name not in named}))

    def held_by(self, head: str) -> tuple[set[str], list[str]]:
        by_digest = {digest: name for name, digest in self.digests.items()}
        digests = head.split("+")
        held: set[str] = set()
        waiting = [by_digest[digest] for digest in digests if digest in by_digest]
        while waiting:
            name = waiting.pop()
            if name not in held:
                held.add(name)
                waiting += [link.name for link in self.links[name] if link.name in self.digests]
        return held, [digest for digest in digests if digest not in by_digest]


def checked_head(text: str) -> str:
    """Read a head as a person kept it; UsageError if it is none."""
    head = "".join(text.split()).lower()
    if not _HEAD.fullmatch(head):
        raise UsageError("A head is one digest of 64 hex digits, or more of them joined by +, as audit prints it.")
    return head


def read_graph(store: Store, run_ids: Iterable[str], audit: Audit) -> ReceiptGraph:
    graph = ReceiptGraph()
    with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
        for receipts in pool.map(lambda run_id: read_receipts(store, run_id, Audit()), run_ids):
            for receipt in receipts.values():
                graph.digests[receipt.name], graph.links[receipt.name] = receipt.sha256, receipt.links
        names = [layout.operation_receipt_name(each) for each in store.folders(layout.OPERATIONS_FOLDER)]
        names += [name for name in store.names(layout.PRUNED_FOLDER) if name.endswith("-receipt.json")]
        for name, content in pool.map(lambda name: (name, store.read(name)), names):
            if content is not None:
                graph.digests[name], graph.links[name] = sha256_hex(content), _links_in(name, content, audit)
    _check_links(store, graph, audit)
    return graph


def check_head(graph: ReceiptGraph, head: str, audit: Audit) -> None:
    held, unknown = graph.held_by(head)
    for digest in unknown:
        what = "no receipt of this store has this digest: the records are not those that this head was taken of"
        audit.bad(f"head {digest}", what)
    beside = len(graph.digests) - len(held)
    if beside and not unknown:
        audit.note(f"head {head}", f"does not hold {beside:,} of {len(graph.digests):,} receipts: they are newer")


def _links_in(name: str, content: bytes, audit: Audit) -> list[ReceiptLink]:
    try:
        return list(links_in(json.loads(content)))
    except (ValueError, TypeError, KeyError):
        if name.startswith(layout.PRUNED_FOLDER):  # the others are findings already
            audit.bad(name, "cannot be read as a receipt")
        return []


def _check_links(store: Store, graph: ReceiptGraph, audit: Audit) -> None:
    for name, links in graph.links.items():
        for link in links:
            content = b"" if link.name in graph.digests else store.read(link.name)
            if content is None:
                audit.bad(link.name, f"is missing; {name} names it")
            elif graph.digests.get(link.name, sha256_hex(content)) != link.sha256:
                audit.bad(link.name, f"was changed: {name} names another digest of it")
