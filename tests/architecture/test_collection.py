import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]


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
