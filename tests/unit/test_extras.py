"""The extras, and the line that names one."""

import tomllib
from pathlib import Path

import pytest

from proofsweep.errors import ConfigError
from proofsweep.extras import MODULES, is_installed, require

EXTRAS = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def test_every_extra_of_the_distribution_is_known() -> None:
    """None is missing but the developers' and that of the containers' store, and none is made up."""
    assert MODULES.keys() == EXTRAS.keys() - {"dev", "store"}


@pytest.mark.parametrize("extra", MODULES)
def test_an_extra_whose_modules_are_there_is_installed(extra: str) -> None:
    """The developers' environment has them all."""
    assert is_installed(extra)


@pytest.mark.parametrize("extra", MODULES)
def test_the_line_says_what_to_install(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One missing module is enough."""
    monkeypatch.setitem(__import__("sys").modules, MODULES[extra][-1], None)

    with pytest.raises(ConfigError) as refused:
        require("This", extra)

    line = f"This needs packages that are not installed: pip install 'proofsweep[{extra}]'."
    assert refused.value.message == line


def test_any_of_several_extras_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them are named where none is there."""
    monkeypatch.setitem(__import__("sys").modules, "boto3", None)

    require("A bucket", "aws", "gcp")
    monkeypatch.setitem(__import__("sys").modules, "obstore", None)
    with pytest.raises(ConfigError, match=r"'proofsweep\[aws\]' or pip install 'proofsweep\[gcp\]'"):
        require("A bucket", "aws", "gcp")
