"""Screening conditions are read from the profile and from the environment."""

from pathlib import Path

import pytest

from proofsweep.errors import ConfigError
from proofsweep.settings import load_settings

PROFILE = """
[service]
base_url = "https://partner.example/v1"
environment = "mine"
api_key_env = "MY_KEY"
[screening]
mostly_ai = "grade_ai > 0.5"
"""


def test_screening_conditions_have_names_of_one_s_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """From the profile and the environment; a name that SQL would not take as it is, is refused."""
    profile = tmp_path / "mine.toml"
    profile.write_text(PROFILE)
    monkeypatch.setenv("PROOFSWEEP_SCREENING__LOW", "grade_human < 0.2")

    assert load_settings(str(profile)).screening.conditions == {
        "mostly_ai": "grade_ai > 0.5",
        "low": "grade_human < 0.2",
    }
    profile.write_text(profile.read_text() + '"a b" = "true"\n')
    with pytest.raises(ConfigError, match="screening: 'a b': a name has"):
        load_settings(str(profile))
