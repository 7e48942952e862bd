"""The command line: arguments, then a flow or a use case, then the output and an exit code."""

import sys

from proofsweep_cli import process_end as process_end  # first: see there

# httpx tries to import its own command line: a fifth of a second. With this entry the import fails at once.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # None makes Python raise ImportError
