"""A results store is opened by its location, of whatever kind it is."""

from pathlib import Path

import pytest

from proofsweep.errors import ResultsError
from proofsweep.store.store import open_store


@pytest.mark.parametrize("url", ["{}/results", "file://{}/results"])
def test_a_store_is_opened_by_path_or_file_url(tmp_path: Path, url: str) -> None:
    """Opening it makes nothing."""
    store = open_store(url.format(tmp_path))

    assert store.url == str(tmp_path / "results")
    assert not (tmp_path / "results").exists()


def test_a_kind_of_store_that_is_not_known_is_named() -> None:
    """Rather than made as a folder of that name."""
    with pytest.raises(ResultsError, match="ftp://"):
        open_store("ftp://host/results")


def test_a_bucket_url_opens_a_store_and_asks_nothing() -> None:
    """Credentials are looked for at the first use."""
    assert open_store("s3://bucket/results/").url == "s3://bucket/results"


def test_a_url_with_a_password_is_refused() -> None:
    """And the password is not repeated."""
    with pytest.raises(ResultsError, match=r"docs/buckets\.md") as refused:
        open_store("s3://me:hunter2@bucket/results")

    assert "hunter2" not in refused.value.message


def test_a_store_is_called_in_messages_what_it_is(tmp_path: Path) -> None:
    """A record of keys is kept as results are, and is none of them."""
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(ResultsError, match=r"^The record of keys .* cannot be written"):
        open_store(str(tmp_path / "file"), "record of keys").replace("keys.json", b"")
