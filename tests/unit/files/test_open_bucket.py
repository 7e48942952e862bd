"""A bucket of each kind is opened by its URL, and nothing is sent yet."""

import pytest
from obstore.store import AzureStore, GCSStore, S3Store

from proofsweep.files.open_bucket import FAILURES, FailureKind, failure_of, open_bucket


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("s3://b/k", S3Store),
        ("gs://b", GCSStore),
        ("az://b", AzureStore),
        ("abfs://c@a.dfs.core.windows.net/k", AzureStore),
        ("abfss://c@a.dfs.core.windows.net/k", AzureStore),
    ],
)
def test_a_bucket_is_opened_without_a_request(monkeypatch: pytest.MonkeyPatch, url: str, kind: type) -> None:
    """What is wrong with it shows at the first use."""
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    assert isinstance(open_bucket(url), kind)


def test_an_azure_url_may_name_the_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the environment must."""
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)

    with pytest.raises(FAILURES) as refused:
        open_bucket("az://container/drop")

    assert failure_of(refused.value).kind is FailureKind.NO_ACCOUNT
    assert open_bucket("abfss://container@account.dfs.core.windows.net/drop") is not None
