"""What the wheel asks an installer for."""

from collections.abc import Iterator
from importlib.metadata import requires

from packaging.requirements import Requirement


def requirements(distribution: str) -> Iterator[Requirement]:
    """Yield what a distribution needs here, without its extras."""
    for requirement in map(Requirement, requires(distribution) or []):
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield requirement


def test_what_we_bound_has_the_extras_that_prefect_asks_for() -> None:
    """Else pip of 2023 downloads each release of the extra that our bound excludes, or gives up."""
    asked = {each.name: each.extras for each in requirements("prefect")}
    above = [each for each in requirements("proofsweep") if any("<" in bound.operator for bound in each.specifier)]

    lacking = [each.name for each in above if asked.get(each.name, set()) - each.extras]

    assert {"sqlalchemy", "fastapi"} <= {each.name for each in above}
    assert lacking == ["httpx"]  # no release is above its bound
