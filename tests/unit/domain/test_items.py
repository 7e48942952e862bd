"""The catalog determines the identity of an item, and a delivery declares its bytes."""

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofsweep.domain.items import (
    ALGORITHMS,
    Declared,
    ManifestRow,
    WorkItem,
    algorithm_named,
    hex_digest,
    item_id_of,
    relative_path_of,
    utf8_text,
)
from proofsweep.domain.reasons import Ineligible, Reason


def test_catalog_and_audio_identify_an_item() -> None:
    """Another catalog or another file makes another item; a sidecar does only if it tells two rows apart."""
    rows = [
        ("x", ManifestRow(number=0, audio="/a", named_audio="a")),
        ("y", ManifestRow(number=0, audio="/a", named_audio="a")),
        ("x", ManifestRow(number=0, audio="/b", named_audio="b")),
        ("x", ManifestRow(number=0, audio="/a", named_audio="a", named_sidecar="s", is_told_by_sidecar=True)),
    ]
    pair = ManifestRow(number=0, audio="/a", sidecar="/s", named_audio="a", named_sidecar="s")

    assert len({item_id_of(row, catalog) for catalog, row in rows}) == len(rows)
    assert item_id_of(pair, "x") == item_id_of(rows[0][1], "x")


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_can_be_shown_and_named(text: str) -> None:
    """Lone surrogates, which JSON may hold, become UTF-8 and an item id too."""
    row = ManifestRow(number=0, audio=text, named_audio=text)

    assert utf8_text(text).encode().decode() == utf8_text(text)
    assert len(item_id_of(row, text)) == 32


def test_the_relative_path_is_the_audio_as_seen_from_the_catalogs_root() -> None:
    """A file that lies elsewhere has none, nor has a row without audio."""
    seen = [
        relative_path_of(ManifestRow(number=0, audio="/c/x", named_audio=named))
        for named in ("a/b.wav", "caf\udce9.wav", "/elsewhere/b.wav", "s3://masters/b.wav", "")
    ]

    assert seen == ["a/b.wav", "caf\\xe9.wav", None, None, None]


@pytest.mark.parametrize(
    ("reason", "is_delivered", "may_be_found"),
    [
        (None, False, False),
        (Reason.MISSING_AUDIO, False, True),
        (Reason.MISSING_AUDIO, True, False),
        (Reason.UNREADABLE_FILE, True, True),
        (Reason.EMPTY, False, False),
    ],
)
def test_a_file_that_its_delivery_lacks_is_not_looked_for_again(
    reason: Reason | None, *, is_delivered: bool, may_be_found: bool
) -> None:
    """Its message was read in the same folder, so that no mount is away."""
    refused = None if reason is None else Ineligible(reason, "It is not there.")
    item = WorkItem(manifest_row=0, item_id="i", audio="/a.wav", is_delivered=is_delivered, ineligible=refused)

    assert item.may_be_found is may_be_found


@pytest.mark.parametrize(
    ("name", "algorithm"),
    [
        *(("MD5", "md5"), ("SHA", "sha1"), ("SHA1", "sha1"), ("SHA2", "sha256"), ("SHA-256", "sha256")),
        *(("sha_512", "sha512"), ("UserDefined", None), ("CRC32", None), ("", None), ("MD", None)),
    ],
)
def test_algorithms_have_many_names(name: str, algorithm: str | None) -> None:
    """Lists write names of algorithms in their own ways; unknown ones are not compared."""
    assert algorithm_named(name) == algorithm


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_digest_is_read_in_hex_and_in_base64(algorithm: str) -> None:
    content = hashlib.new(algorithm, b"audio").digest()
    assert hex_digest(algorithm, content.hex().upper()) == content.hex()
    assert hex_digest(algorithm, base64.b64encode(content).decode()) == content.hex()
    assert hex_digest(algorithm, base64.urlsafe_b64encode(content).decode()) == content.hex()
    assert hex_digest(algorithm, f"  {content.hex()[:8]}\n {content.hex()[8:]} ") == content.hex()


@pytest.mark.parametrize(
    ("declared", "size_bytes", "is_size"),
    [
        (None, 5, True),
        (5_000_500, 5_000_500, True),
        (5_000_499, 5_000_500, False),
        (5_000, 5_000_500, True),
        (5_001, 5_000_500, True),
        (4_883, 5_000_500, True),
        (4_884, 5_000_500, True),
        (4_885, 5_000_500, False),
        (1, 5, False),
        (65, 65_000, False),
    ],
)
def test_a_size_is_declared_in_bytes_or_in_kilobytes(declared: int | None, size_bytes: int, is_size: bool) -> None:
    """The standard says kilobytes, and most senders write bytes; no file is a thousand times as large as declared."""
    assert Declared(size_bytes=declared).is_size(size_bytes) is is_size
