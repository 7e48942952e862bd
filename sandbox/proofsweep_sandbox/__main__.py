"""`python -m proofsweep_sandbox`: run a sandbox until it is stopped."""

import argparse
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

from proofsweep_sandbox.options import Options
from proofsweep_sandbox.server import serve


def main(arguments: list[str], serve: Callable[..., None] = serve) -> None:
    parser = argparse.ArgumentParser(prog="python -m proofsweep_sandbox", description="A local partner service.")
    parser.add_argument("--home", type=Path, required=True, help="folder of keys, registry and uploads")
    for option in fields(Options):
        if option.name != "home":
            name = option.name.replace("_", "-")
            default = option.default
            parser.add_argument(f"--{name}", type=type(default), default=default, help=f"default: {default}")
    parser.add_argument("--ends-with-stdin", action="store_true", help="stop when standard input is closed")
    chosen = vars(parser.parse_args(arguments))
    ends_with_stdin = chosen.pop("ends_with_stdin")
    try:
        serve(Options(**chosen), ends_with_stdin=ends_with_stdin)
    except OSError as error:
        sys.exit(f"the sandbox cannot start: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
