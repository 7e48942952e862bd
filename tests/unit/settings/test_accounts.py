"""Accounts of one config: what each has of its own, and that none is taken for another."""

from pathlib import Path

import pytest

from proofsweep.errors import ConfigError
from proofsweep.settings import (
    config_and_account,
    config_of_account,
    load_accounts,
    load_settings,
    load_store_settings,
    sources_of,
)

TWO = """
    [results]
    url = "/proofs"
    [service]
    sidecar_field = "proof"
    api_key_env = "SHARED"
    [account.acme]
    base_url = "https://acme.example/v1"
    api_key_file = "/acme"
    [account.acme.bounds]
    reserve = 2000
    [account.borealis]
    base_url = "https://borealis.example/v1"
    api_key_file = "/borealis"
    environment = "production"
    [account.borealis.results]
    url = "s3://borealis/proofs"
"""


@pytest.fixture
def two(tmp_path: Path) -> str:
    """A config with two accounts."""
    path = tmp_path / "partners.toml"
    path.write_text(TWO)
    return str(path)


def test_an_account_has_its_own_settings_over_the_shared_ones(two: str) -> None:
    """Its own key is its only one; its label is its name, or the environment that it sets."""
    acme, borealis = load_settings(f"{two}#acme"), load_settings(f"{two}#borealis")

    assert (acme.account, acme.service.environment, acme.bounds.reserve) == ("acme", "acme", 2000)
    assert (borealis.account, borealis.service.environment, borealis.bounds.reserve) == ("borealis", "production", 0)
    assert (acme.results.url, borealis.results.url) == ("/proofs", "s3://borealis/proofs")
    assert acme.service.sidecar_field == borealis.service.sidecar_field == "proof"
    assert (str(acme.service.api_key_file), acme.service.api_key_env) == ("/acme", None)


def test_the_config_goes_before_the_variable(two: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `--config` goes before `PROOFSWEEP_CONFIG`; the source of each setting names the account."""
    monkeypatch.setenv("PROOFSWEEP_ACCOUNT", "borealis")

    assert load_settings(two).account == "borealis"
    assert load_settings(f"{two}#acme").account == "acme"
    assert sources_of(f"{two}#acme")["service.base_url"] == f"{two}, account acme"


def test_a_variable_that_contradicts_an_account_is_refused(two: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an account says of itself is said in the file; its label too, which is its name."""
    monkeypatch.setenv("PROOFSWEEP_SERVICE__ENVIRONMENT", "borealis")

    with pytest.raises(ConfigError, match=r"sets service\.environment, and the variable PROOFSWEEP_SERVICE__ENV"):
        load_settings(f"{two}#acme")


@pytest.mark.parametrize(
    ("account", "said"),
    [
        ("", "has the accounts acme, borealis: choose one with --account"),
        ("#acmes", r"has no account 'acmes' \(did you mean acme\?\)"),
        ("#all", "works for one account at a time: give --account one of acme, borealis"),
    ],
)
def test_a_command_that_calls_works_for_one_account(two: str, account: str, said: str) -> None:
    """None is taken by chance."""
    with pytest.raises(ConfigError, match=said):
        load_settings(f"{two}{account}")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ('[account]\nbase_url = "https://a.example/v1"', r"such as \[account\.acme\]"),
        ('[account.all]\nbase_url = "https://a.example/v1"', "'all' cannot name an account"),
        ('[account."a b"]\nbase_url = "https://a.example/v1"', "'a b' cannot name an account"),
        ('[account.a]\nenvironment = "x"\n[account.b]\nenvironment = "x"', "a and b have the same environment 'x'"),
        ('[account.a]\nenvironment = "b"\n[account.b]\n', "a and b have the same environment 'b'"),
        (
            '[account]\na = {base_url = "https://a/v1", api_key_env = "K"}\nb = {base_url = "b", api_key_env = "K"}',
            "a and b have the same api_key_env",
        ),
        ('[account.a]\nbase_url = "https://a.example/v1"\nkey_file = "/k"', r"service\.key_file: there is no such"),
        ('[account.a]\nbase_url = "https://a.example/v1"\n[account.a.pase]\n', "pase: there is no such section"),
    ],
)
def test_accounts_that_could_be_mistaken_are_refused(tmp_path: Path, config: str, said: str) -> None:
    """One label twice would mix two partners' rows; one key for two addresses would be sent to the wrong one."""
    path = tmp_path / "c.toml"
    path.write_text(config)

    with pytest.raises(ConfigError, match=said):
        load_settings(f"{path}#a")


def test_the_only_account_need_not_be_named(tmp_path: Path) -> None:
    """A config without accounts has none, and asking it for one is refused."""
    one, none = tmp_path / "one.toml", tmp_path / "none.toml"
    one.write_text('[account.acme]\nbase_url = "https://acme.example/v1"')
    none.write_text('[service]\nbase_url = "https://acme.example/v1"\nenvironment = "beta"')

    assert load_settings(str(one)).account == "acme"
    assert load_settings(str(none)).account is None
    with pytest.raises(ConfigError, match="has no accounts, so there is no 'acme' in it"):
        load_settings(f"{none}#acme")


def test_all_accounts_are_read_in_their_order(two: str) -> None:
    """Each with its own settings; a store is read for all of them only if they share it."""
    assert [each.account for each in load_accounts(two)] == ["acme", "borealis"]
    assert [each.account for each in load_accounts(f"{two}#borealis")] == ["borealis"]
    assert load_store_settings(f"{two}#all", "/shared").account == "all"
    with pytest.raises(ConfigError, match="acme and borealis have stores of their own"):
        load_store_settings(f"{two}#all")


def test_a_config_and_its_account_are_one_word() -> None:
    """So that a deployment's parameter names both; a mark that no account follows belongs to the file's name."""
    assert config_and_account("partners.toml#acme") == ("partners.toml", "acme")
    assert config_and_account("#acme") == (None, "acme")
    assert config_and_account("a#/b.toml") == ("a#/b.toml", None)
    assert config_and_account(None) == (None, None)
    assert config_of_account("partners.toml#acme", "borealis") == "partners.toml#borealis"
    assert config_of_account(None, "acme") == "#acme"
    assert config_of_account("partners.toml", None) == "partners.toml"
