"""The zip has the digest of each file, and a text that says what it is."""

import hashlib
import zipfile
from io import BytesIO

import pytest

from proofsweep.audit.pack_evidence import EvidenceZip
from proofsweep.model.evidence import Contents, Wanted

CONTENTS = Contents(
    wanted=Wanted(environment="beta", run_id=None, tags={"release": "X\nY"}),
    outcomes={"accepted": 2, "redacted": 1},
    unproved={"is of an earlier version": 4},
    head="ab" * 32,
    signed="signed/a.json",
)


def test_each_file_has_its_digest() -> None:
    """The pieces of a file are one content, as `sha256sum -c` reads it."""
    file = BytesIO()
    with EvidenceZip(file) as evidence:
        evidence.add("rows.jsonl", [b"one\n", b"two\n"])
        evidence.add("a.txt", [])

    with zipfile.ZipFile(file) as done:
        digests = [hashlib.sha256(content).hexdigest() for content in (b"", b"one\ntwo\n")]
        assert done.read("SHA256SUMS").decode() == f"{digests[0]}  a.txt\n{digests[1]}  rows.jsonl\n"
        assert done.testzip() is None


def test_the_text_says_what_was_recorded_and_that_the_service_signed_nothing() -> None:
    """What others wrote stays on one line."""
    file = BytesIO()
    with EvidenceZip(file) as evidence:
        evidence.add_readme(CONTENTS)

    text = zipfile.ZipFile(file).read("README.txt").decode()
    assert "Rows:     3 (2 accepted, 1 redacted)\n" in text
    assert "with release=X\\nY, environment beta\n" in text
    assert f"Head:     {'ab' * 32}\n" in text
    assert "These rows are what we recorded.\nThe service signed nothing" in text
    assert "Left out: 4. The part of these rows is of an earlier version." in text
    assert "Shown as redacted: 1." in text
    assert max(map(len, text.splitlines())) <= 120


def test_what_broke_off_has_no_digests() -> None:
    """A half-made file does not look like a whole one."""
    file = BytesIO()
    with pytest.raises(ZeroDivisionError), EvidenceZip(file) as evidence:
        evidence.add("a.txt", (b"%d" % (1 // number) for number in (1, 0)))

    assert "SHA256SUMS" not in zipfile.ZipFile(file).namelist()
