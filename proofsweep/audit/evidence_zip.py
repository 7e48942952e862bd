"""The zip file that evidence is packed in: the same content gives the same bytes, whenever it is made."""

import hashlib
from collections.abc import Iterable
from typing import IO, Self
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from proofsweep.model.evidence import Contents
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
        """Say in plain text what this is, and how to check it."""
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
