"""How a process imports what takes seconds."""

import atexit
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder


@contextmanager
def no_garbage_looked_for() -> Iterator[None]:
    """Import inside of this: Python looks for no garbage meanwhile, and later not among what was imported."""
    # Modules are a million objects that stay. To look through them again and again takes a fifth of an import.
    before = len(sys.modules)
    gc.disable()
    try:
        yield
    finally:
        # What is garbage now stays for good, so nothing is frozen for an import that brings nothing.
        if len(sys.modules) > before:
            gc.freeze()
        gc.enable()


class _NoPandas(MetaPathFinder):
    def find_spec(self, fullname: str, _path: object, _target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(name=fullname)


def keep_pandas_from_arrow() -> None:
    """Let Arrow find no pandas while it looks for it; who imports pandas later has both.

    Arrow looks at the first list that it is given, and takes a fifth of a second to import what a run does not use.
    """
    import pyarrow as pa  # noqa: PLC0415 - most commands need neither

    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([None])
    finally:
        sys.meta_path.remove(finder)


# DuckDB takes what nobody takes apart at the end for a leak, and prints it.
atexit.register(gc.unfreeze)
