"""The receipts of a whole store as a graph: what holds what, and the digests that a person keeps elsewhere."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from proofsweep.domain import layout
from proofsweep.domain.audit.findings import Findings
from proofsweep.errors import UsageError
from proofsweep.storage.results.plans_and_parts import sha256_hex
from proofsweep.storage.results.receipt_links import ReceiptLink
from proofsweep.storage.results.store import Store
from proofsweep.usecases.audit.exceptions import Redactions
from proofsweep.usecases.audit.leg_receipts import read_receipts

# Chosen: requests that wait for a bucket at once, as for the index; half takes twice as long, twice gains little.
_AT_ONCE = 16

_HEAD = re.compile(r"[0-9a-f]{64}(\+[0-9a-f]{64})*")


@dataclass(slots=True)
class ReceiptGraph:
    """Which receipts there are, and which of them others name.

    Attributes:
        digests: hex sha256 of each receipt, by its name.
        links: what each receipt names, by its name.
        unlinked: receipts of earlier versions, which name none of other runs.
    """

    digests: dict[str, str] = field(default_factory=dict)
    links: dict[str, Sequence[ReceiptLink]] = field(default_factory=dict)
    unlinked: set[str] = field(default_factory=set)

    @property
    def head(self) -> str:
        """Join the digests that hold all receipts: of each that no other names, and one of earlier versions'."""
        named = {link.name for links in self.links.values() for link in links}
        tips = [digest for name, digest in self.digests.items() if name not in named | self.unlinked]
        return "+".join(sorted({*tips, *self._digest_of_unlinked()}))

    def _digest_of_unlinked(self) -> list[str]:
        lines = sorted(f"{self.digests[name]}  {name}\n" for name in self.unlinked)
        return [hashlib.sha256("".join(lines).encode()).hexdigest()] if lines else []

    def held_by(self, head: str) -> tuple[set[str], list[str]]:
        """Name the receipts that a head holds, and the digests in it that no receipt has."""
        by_digest = {digest: name for name, digest in self.digests.items()}
        held: set[str] = set()
        unknown: list[str] = []
        waiting: list[str] = []
        for digest in head.split("+"):
            if digest in by_digest:
                waiting.append(by_digest[digest])
            elif digest in self._digest_of_unlinked():
                waiting += self.unlinked
            else:
                unknown.append(digest)
        while waiting:
            name = waiting.pop()
            if name in self.digests and name not in held:
                held.add(name)
                waiting += [link.name for link in self.links[name]]
        return held, unknown

    def holders_of(self, names: Iterable[str]) -> set[str]:
        """Name some receipts, and all that hold one of them, over any number of others."""
        holders: dict[str, list[str]] = {}
        for name, links in self.links.items():
            for link in links:
                holders.setdefault(link.name, []).append(name)
        found: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += holders.get(name, [])
        return found


def checked_head(text: str) -> str:
    """Read a head as a person kept it.

    Raises:
        UsageError: it is none.
    """
    head = "".join(text.split()).lower()
    if not _HEAD.fullmatch(head):
        raise UsageError("A head is one digest of 64 hex digits, or more of them joined by +, as audit prints it.")
    return head


def read_graph(store: Store, run_ids: Iterable[str], redactions: Redactions, findings: Findings) -> ReceiptGraph:
    """Read all receipts, and see that each names the others as they are."""
    graph = ReceiptGraph()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for receipts in pool.map(lambda run_id: read_receipts(store, run_id, Findings()), run_ids):
            for leg, receipt in receipts.items():
                graph.digests[receipt.name] = receipt.sha256
                before = [] if receipt.previous is None else [(leg - 1, receipt.previous)]
                links = [ReceiptLink(layout.receipt_name(receipt.run_id, each), sha256) for each, sha256 in before]
                graph.links[receipt.name] = [*links, *(receipt.links or [])]
                graph.unlinked |= {receipt.name} if receipt.links is None else set()
    for number, completed in redactions.receipts.items():
        name = layout.redaction_receipt_name(number)
        graph.digests[name] = sha256_hex(store.read(name) or b"")
        graph.links[name] = [ReceiptLink(*link) for link in completed.links]
    _check_links(store, graph, findings)
    return graph


def check_head(graph: ReceiptGraph, head: str, findings: Findings) -> None:
    """Hold the store against a head that was kept elsewhere."""
    held, unknown = graph.held_by(head)
    for digest in unknown:
        what = "no receipt of this store has this digest: the records are not those that this head was taken of"
        findings.bad(f"head {digest}", what)
    beside = len(graph.digests) - len(held)
    if beside and not unknown:
        findings.note(f"head {head}", f"does not hold {beside:,} of {len(graph.digests):,} receipts: they are newer")


def _check_links(store: Store, graph: ReceiptGraph, findings: Findings) -> None:
    for name, links in graph.links.items():
        for link in links:
            found = graph.digests.get(link.name)
            if found is None and store.read(link.name) is None:
                findings.bad(link.name, f"is missing; {name} names it")
            elif found != link.sha256:
                findings.bad(link.name, f"was changed: {name} names another digest of it")
