"""Variables of TLS that lead nowhere are named, with their path, before a client is made."""

from pathlib import Path

import pytest

from proofsweep.config.certificates import OF_ALERTS, OF_CALLS, require_certificates
from proofsweep.domain.errors import ConfigError


@pytest.fixture(autouse=True)
def _unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in OF_CALLS + OF_ALERTS:
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize("variable", OF_CALLS + OF_ALERTS)
def test_a_path_that_leads_nowhere_is_named(variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, f"{tmp_path}/gone/file")

    with pytest.raises(ConfigError) as raised:
        require_certificates(OF_CALLS + OF_ALERTS)

    assert raised.value.message == (
        f"{variable} names {tmp_path}/gone/file, which cannot be used (No such file or directory): correct or unset it."
    )


def test_a_file_without_a_certificate_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no certificate")
    monkeypatch.setenv("SSL_CERT_FILE", f"{tmp_path}/file")

    with pytest.raises(ConfigError, match="which holds no certificate"):
        require_certificates()


def test_what_is_not_read_or_is_there_hinders_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of several folders is enough, an empty variable counts as none, and calls do not read those of alerts."""
    monkeypatch.setenv("SSL_CERT_FILE", "")
    monkeypatch.setenv("SSL_CERT_DIR", f"{tmp_path}/gone:{tmp_path}")
    monkeypatch.setenv("SSLKEYLOGFILE", f"{tmp_path}/keys.log")
    monkeypatch.setenv("CURL_CA_BUNDLE", f"{tmp_path}/gone")

    require_certificates()

    monkeypatch.setenv("CURL_CA_BUNDLE", str(tmp_path))
    require_certificates(OF_ALERTS)
