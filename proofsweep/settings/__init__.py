"""Every setting: its section, and how it is read from a profile and the environment."""

from proofsweep.settings.reading import Settings, environment, load_settings, sources_of, words_of
from proofsweep.settings.sections import ServiceSettings

__all__ = [
    "ServiceSettings",
    "Settings",
    "environment",
    "load_settings",
    "sources_of",
    "words_of",
]
