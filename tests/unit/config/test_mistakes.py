"""A misspelt name is refused with the name that was probably meant, and foreign variables are left alone."""

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from proofsweep.config.load import misspelt_variables, mistakes_in

NAMES = {
    "service": ["base_url", "environment", "api_key_file"],
    "pace": ["workers", "first_rate"],
    "bounds": ["max_calls"],
    "results": ["url"],
    "catalog": ["dedupe"],
}


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("PROOFSWEEP_SERVICE_BASE_URL", "PROOFSWEEP_SERVICE__BASE_URL"),
        ("proofsweep_service_base_url", "PROOFSWEEP_SERVICE__BASE_URL"),
        ("PROOFSWEEP_BASE_URL", "PROOFSWEEP_SERVICE__BASE_URL"),
        ("PROOFSWEEP_SERVICES__BASE_URL", "PROOFSWEEP_SERVICE__BASE_URL"),
        ("PROOFSWEEP_API_KEY_FILE", "PROOFSWEEP_SERVICE__API_KEY_FILE"),
        ("PROOFSWEEP_WORKERS", "PROOFSWEEP_PACE__WORKERS"),
        ("PROOFSWEEP_PACE_FIRSTRATE", "PROOFSWEEP_PACE__FIRST_RATE"),
        ("PROOFSWEEP_SPEED__WORKRES", "PROOFSWEEP_PACE__WORKERS"),
        ("PROOFSWEEP_RESULTS_DIR", "PROOFSWEEP_RESULTS__URL"),
        ("PROOFSWEEP_CONFG", "PROOFSWEEP_CONFIG"),
    ],
)
def test_a_variable_that_looks_like_a_setting_is_refused(variable: str, meant: str) -> None:
    """It would be ignored, and the run would go to another service, or at another pace."""
    (mistake,) = misspelt_variables([variable], NAMES, ())

    assert mistake.startswith(f"{variable} sets nothing")
    assert f"(did you mean {meant}?)" in mistake


def test_a_section_that_does_not_exist_is_refused() -> None:
    """Even if no setting is like it: two underscores are our own way of writing."""
    assert misspelt_variables(["PROOFSWEEP_X__Y"], NAMES, ()) == [
        "PROOFSWEEP_X__Y sets nothing: there is no section 'x'"
    ]


@pytest.mark.parametrize(
    "variable",
    [
        "HOME",
        "SERVICE_BASE_URL",
        "PROOFSWEEP_CONFIG",
        "PROOFSWEEP_SERVICE__BASE_URLL",  # the section's own check names it
        "PROOFSWEEP_PACE",
        "PROOFSWEEP_API_KEY",
        "PROOFSWEEP_PRODUCTION_KEY",
        "PROOFSWEEP_SERVICE_HOST",  # Kubernetes sets these for a service named proofsweep
        "PROOFSWEEP_SERVICE_PORT",
        "PROOFSWEEP_PORT_8725_TCP_ADDR",
        "PROOFSWEEP_CORPUS",
        "PROOFSWEEP_API_KEY_FILES",
    ],
)
def test_other_variables_are_left_alone(variable: str) -> None:
    """A key's variable has any name; other programs have variables of their own."""
    assert misspelt_variables([variable], NAMES, {"PROOFSWEEP_API_KEY_FILES"}) == []


class Pace(BaseModel):
    """A section."""

    model_config = ConfigDict(extra="forbid")
    workers: int = 1


class Whole(BaseModel):
    """All settings."""

    model_config = ConfigDict(extra="forbid")
    pace: Pace


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"pace": {"workres": 1}}, "pace.workres: there is no such setting (did you mean pace.workers?)"),
        ({"pace": {"dedupe": 1}}, "pace.dedupe: there is no such setting (did you mean catalog.dedupe?)"),
        ({"pace": {"colour": 1}}, "pace.colour: there is no such setting"),
        ({"pace": {}, "catalgo": {}}, "catalgo: there is no such section (did you mean catalog?)"),
        ({"pace": {"workers": "SECRET"}}, "pace.workers: Input should be a valid integer"),
        ({}, "pace: must be set, in the config or as PROOFSWEEP_PACE"),
    ],
)
def test_a_mistake_is_described_without_its_value(given: dict[str, object], words: str) -> None:
    """A value may be a secret in the wrong place."""
    with pytest.raises(ValidationError) as refused:
        Whole.model_validate(given)

    (mistake,) = mistakes_in(refused.value, NAMES)
    assert mistake.startswith(words)
    assert "SECRET" not in mistake
