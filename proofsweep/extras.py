"""The extras of the distribution: what each brings, and what is said where none that is needed is installed."""

from importlib.util import find_spec

from proofsweep.errors import ConfigError

MODULES = {
    "aws": ("obstore", "boto3"),
    "azure": ("obstore",),
    "dask": ("prefect_dask",),
    "gcp": ("obstore",),
    "pandas": ("pandas",),
    "postgresql": ("psycopg",),
    "report": ("altair", "vl_convert"),
    "sandbox": ("c2pa", "python_multipart"),
}
"""The modules that each extra brings."""


def is_installed(extra: str) -> bool:
    """Whether all modules of an extra are there; none of them is imported."""
    return all(_is_there(module) for module in MODULES[extra])


def require(what: str, *extras: str) -> None:
    """Raise ConfigError unless one of some extras is installed; `what` needs it, and begins the sentence."""
    if not any(is_installed(extra) for extra in extras):
        named = " or ".join(f"pip install 'proofsweep[{extra}]'" for extra in extras)
        raise ConfigError(f"{what} needs packages that are not installed: {named}.")


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:  # the module is marked as missing
        return False
