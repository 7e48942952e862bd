"""Accounts: partners in one config, each with its service, its key and what else differs, under a name. Pure.

    [account.acme]                  # a member here is a setting of the section `service`
    base_url = "https://acme.example/v1"
    api_key_file = "/run/secrets/acme"
    [account.acme.bounds]           # a section here goes before the section of the same name
    reserve = 2000

`partners.toml#acme` names the account `acme` of a config. Each row that is written has the account's label, which is
its name unless the account sets `environment`.
"""

import re
from collections.abc import Mapping
from typing import Any

from proofsweep.errors import ConfigError
from proofsweep.text import did_you_mean, printable

ALL = "all"
"""Stands for all accounts of a config, in commands that only read."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_TABLE, _KEY = "account", "api_key_"

Members = Mapping[str, Any]


def config_and_account(config: str | None) -> tuple[str | None, str | None]:
    """Part `FILE#NAME` into the config and the account; either may be missing."""
    name, mark, account = (config or "").rpartition("#")
    if not mark or not _NAME.fullmatch(account):
        return config, None
    return name or None, account


def config_of_account(config: str | None, account: str | None) -> str | None:
    """Name an account of a config, in the place of the one that the config names, if one is given."""
    return config if account is None else f"{config_and_account(config)[0] or ''}#{account}"


def accounts_in(profile: Members, where: str) -> dict[str, Members]:
    """Return the accounts of a config by name; ConfigError if two of them could be taken for each other."""
    found = profile.get(_TABLE, {})
    if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
        raise ConfigError(f"The config {where}: an account is a table with a name of its own, such as [account.acme].")
    for name in found:
        if name == ALL or not _NAME.fullmatch(name):
            raise ConfigError(
                f"The config {where}: {printable(name)!r} cannot name an account; take up to 40 letters, digits, "
                f"'_', '.' and '-', and not {ALL!r}."
            )
    _refuse_alike(found, where)
    return found


def of_account(profile: Members, account: str | None, where: str) -> tuple[dict[str, Any], str | None]:
    """Return a config as it is for one account, and the account's name.

    The only account need not be named. ConfigError if there is no such account, or several and none is named.
    """
    accounts = accounts_in(profile, where)
    shared = {section: members for section, members in profile.items() if section != _TABLE}
    if not accounts and account is None:
        return shared, None
    chosen = next(iter(accounts)) if account is None and len(accounts) == 1 else account
    if chosen not in accounts:
        raise ConfigError(_no_such_account(accounts, chosen, where))
    return shared | _sections(shared, accounts[chosen], chosen), chosen


def _sections(shared: Members, own: Members, name: str) -> dict[str, dict[str, Any]]:
    """Return the sections that an account changes; of the key's sources, its own replace all shared ones."""
    sections = {section: dict(members) for section, members in own.items() if isinstance(members, dict)}
    service = {setting: value for setting, value in own.items() if not isinstance(value, dict)}
    sections["service"] = {"environment": name} | sections.get("service", {}) | service
    has_key = any(setting.startswith(_KEY) for setting in sections["service"])
    merged = {}
    for section, members in sections.items():
        usual = shared.get(section)
        before = dict(usual) if isinstance(usual, dict) else {}
        if section == "service" and has_key:
            before = {setting: value for setting, value in before.items() if not setting.startswith(_KEY)}
        merged[section] = before | members
    return merged


def _refuse_alike(accounts: Mapping[str, Members], where: str) -> None:
    """Raise ConfigError if two accounts have one label, or send one key to two services."""
    labels: dict[str, str] = {}
    keys: dict[tuple[str, str], tuple[str, object]] = {}
    for name, own in accounts.items():
        service = _sections({}, own, name)["service"]
        other = labels.setdefault(str(service["environment"]), name)
        if other != name:
            raise ConfigError(
                f"The config {where}: the accounts {other} and {name} have the same environment "
                f"{printable(str(service['environment']))!r}, which tells their rows apart: give each its own."
            )
        url = str(service.get("base_url", "")).rstrip("/")
        for setting in (each for each in service if each.startswith(_KEY)):
            first, its_url = keys.setdefault((setting, str(service[setting])), (name, url))
            if its_url != url:
                raise ConfigError(
                    f"The config {where}: the accounts {first} and {name} have the same {setting}, but another "
                    "base_url each: a key belongs to one service."
                )


def _no_such_account(accounts: Mapping[str, Members], account: str | None, where: str) -> str:
    known = ", ".join(accounts)
    if not accounts:
        return f"The config {where} has no accounts, so there is no {account!r} in it."
    if account is None:
        return f"The config {where} has the accounts {known}: choose one with --account (or PROOFSWEEP_ACCOUNT)."
    if account == ALL:
        return f"This command works for one account at a time: give --account one of {known}."
    return f"The config {where} has no account {account!r}{did_you_mean(account, accounts)}. There are {known}."
