"""Every setting: its section, and how it is read from a profile and the environment."""

from proofsweep.settings.accounts import ALL, config_and_account, config_of_account
from proofsweep.settings.reading import Settings, environment, load_accounts, load_settings, load_store_settings
from proofsweep.settings.sections import ServiceSettings
from proofsweep.settings.sources import sources_of, words_of

__all__ = [
    "ALL",
    "ServiceSettings",
    "Settings",
    "config_and_account",
    "config_of_account",
    "environment",
    "load_accounts",
    "load_settings",
    "load_store_settings",
    "sources_of",
    "words_of",
]
