"""Names and paths of bags (RFC 8493)."""

import pytest

from proofsweep.catalog.checksums.bags import path_in_bag


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
