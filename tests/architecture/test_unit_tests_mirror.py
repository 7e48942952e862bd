"""tests/unit mirrors the core: the tests of a module are where its path says.

`proofsweep/partner/retry.py` has `tests/unit/partner/test_retry.py`. A module with many tests may have more files,
whose names go on: `test_retry_of_uploads.py`. Commands, flows and tasks are tested as a person runs them, in tests/cli
and tests/flows.
"""

from pathlib import Path

ROOT = Path(__file__).parents[2]
CORE, UNIT = ROOT / "proofsweep", ROOT / "tests" / "unit"

EXCEPTIONS: dict[str, str] = {}
"""Modules of the core without a test of their own, and why."""

EXTRAS = {
    "test_lanes_in_simulation.py": "tests the lanes that benchmarks/simulation gives the pacer",
    "answers/views/test_ten_nights.py": "asks a store in every way that there is, and lets all answers agree",
    "partner/test_hostile_answers.py": "sends hostile bytes through transport, partner and slots together",
    "files/test_edges_of_audio.py": "follows odd audio files from the bytes to the row, through several layers",
}
"""Test files that belong to no single module, and why."""

MODULES = {str(path.relative_to(CORE)) for path in CORE.rglob("*.py") if path.name != "__init__.py"}
TESTS = {str(path.relative_to(UNIT)) for path in UNIT.rglob("test_*.py")}


def unit_test_of(module: str) -> str:
    """Return the test file of a module."""
    path = Path(module)
    return str(path.with_name(f"test_{path.name}"))


def belongs_to_a_module(test: str) -> bool:
    """Return whether a module has the name of a test file, or the beginning of its name."""
    return any(test == unit_test_of(module) or test.startswith(f"{unit_test_of(module)[:-3]}_") for module in MODULES)


def test_every_module_of_the_core_has_its_unit_tests() -> None:
    """A reader of a module finds its tests by its path, and a module without tests is seen."""
    untested = {module for module in MODULES if unit_test_of(module) not in TESTS} - EXCEPTIONS.keys()

    lines = [f"proofsweep/{module} needs tests/unit/{unit_test_of(module)}" for module in sorted(untested)]
    assert untested == set(), "\n".join(lines)


def test_every_unit_test_belongs_to_a_module() -> None:
    """When a module moves, its tests move too."""
    strays = {test for test in TESTS if not belongs_to_a_module(test)} - EXTRAS.keys()

    assert strays == set(), "\n".join(f"tests/unit/{test} has no module" for test in sorted(strays))


def test_every_exception_is_needed() -> None:
    """A module that has got its tests, or that is gone, is no exception any more; the same is true for extras."""
    needless = {module for module in EXCEPTIONS if module not in MODULES or unit_test_of(module) in TESTS}
    needless |= {test for test in EXTRAS if test not in TESTS or belongs_to_a_module(test)}

    assert sorted(needless) == []
