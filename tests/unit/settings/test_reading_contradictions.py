"""A variable that is left over must not send one's catalog to another partner."""

from collections.abc import Mapping

import pytest

from proofsweep.settings.reading import contradicted

FILE = {"service": {"base_url": "https://b/v1", "environment": "beta", "api_key_file": "/b"}, "pace": {"workers": 2}}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"PROOFSWEEP_SERVICE__BASE_URL": "https://a/v1"}, ["service.base_url"]),
        ({"proofsweep_service__environment": "production"}, ["service.environment"]),
        ({"PROOFSWEEP_SERVICE__API_KEY_FILE": "/a"}, ["service.api_key_file"]),
        ({"PROOFSWEEP_SERVICE__API_KEY_ENV": "A"}, ["service.api_key_file"]),
        ({"PROOFSWEEP_SERVICE__BASE_URL": "https://b/v1/", "PROOFSWEEP_SERVICE__ENVIRONMENT": ""}, []),
        ({"PROOFSWEEP_RESULTS__URL": "/a", "PROOFSWEEP_PACE__WORKERS": "9"}, []),
    ],
)
def test_a_variable_contradicts_a_file_on_what_decides(variables: Mapping[str, str], expected: list[str]) -> None:
    """The same value is no contradiction, nor is a setting that the file leaves open or that decides nothing."""
    assert [setting for setting, _ in contradicted(FILE, variables)] == expected


def test_a_contradiction_names_the_variable() -> None:
    """So that a person finds the one to unset, also if it is another source of the key."""
    found = list(contradicted(FILE, {"PROOFSWEEP_SERVICE__API_KEY_ENV": "A"}))

    assert found == [("service.api_key_file", "PROOFSWEEP_SERVICE__API_KEY_ENV")]
