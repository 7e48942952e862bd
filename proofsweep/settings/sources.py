"""Where the settings come from that decide whom a run calls, as whom, and where it writes: file, variable, default."""

from collections.abc import Mapping

from proofsweep.settings.mistakes import variable_of
from proofsweep.settings.reading import (
    DECIDING,
    PROFILES,
    environment,
    path_of_config,
    read_config,
    value_in,
    without_overridden_sources,
)
from proofsweep.text import printable


def sources_of(config: str | None = None, results_url: str | None = None) -> dict[str, str]:
    """Return of each deciding setting the file or the variable that it comes from; one with its default is not there.

    ConfigError if the config cannot be found or read.
    """
    path = path_of_config(config)
    profile = read_config(path)
    name = f"profile {path.stem}" if path.parent == PROFILES else printable(str(path))
    given = {variable.upper() for variable, value in environment().items() if value}
    file = without_overridden_sources(profile)
    found = {setting: name for setting in DECIDING if value_in(file, setting) is not None}
    found |= {setting: variable_of(setting) for setting in DECIDING if variable_of(setting) in given}
    return found if results_url is None else found | {"results.url": "--results"}


def words_of(sources: Mapping[str, str]) -> str:
    """Return in one clause where deciding settings come from: `service.base_url of X; results.url of Y`."""
    by_source: dict[str, list[str]] = {}
    for setting, source in sources.items():
        by_source.setdefault(source, []).append(setting)
    return "; ".join(f"{', '.join(settings)} of {source}" for source, settings in by_source.items())
