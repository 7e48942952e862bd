"""The command line: arguments, then a flow or a use case, then what the person sees, and an exit code."""

import sys

# httpx tries to load a command line of its own, which takes a fifth of a second; without it, it does without.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # None is how Python says "not to be had"
