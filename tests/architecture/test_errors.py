import pickle

import pytest

from proofsweep.domain.errors import (
    CallFailed,
    CatalogError,
    ConfigError,
    EmptyCatalog,
    NameTaken,
    NothingDue,
    ProofsweepError,
    ResourceShortage,
    ResultsError,
    RotationUnfinished,
    RunIsActive,
    RunMustStop,
    ServiceError,
    SlotRefused,
    SlotSpent,
    SourceError,
    UsageError,
)

ANSWER = {"stage": "verify", "reason": "http_500", "status": 500, "code": "internal", "request_id": "req-1"}
EXAMPLES = [
    ProofsweepError("It went wrong.", where="here"),
    UsageError("That cannot be done.", asked="that"),
    ConfigError("There is no such profile.", profile="nightly"),
    CatalogError("The catalog cannot be read.", catalog="a.csv"),
    EmptyCatalog("The catalog is empty.", catalog="a.csv"),
    NothingDue("Nothing is due.", skipped=3),
    ResultsError("There is no such run.", run_id="20261120T000000"),
    RunIsActive("Another leg is alive.", holder="host-2"),
    NameTaken("The name is taken.", name="part"),
    SourceError("The file is gone.", reason="missing_audio"),
    ResourceShortage("Too many open files.", reason="source_unavailable"),
    RotationUnfinished("The new key is not in its place yet."),
    ServiceError("The call failed.", **ANSWER),
    CallFailed("The call failed for good.", **ANSWER),
    SlotRefused("The storage target refused.", **ANSWER),
    SlotSpent("The slot is spent.", **ANSWER),
    RunMustStop("The key was refused.", ended_by="key_refused"),
]


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_error_survives_pickling(error: ProofsweepError) -> None:
    """An error that a worker process raises is the same in the process that receives it."""
    received = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes

    assert type(received) is type(error)
    assert str(received) == str(error)
    assert vars(received) == vars(error)


def test_every_error_has_an_example() -> None:
    """A new error class has an example too."""
    found: set[type[ProofsweepError]] = {ProofsweepError}
    while below := {child for kind in found for child in kind.__subclasses__()} - found:
        found |= below

    assert {type(error) for error in EXAMPLES} == found
