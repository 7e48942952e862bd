"""What messages say, whatever their version."""

import pytest

from proofsweep.catalog.deliveries.messages import MessageFile, version_in
from proofsweep.model.declared import Declared

MD5 = "d41d8cd98f00b204e9800998ecf8427e"


@pytest.mark.parametrize(
    ("file", "declared"),
    [
        (MessageFile("a.wav", "T1", "12", "MD5", MD5.upper()), Declared(size_bytes=12, digests={"md5": MD5})),
        (MessageFile("a.wav", "T1", "", "MD5", "1B2M2Y8AsgTpgAmY7PhCfg=="), Declared(digests={"md5": MD5})),
        (MessageFile("a.wav", "T1", "12", "UserDefined", MD5), Declared(size_bytes=12)),
        (MessageFile("a.wav", "T1", "12 MB", "MD5", "no digest"), None),
        (MessageFile("a.wav", "T1", "9" * 19, "CRC32", "00000000"), None),
        (MessageFile("a.wav", "T1", "-1", "", ""), None),
        (MessageFile("a.wav"), None),
    ],
)
def test_only_what_can_be_compared_is_declared(file: MessageFile, declared: Declared | None) -> None:
    """A digest of another algorithm, or one that is malformed, is never damage."""
    assert file.declared == declared


def test_namespace_of_another_standard_has_no_version() -> None:
    """DDEX has other standards than ERN."""
    assert version_in("http://ddex.net/xml/dsr/20") is None
