"""The receipts of a whole store as a graph: what holds what, and the digests that a person keeps elsewhere."""

import json
import re
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from proofsweep.audit.findings import Findings
from proofsweep.audit.leg_receipts import read_receipts
from proofsweep.domain.errors import UsageError
from proofsweep.store import layout
from proofsweep.store.receipts import ReceiptLink, links_in
from proofsweep.store.store import REQUESTS_AT_ONCE, Store, sha256_hex

_HEAD = re.compile(r"[0-9a-f]{64}(\+[0-9a-f]{64})*")


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


def read_graph(store: Store, run_ids: Iterable[str], findings: Findings) -> ReceiptGraph:
    graph = ReceiptGraph()
    with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
        for receipts in pool.map(lambda run_id: read_receipts(store, run_id, Findings()), run_ids):
            for receipt in receipts.values():
                graph.digests[receipt.name], graph.links[receipt.name] = receipt.sha256, receipt.links
        names = [layout.operation_receipt_name(each) for each in store.folders(layout.OPERATIONS_FOLDER)]
        names += [name for name in store.names(layout.PRUNED_FOLDER) if name.endswith("-receipt.json")]
        for name, content in pool.map(lambda name: (name, store.read(name)), names):
            if content is not None:
                graph.digests[name], graph.links[name] = sha256_hex(content), _links_in(name, content, findings)
    _check_links(store, graph, findings)
    return graph


def check_head(graph: ReceiptGraph, head: str, findings: Findings) -> None:
    held, unknown = graph.held_by(head)
    for digest in unknown:
        what = "no receipt of this store has this digest: the records are not those that this head was taken of"
        findings.bad(f"head {digest}", what)
    beside = len(graph.digests) - len(held)
    if beside and not unknown:
        findings.note(f"head {head}", f"does not hold {beside:,} of {len(graph.digests):,} receipts: they are newer")


def _links_in(name: str, content: bytes, findings: Findings) -> list[ReceiptLink]:
    try:
        return list(links_in(json.loads(content)))
    except (ValueError, TypeError, KeyError):
        if name.startswith(layout.PRUNED_FOLDER):  # the others are findings already
            findings.bad(name, "cannot be read as a receipt")
        return []


def _check_links(store: Store, graph: ReceiptGraph, findings: Findings) -> None:
    for name, links in graph.links.items():
        for link in links:
            content = b"" if link.name in graph.digests else store.read(link.name)
            if content is None:
                findings.bad(link.name, f"is missing; {name} names it")
            elif graph.digests.get(link.name, sha256_hex(content)) != link.sha256:
                findings.bad(link.name, f"was changed: {name} names another digest of it")
