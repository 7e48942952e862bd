"""Options that choose one world."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("worlds")
    group.addoption("--seed", help="the seed of the one world to play")
    group.addoption("--level", help="the level to play")
    group.addoption("--story", action="store_true", help="tell the world line by line")
