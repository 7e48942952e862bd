"""The working folder holds data of others: nothing that lies there is run, and nothing there configures this process.

Python and Prefect both look there by default: a `uvicorn.py` beside the audio would be imported by a process that we
start, and a `prefect.toml` or a `.env` could name a logging config that calls any function.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType, SimpleNamespace

import proofsweep

_OF_PROGRAM = {Path(proofsweep.__file__).parents[1], Path(os.__file__).parent}  # a checkout, or where it is installed
_SETTINGS_SOURCES = "prefect.settings.sources"
_PATHS = (
    *("PREFECT_HOME", "PREFECT_PROFILES_PATH", "TMPDIR"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
)
"""Variables that a person may have given as seen from here; our processes have folders of their own."""


def distrust_working_folder() -> None:
    """Begin a process so; call it before Prefect is imported, and before any process is started."""
    os.environ["PYTHONSAFEPATH"] = "1"  # for each Python that this process starts, also those of multiprocessing
    with suppress(FileNotFoundError):  # the folder was deleted: nothing lies in it
        here = Path.cwd()
        _forget_as_python_path(here)
        for name in _PATHS:
            written = os.environ.get(name)
            if written:
                path = os.path.expanduser(written)  # noqa: PTH111 - Path's raises without a home
                os.environ[name] = str(here / path)
    without_files_of_the_folder()


def _forget_as_python_path(here: Path) -> None:
    """Drop the working folder, and what was given as seen from it, from where Python finds modules."""
    # An empty entry of PYTHONPATH, which is easily made, means the working folder.
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    absolute = [entry for entry in entries if Path(entry).is_absolute()]
    if absolute:
        os.environ["PYTHONPATH"] = os.pathsep.join(absolute)
    else:
        os.environ.pop("PYTHONPATH", None)
    if here in _OF_PROGRAM:
        return
    below_here = {here}
    below_here.update(here / entry for entry in entries if entry not in absolute)
    sys.path[:] = [entry for entry in sys.path if entry and Path(entry) not in below_here]


def without_files_of_the_folder() -> None:
    """Let Prefect read no settings from `.env`, `prefect.toml` and `pyproject.toml`, whenever it is imported."""
    # Prefect has no switch for that, and reads them while it is imported, and again with each change of a setting.
    sources = sys.modules.get(_SETTINGS_SOURCES)
    if sources is not None:
        _read_no_files(sources)
    elif not any(isinstance(finder, _SourcesFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _SourcesFinder())


class _SourcesFinder(MetaPathFinder):
    """Changes Prefect's module of settings sources as soon as it is imported."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if fullname != _SETTINGS_SOURCES:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            _read_no_files(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]  # of this one spec
        return spec


def _read_no_files(sources: ModuleType) -> None:
    """Replace what reads files whose path is relative; a profile's path is absolute."""
    read = sources._read_toml_file  # noqa: SLF001 - Prefect's version is pinned, and a test plants each file

    def read_if_absolute(path: Path) -> dict[str, object]:
        content: dict[str, object] = {}
        if path.is_absolute():
            content = read(path)
        return content

    sources._read_toml_file = read_if_absolute  # type: ignore[attr-defined]  # noqa: SLF001
    # Pydantic makes one of its own too, whether Prefect asks it or not; our settings read no such file either.
    sources.DotEnvSettingsSource._read_env_files = lambda _source: {}  # noqa: SLF001
    sources.dotenv = SimpleNamespace(dotenv_values=lambda _path: {})  # type: ignore[attr-defined]
