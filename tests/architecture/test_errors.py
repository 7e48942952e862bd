import pickle

import pytest

from proofsweep.errors import (
    CallFailed,
    CatalogError,
    ConfigError,
    NameTaken,
    ProofsweepError,
    ResultsError,
    RunIsActive,
    RunMustStop,
    ServiceError,
    SlotRefused,
    SourceError,
    UsageError,
)

ANSWER = {"stage": "verify", "reason": "http_500", "status": 500, "code": "internal", "request_id": "req-1"}
EXAMPLES = [
    ProofsweepError("It went wrong.", where="here"),
    UsageError("That cannot be done.", asked="that"),
    ConfigError("There is no such profile.", profile="nightly"),
    CatalogError("The catalog is empty.", catalog="a.csv"),
    ResultsError("There is no such run.", run_id="20261120T000000"),
    RunIsActive("Another leg is alive.", holder="host-2"),
    NameTaken("The name is taken.", name="part"),
    SourceError("The file is gone.", reason="missing_audio"),
    ServiceError("The call failed.", **ANSWER),
    CallFailed("The call failed for good.", **ANSWER),
    SlotRefused("The storage target refused.", **ANSWER),
    RunMustStop("The key was refused.", ended_by="key_refused"),
]


def tree_below(kind: type[ProofsweepError]) -> set[type[ProofsweepError]]:
    """Give an error class with everything that is made from it."""
    return {kind}.union(*(tree_below(child) for child in kind.__subclasses__()))


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_error_survives_the_way_between_processes(error: ProofsweepError) -> None:
    """An error that crosses from a worker process says the same there as here."""
    arrived = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes

    assert type(arrived) is type(error)
    assert str(arrived) == str(error)
    assert vars(arrived) == vars(error)


def test_every_error_has_an_example() -> None:
    """An error class that is added travels too."""
    assert {type(error) for error in EXAMPLES} == tree_below(ProofsweepError)
