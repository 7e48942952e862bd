"""What a person reads leaves the program through few doors, and each escapes what others wrote."""

import ast
from collections.abc import Iterator

from .packages import CORE, ROOT, modules_of

RAW = {"print", "typer.echo", "typer.secho", "sys.stdout.write", "sys.stderr.write", "Console", "Text"}
"""Calls that show text as it is."""

DOORS = {
    "cli/proofsweep_cli/screen.py": "is the door: all text of the command line passes through it",
    "proofsweep/verify/attribution.py": "says once that refusals are believed; a command mutes the log lines",
    "proofsweep/verify/leg.py": "writes two numbers of ours; a command mutes the flow's log lines",
    "tasks/proofsweep_tasks/this_flow_run.py": "escapes one line about an alert that was not sent",
    "tasks/proofsweep_tasks/stop_on_signals.py": "writes a sentence of ours and a run's id while the process ends",
}
"""The modules that may make such calls, and why."""


def raw_calls(source: str) -> Iterator[str]:
    """Find the calls in a module that show text as it is, without escaping."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in RAW:
            text = node.args[0] if node.args else None
            if not isinstance(text, ast.Constant):
                yield f"line {node.lineno}: {ast.unparse(node.func)}"


def test_only_the_doors_show_text() -> None:
    """A module that prints by itself may print a file's name, and the name may hold a forged line."""
    found = {str(path.relative_to(ROOT)): list(raw_calls(path.read_text())) for path in modules_of(*CORE)}

    assert {name for name, calls in found.items() if calls} == set(DOORS)
