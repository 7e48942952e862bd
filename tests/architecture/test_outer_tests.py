"""Outer tests hold what the program does, however its core is laid: they know it by one façade, and load it late."""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
INNER = {TESTS / "architecture", TESTS / "unit", TESTS / "world", TESTS / "worlds" / "core.py"}
DOCUMENTED = ("proofsweep.__version__", "proofsweep.results")


def named_modules(module: Path) -> Iterator[str]:
    """Yield all that a module imports or names in a text, as absolute names; what is relative is below `tests`."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = ["tests", *module.relative_to(TESTS).parts[: -node.level]] if node.level else []
            yield from (".".join([*above, *filter(None, [node.module]), alias.name]) for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isprintable():
            yield from [node.value] if "." in node.value and node.value.replace(".", "_").isidentifier() else []


def test_outer_tests_know_the_core_by_the_facade_alone() -> None:
    """They name neither the core's rooms, also not in a text for a patch, nor what is made for unit tests."""
    outer = [path for path in TESTS.rglob("*.py") if not INNER & {path, *path.parents}]

    wrong = {
        f"{path.relative_to(TESTS)}: {name}"
        for path in outer
        for name in named_modules(path)
        if f"{name}.".startswith(("proofsweep.", "tests.unit.")) and not name.startswith(DOCUMENTED)
    }

    assert len(outer) > 100
    assert wrong == set()


def imported_at_once(module: Path) -> set[str]:
    """Return the packages that a module imports when it is itself imported."""
    statements = ast.parse(module.read_text()).body
    names = {alias.name for each in statements if isinstance(each, ast.Import) for alias in each.names}
    names |= {each.module or "" for each in statements if isinstance(each, ast.ImportFrom) and not each.level}
    return {name.partition(".")[0] for name in names}


def test_no_test_loads_prefect_while_tests_are_collected() -> None:
    """Prefect reads its settings when it is imported: all tests of a process would run with the wrong ones."""
    loading = {
        str(module.relative_to(TESTS))
        for module in TESTS.rglob("*.py")
        if imported_at_once(module) & {"prefect", "prefect_dask", "proofsweep_flows", "proofsweep_tasks"}
    }

    assert loading == set()
