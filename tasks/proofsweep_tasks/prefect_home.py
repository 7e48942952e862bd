"""Prefect's home, where it keeps its profiles and the database of an embedded server."""

import os
from pathlib import Path

from proofsweep.domain.errors import ConfigError


def prefect_home() -> Path:
    """Return Prefect's home; ConfigError if neither PREFECT_HOME nor a home of this user is there.

    Prefect asks for the user's home whenever it is imported, also where PREFECT_HOME is set. A user of a container may
    have none: then that folder is also the home of this process.
    """
    named = os.environ.get("PREFECT_HOME")
    try:
        home = Path.home()
    except RuntimeError as error:
        if not named:
            raise ConfigError("This user has no home, where Prefect keeps its database: set PREFECT_HOME.") from error
        os.environ["HOME"] = named
        home = Path(named)
    if named:
        return Path(named).expanduser().absolute()
    return home / ".prefect"
