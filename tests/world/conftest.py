"""Options that choose one world."""

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("worlds")
    group.addoption("--seed", help="the seed of the one world to play")
    group.addoption("--level", help="the level to play")
    group.addoption("--story", action="store_true", help="tell the world line by line")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """If a world is chosen, play that one alone; else what is played always."""
    is_chosen = config.getoption("--seed") is not None or config.getoption("--level") is not None
    here = Path(__file__).parent
    items[:] = [
        item
        for item in items
        if item.path.parent != here or (item.name == "test_a_chosen_world_holds_what_is_promised") == is_chosen
    ]
