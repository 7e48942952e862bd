"""What a delivery declares of a file."""

import base64
import hashlib

import pytest

from proofsweep.domain.items import ALGORITHMS, Declared, algorithm_named, declared_from, declared_json, hex_digest


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
    """Both spellings of a digest give the same lower-case hex."""
    content = hashlib.new(algorithm, b"audio").digest()
    assert hex_digest(algorithm, content.hex().upper()) == content.hex()
    assert hex_digest(algorithm, base64.b64encode(content).decode()) == content.hex()
    assert hex_digest(algorithm, base64.urlsafe_b64encode(content).decode()) == content.hex()
    assert hex_digest(algorithm, f"  {content.hex()[:8]}\n {content.hex()[8:]} ") == content.hex()


@pytest.mark.parametrize("written", ["", "zz", "00", "d41d8cd98f00b204e9800998ecf8427", "=", "ÄÖ", "MD5"])
def test_malformed_digest_is_none(written: str) -> None:
    """What has another length or other signs is no digest, and never damage."""
    assert hex_digest("md5", written) is None


def test_declared_survives_the_plan() -> None:
    """What the plan keeps reads as it was; nothing declared is nothing kept."""
    declared = Declared(size_bytes=7, digests={"md5": "00" * 16, "sha256": "11" * 32})
    assert declared_from(declared_json(declared)) == declared
    assert declared_from(declared_json(Declared())) is None
    assert declared_json(None) is None


def test_strongest_digest_is_compared() -> None:
    """Of several digests one is enough, the strongest."""
    declared = Declared(digests={"sha256": "11" * 32, "md5": "00" * 16})
    assert declared.strongest == ("sha256", "11" * 32)
    assert Declared(size_bytes=1).strongest is None


def test_lists_complete_each_other() -> None:
    """What two lists say of a file is one; the first wins."""
    both = Declared(digests={"md5": "00"}).with_others(Declared(size_bytes=3, digests={"md5": "11", "sha1": "22"}))
    assert both == Declared(size_bytes=3, digests={"md5": "00", "sha1": "22"})


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
