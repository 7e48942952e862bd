"""What is wrong with settings, in words that name the setting and never show a value. Pure."""

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches

from pydantic import ValidationError

from proofsweep.domain.text import ALIKE, ask_for, did_you_mean

Names = Mapping[str, Collection[str]]  # The settings of each section

_PREFIX = "PROOFSWEEP_"
CONFIG = f"{_PREFIX}CONFIG"


def misspelt_variables(variables: Iterable[str], names: Names, key_variables: Collection[str]) -> list[str]:
    """Name each variable of the environment that looks like a setting but is none: it would be ignored in silence.

    `key_variables` hold a key; so does each whose name ends in `_KEY`.
    """
    asked = sorted(name for name in variables if name.upper().startswith(_PREFIX) and name not in key_variables)
    return [mistake for name in asked if (mistake := _mistake_in(name, names))]


def mistakes_in(error: ValidationError, names: Names) -> list[str]:
    """Return what is wrong, without any value. Misspelt names come first: often another setting is missing for them."""
    found = error.errors(include_input=False, include_url=False)
    return [
        _described(".".join(map(str, each["loc"])) or "service", each["type"], each["msg"], names)
        for each in sorted(found, key=lambda each: each["type"] != "extra_forbidden")
    ]


def _mistake_in(variable: str, names: Names) -> str:
    section, is_nested, field = variable.upper().removeprefix(_PREFIX).lower().partition("__")
    if section in names or (not is_nested and (section == "config" or section.endswith("_key"))):
        return ""
    meant = variable_of(_setting_like(section, field, names)) or (did_you_mean(section, ["config"]) and CONFIG)
    if is_nested:
        return f"{variable} sets nothing: there is no section {section!r}{ask_for(meant)}"
    return f"{variable} sets nothing: there is no such setting{ask_for(meant)}" if meant else ""


def _described(where: str, kind: str, message: str, names: Names) -> str:
    section, _, field = where.partition(".")
    match kind:
        case "missing":
            return f"{where}: must be set, in the config or as {variable_of(where)}"
        case "extra_forbidden" if field:
            return f"{where}: there is no such setting{ask_for(_setting_like(section, field, names))}"
        case "extra_forbidden":
            return f"{where}: there is no such section{did_you_mean(section, names)}"
    return f"{where}: {message.removeprefix('Value error, ')}"


def variable_of(setting: str) -> str:
    return setting and _PREFIX + setting.replace(".", "__").upper()


def _setting_like(section: str, field: str, names: Names) -> str:
    settings = [(each, name) for each in names for name in names[each]]
    whole = {_letters(each + name): f"{each}.{name}" for each, name in settings}
    alone = {_letters(name): f"{each}.{name}" for each, name in settings}
    for given, known in ((section + field, whole), (field or section, alone)):
        for alike in get_close_matches(_letters(given), known, 1, ALIKE):
            return known[alike]
    return ""


def _letters(name: str) -> str:
    return name.replace("_", "")
