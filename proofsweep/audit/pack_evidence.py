"""Pack what was recorded of some rows into one file that anybody can check without this program and without the store.

(1) choose the rows, (2) see that the receipts of the store hold each other, (3) prove each row, part by part, (4) add
the receipts of their legs and all that hold these, and a signed audit, (5) add a report, the script, and what they are.
"""

import hashlib
import json
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, NoReturn, Self
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.answers.views.selected_rows import SelectedRows
from proofsweep.audit.exceptions import read_redactions
from proofsweep.audit.leg_receipts import LegReceipt, read_receipts
from proofsweep.audit.prove import NO_RECEIPT, provable_part
from proofsweep.audit.receipt_heads import ReceiptGraph, read_graph
from proofsweep.audit.signatures import newest_signed
from proofsweep.errors import ResultsError, UsageError
from proofsweep.model import layout
from proofsweep.model.evidence import Contents, Wanted
from proofsweep.model.findings import Findings
from proofsweep.model.runs import shard_of
from proofsweep.model.tags import known_tag, tag_of
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.redactions import redactions_of
from proofsweep.text import printable

_README = """\
What proofsweep recorded
========================

Rows:     {rows} ({counts})
          {wanted}
Head:     {head}
Signed:   {signed}

proofsweep sends audio files to a partner's service, and records what it answers. These rows are what we recorded.
The service signed nothing of this; its request IDs in the rows let it look up its own records.

Check it, without a network, with Python 3.11 or newer. Nothing else is needed:

    python3 check.py            everything in this folder fits together
    python3 check.py HEAD       and a head that you kept elsewhere holds all rows

Exit code 0: nothing contradicts the records. 3: each line that begins with "wrong" says what does.
check.py has at most 60 lines: read it first, or write your own by the description of row digests in our documentation.

    rows.jsonl     a line for each row. "row" is what was recorded, "path" leads to the root in "receipt"
    receipts/      the receipts that name these roots, and all receipts that hold them, as they were written
    report.html    the same rows for reading; what counts is rows.jsonl
    signed/        a signed audit whose head holds all rows, if there is one
    SHA256SUMS     the SHA-256 of each file

What it shows: each row is one that a receipt holds, and the head above holds that receipt. Whoever kept a head of that
time or later, from an alert or an audit, knows that nobody changed the row since.
What it does not show: that these are all rows there ever were, and what the service itself keeps. Without a head from
elsewhere, it only shows that everything here fits together. report.html and this text are held by SHA256SUMS alone:
keep the SHA-256 of the zip file with it.
{more}"""

_SIGNED = """
The signed audit is an in-toto statement in a DSSE envelope, Ed25519. Check it with our public key and any DSSE tool.
Its subjects are heads: give them to check.py, joined by "+".
"""

_REDACTED = """
Shown as redacted: {count:,}. The content of these rows was removed on purpose, as receipts/_redacted says; their
digests are still held. They stand in the same parts as the other rows; nobody can tell whether they belong to them.
"""

_UNPROVED = """
Left out: {count:,}. The part of these rows {why}.
"""


class EvidenceZip:
    """Adds files, one after the other; at the end, the digests of all."""

    def __init__(self, file: IO[bytes]) -> None:
        self._zip = ZipFile(file, "w", ZIP_DEFLATED)
        self._digests: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            lines = [f"{digest}  {name}\n" for name, digest in sorted(self._digests.items())]
            self.add("SHA256SUMS", ["".join(lines).encode()])
        self._zip.close()

    def add(self, name: str, content: Iterable[bytes]) -> None:
        """Add one file; its content may be larger than memory."""
        entry = ZipInfo(name)  # dated 1980-01-01, so that the bytes do not depend on the time
        entry.compress_type, entry.create_system, entry.external_attr = ZIP_DEFLATED, 3, 0o644 << 16
        digest = hashlib.sha256()
        with self._zip.open(entry, "w", force_zip64=True) as file:
            for piece in content:
                file.write(piece)
                digest.update(piece)
        self._digests[name] = digest.hexdigest()

    def add_readme(self, contents: Contents) -> None:
        """Write in plain text what this is, and how to check it."""
        redacted = contents.outcomes.get("redacted", 0)
        more = [_SIGNED] if contents.signed else []
        more += [_REDACTED.format(count=redacted)] if redacted else []
        more += [_UNPROVED.format(count=count, why=why) for why, count in sorted(contents.unproved.items())]
        text = _README.format(
            rows=f"{contents.rows:,}",
            counts=contents.counts,
            wanted=printable(contents.wanted.words),
            head=contents.head,
            signed=contents.signed or "no signed audit of the store holds these rows",
            more="".join(more),
        )
        self.add("README.txt", [text.encode("utf-8", "replace")])


# Chosen: a page that any browser opens at once; rows.jsonl has all rows.
_MOST_SHOWN = 2_000

_SHOWN = ["run_id", "audio", "relative_path", "outcome", "verdict", "reason", "finished_at", "verify_request_id"]

_Rows = Mapping[str, Collection[int]]  # Manifest rows by the name of the part that holds them


def write_evidence(
    selected: SelectedRows, wanted: Wanted, file: IO[bytes], report_of: Callable[[Contents], str]
) -> Contents:
    """Write the evidence for the rows with all wanted tags among those selected; the same store gives the same bytes.

    `report_of` makes a page for people of what was packed. UsageError if there is no such row, or none that can be
    proved; ResultsError if the store cannot be read, or is not as its receipts say.
    """
    results = selected.results
    rows = _rows_by_part(replace(selected, has_gone=True), wanted.tags)  # (1)
    graph = _sound_graph(results)  # (2)
    packing = _Packing(results=results, contents=Contents(wanted=wanted))
    with EvidenceZip(file) as evidence:
        evidence.add("rows.jsonl", packing.lines(rows))  # (3)
        if not packing.used:
            raise UsageError(f"None of these rows can be proved: their part {NO_RECEIPT}.")
        packing.add_receipts(evidence, graph)  # (4)
        evidence.add("report.html", [report_of(packing.contents).encode("utf-8", "replace")])  # (5)
        evidence.add("check.py", [Path(__file__).with_name("check_evidence.py").read_bytes()])
        evidence.add_readme(packing.contents)
    return packing.contents


@dataclass(slots=True, kw_only=True)
class _Packing:
    """Proves rows, and notes what their proofs lead to."""

    results: Results
    contents: Contents
    used: set[str] = field(default_factory=set)  # the receipts that hold the rows
    redactions: set[str] = field(default_factory=set)  # the intents that took content from rows of these parts

    def lines(self, rows: _Rows) -> Iterator[bytes]:
        redactions = list(redactions_of(self.results.store))
        known: dict[str, Mapping[int, LegReceipt]] = {}
        for name in sorted(rows):
            run_id = layout.run_of(name)
            if run_id not in known:
                known = {run_id: read_receipts(self.results.store, run_id, Findings())}
            receipt = known[run_id].get(layout.leg_of(name))
            if receipt is None:
                self.contents.unproved[NO_RECEIPT] = self.contents.unproved.get(NO_RECEIPT, 0) + len(rows[name])
                continue
            part = provable_part(self.results, name, receipt, redactions)
            wanted = set(rows[name])
            numbers = enumerate(part.rows["manifest_row"].to_pylist())
            indexes = sorted({*(index for index, number in numbers if number in wanted), *part.redacted})
            self._note(part.rows.take(pa.array(indexes, pa.int64())), [index in part.redacted for index in indexes])
            self.used.add(receipt.name)
            for proof in part.proofs(indexes):
                redaction = part.redacted.get(int(str(proof["index"])))
                if redaction is not None:
                    proof["redaction"] = layout.redaction_intent_name(redaction.number)
                    self.redactions.add(layout.redaction_receipt_name(redaction.number))
                yield json.dumps(proof | {"receipt": receipt.name}, ensure_ascii=False).encode() + b"\n"

    def add_receipts(self, evidence: EvidenceZip, graph: ReceiptGraph) -> None:
        """Add the receipts that hold the rows, each as it is in the store, up to the newest."""
        store, names = self.results.store, graph.holders_of(self.used | self.redactions)
        intents = {name.replace("-receipt", "-intent") for name in names if name.startswith(layout.REDACTED_FOLDER)}
        for name in sorted(names | intents):
            evidence.add(f"receipts/{name}", [store.read(name) or b""])
        signed = newest_signed(store, graph, self.used)
        if signed is not None:
            self.contents.signed = f"signed/{signed.rpartition('/')[2]}"
            evidence.add(self.contents.signed, [store.read(signed) or b""])
        held = {link.name for name in names for link in graph.links[name]}
        self.contents.head = "+".join(sorted(graph.digests[name] for name in names - held))
        self.contents.receipts = len(names)

    def _note(self, rows: pa.Table, is_redacted: list[bool]) -> None:
        contents = self.contents
        shown = rows.select([name for name in _SHOWN if name in rows.column_names]).to_pylist()
        for row, is_gone in zip(shown, is_redacted, strict=True):
            outcome = "redacted" if is_gone else str(row["outcome"])
            contents.outcomes[outcome] = contents.outcomes.get(outcome, 0) + 1
            if len(contents.shown) < _MOST_SHOWN:
                contents.shown.append(row | {"outcome": outcome})


def _rows_by_part(selected: SelectedRows, tags: Mapping[str, str]) -> _Rows:
    chosen: dict[str, array[int]] = defaultdict(lambda: array("q"))
    for plan, table in selected.tables(["leg", "manifest_row", "tags"]):
        likely = table
        for value in tags.values():  # as the text of the tags has it; only the likely rows are parsed
            likely = likely.filter(pc.match_substring(likely["tags"], json.dumps(value, ensure_ascii=False)))
        for leg, row, text in zip(*(likely[name].to_pylist() for name in ("leg", "manifest_row", "tags")), strict=True):
            # What no run has tried yet has no leg, and no row that could be proved.
            if leg is not None and (not tags or _has(json.loads(text), tags)):
                chosen[layout.verdicts_name(plan.run_id, plan.run_date, shard_of(plan, row), leg)].append(row)
    if not chosen:
        _refuse_no_row(selected, tags)
    return chosen


def _has(tags: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(tag_of(tags, name) == value for name, value in wanted.items())


def _refuse_no_row(selected: SelectedRows, tags: Mapping[str, str]) -> NoReturn:
    """Raise UsageError: it says which tag is unknown, or that no row has these values."""
    texts = {text for _, table in selected.tables(["tags"]) for text in table["tags"].unique().to_pylist() if text}
    known = sorted({name for text in texts for name in json.loads(text)})
    for name in tags:
        known_tag(name, known)
    values = " and ".join(f"{printable(name)}={printable(value)}" for name, value in tags.items())
    raise UsageError(f"No row has {values}.")


def _sound_graph(results: Results) -> ReceiptGraph:
    """Read all receipts; evidence is only made of a store whose receipts hold each other."""
    findings = Findings()
    redactions = read_redactions(results.store, findings)
    graph = read_graph(results.store, results.store.folders("_runs"), redactions, findings)
    if findings.wrong:
        first = findings.wrong[0]
        raise ResultsError(f"{first.where} {first.what}. Run proofsweep audit.")
    return graph
