# ruff: noqa: INP001 - a script, no package
"""Execute the cells of a notebook in this process, and keep what they show: `python docs/execute_notebook.py NOTEBOOK`.

It asks the results store in `results`, or that of PROOFSWEEP_RESULTS__URL. Jupyter does the same, and is not needed.
"""

import ast
import json
import sys
from pathlib import Path
from typing import Any

_SHOWN = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_"}


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook with the outputs of its code cells, run one after the other."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, count = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            value = _value_of("".join(cell["source"]), names)
            outputs = [] if value is None else [_output(value, count)]
            cell = cell | {"execution_count": count, "outputs": outputs}  # noqa: PLW2901 - the same cell, run
        cells.append(cell)
    return notebook | {"cells": cells}


def _value_of(source: str, names: dict[str, Any]) -> object:
    """Run a cell; give the value of its last line if that is an expression, as Jupyter shows it."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "notebook", "exec"), names)  # noqa: S102 - our own page
    return None if last is None else eval(compile(ast.Expression(last.value), "notebook", "eval"), names)  # noqa: S307


def _output(value: object, count: int) -> dict[str, Any]:
    """Write a value as Jupyter stores it."""
    shown = {kind: getattr(value, name)() for kind, name in _SHOWN.items() if hasattr(value, name)}
    shown |= value._repr_mimebundle_() if hasattr(value, "_repr_mimebundle_") else {}
    lines = {kind: text.splitlines(keepends=True) for kind, text in shown.items() if isinstance(text, str)}
    plain = {} if "image/svg+xml" in lines else {"text/plain": str(value).splitlines(keepends=True)}
    return {"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": lines | plain}


if __name__ == "__main__":
    page = Path(sys.argv[1])
    done = executed(json.loads(page.read_text(encoding="utf-8")))
    page.write_text(json.dumps(done, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
