"""`proofsweep conformance`: the conformance suite's own command, with the config's service as the default."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

import typer

from proofsweep.errors import ConfigError
from proofsweep.settings import load_settings
from proofsweep.wiring.engines import engine_for
from proofsweep_cli.key_block import read_block
from proofsweep_cli.options import Config

if TYPE_CHECKING:
    from partner_conformance.options import Given


def add_to(app: typer.Typer) -> None:
    """Add the command; ConfigError where the suite is not installed, since it is a distribution of its own."""
    if find_spec("partner_conformance") is None:
        raise ConfigError("`conformance` needs partner-conformance, which is not installed: pip install its wheel.")
    from partner_conformance.command import make_app  # noqa: PLC0415 - it may be missing

    app.add_typer(make_app("proofsweep conformance", _configured, {"config": Config}), name="conformance")


def _configured(given: "Given") -> "Given":
    """Complete what was given from the config, unless a service is named.

    Raises:
        ConfigError: only one of URL and key file is given, or config and command line name different environments.
    """
    named = (given["base_url"], given["key_file"])
    if all(named):
        return given
    if any(named):
        raise ConfigError("Give both --base-url and --key-file, or neither: then the config's service is examined.")
    settings = load_settings(given["config"])
    service = settings.service
    if given["environment"] not in {None, service.environment}:
        raise ConfigError(f"The config's service is {service.environment!r}, not {given['environment']!r}.")
    return given | {
        "base_url": service.base_url,
        "key": engine_for(settings, read_block).key.current.get_secret_value(),
        "environment": service.environment,
        "sidecar_field": given["sidecar_field"] or service.sidecar_field,
        "allow_plain_http": True,  # the settings have judged the URL
    }
