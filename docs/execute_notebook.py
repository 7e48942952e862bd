# ruff: noqa: INP001 - a script, no package
"""Execute the cells of a notebook in this process, and keep what they show: `python docs/execute_notebook.py NOTEBOOK`.

It asks the results store in `results`, or that of PROOFSWEEP_RESULTS__URL. Jupyter does the same, and is not needed.
"""

import ast
import io
import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook with the outputs of its code cells, run one after the other."""
    mpl.use("svg")
    mpl.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "nights"}
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, count = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            source = "".join(cell["source"])
            value = _value_of(source, names)
            frames = [] if value is None or source.endswith(";") else [_frame(value, count)]
            cell = cell | {"execution_count": count, "outputs": frames + _charts()}  # noqa: PLW2901 - the same cell, run
        cells.append(cell)
    return notebook | {"cells": cells}


def _value_of(source: str, names: dict[str, Any]) -> Any:  # noqa: ANN401 - whatever the cell says
    """Run a cell; give the value of its last line if that is an expression, as Jupyter shows it."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "notebook", "exec"), names)  # noqa: S102 - our own page
    return None if last is None else eval(compile(ast.Expression(last.value), "notebook", "eval"), names)  # noqa: S307


def _frame(value: Any, count: int) -> dict[str, Any]:  # noqa: ANN401 - a frame of pandas
    data = {"text/html": _lines(value._repr_html_()), "text/plain": _lines(str(value))}
    return {"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data}


def _charts() -> list[dict[str, Any]]:
    """Return the figures that a cell drew, and close them."""
    outputs = []
    for number in plt.get_fignums():
        drawn = io.StringIO()
        plt.figure(number).savefig(drawn, format="svg", bbox_inches="tight", metadata={"Date": None})
        outputs.append({"output_type": "display_data", "metadata": {}, "data": {"image/svg+xml": [drawn.getvalue()]}})
    plt.close("all")
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    page = Path(sys.argv[1])
    done = executed(json.loads(page.read_text(encoding="utf-8")))
    page.write_text(json.dumps(done, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
