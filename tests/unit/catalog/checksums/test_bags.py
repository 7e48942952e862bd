"""Names and paths of bags (RFC 8493)."""

import pytest

from proofsweep.catalog.checksums.bags import fetched_path, path_in_bag, payload_manifests


def test_a_folder_with_bagit_txt_has_payload_manifests() -> None:
    """One whose algorithm is not compared is known to be there; those of tags are none."""
    names = ["bagit.txt", "bag-info.txt", "manifest-md5.txt", "manifest-blake2b.txt", "tagmanifest-md5.txt", "data"]

    assert payload_manifests(names) == {"manifest-md5.txt": "md5", "manifest-blake2b.txt": None}
    assert payload_manifests(names[1:]) == {}


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("data/a.wav", "data/a.wav"),
        ("./data/a.wav", "data/a.wav"),
        ("data/100%25%0A%0d.wav", "data/100%\n\r.wav"),
        ("data/50%20off.wav", "data/50%20off.wav"),
        ("a.wav", None),
        ("data/../a.wav", None),
        ("data//a.wav", None),
        ("/data/a.wav", None),
        ("data/", None),
    ],
)
def test_a_payload_path_is_in_data_and_has_three_escapes(written: str, path: str | None) -> None:
    """Any other percent sign belongs to the name."""
    assert path_in_bag(written) == path


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("https://example.org/a b 12 data/a b.wav", None),
        ("https://example.org/a%20b 12 data/a b.wav", "data/a b.wav"),
        ("https://example.org/a - data/a.wav", "data/a.wav"),
        ("https://example.org/a 12", None),
        ("", None),
    ],
)
def test_a_line_of_fetch_txt_has_an_address_a_size_and_a_path(line: str, path: str | None) -> None:
    """The address is never asked."""
    assert fetched_path(line) == path
