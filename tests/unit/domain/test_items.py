"""The catalog determines the identity of an item."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofsweep.domain.items import ManifestRow, WorkItem, item_id_of, raw_bytes, relative_path_of, utf8_text
from proofsweep.domain.reasons import Ineligible, Reason


def test_the_manifests_own_id_names_the_item() -> None:
    """If the catalog has ids, runs are joined by them."""
    row = ManifestRow(number=0, audio="/d/a.wav", named_audio="a.wav", item_id="ISRC-1")

    assert item_id_of(row, "d") == "ISRC-1"


def test_the_same_row_has_the_same_id_on_another_machine() -> None:
    """The folder of the catalog and the number of the row do not change the id."""
    here = ManifestRow(number=0, audio="/mnt/a.wav", named_audio="a.wav")
    there = ManifestRow(number=9, audio="/srv/drop/a.wav", named_audio="a.wav")

    assert item_id_of(here, "drop") == item_id_of(there, "drop")


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


def test_a_name_that_is_not_utf8_is_shown_and_kept() -> None:
    """It can be printed, and its exact bytes are not lost."""
    name = b"caf\xe9.wav".decode("utf-8", "surrogateescape")

    assert utf8_text(name) == r"caf\xe9.wav"
    assert raw_bytes(name) == b"caf\xe9.wav"


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
