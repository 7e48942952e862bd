import ast
import pickle
import re
from pathlib import Path

import pytest

from proofsweep.domain import errors
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
TREE_LINE = re.compile(r"^((?:[│ ] {3})*(?:[├└]── )?)(\w+)(?: {2}.*)?$", flags=re.MULTILINE)
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


def drawn(kind: type[ProofsweepError], depth: int = 0) -> list[tuple[int, str]]:
    """Return an error class and all its subclasses, each with its depth."""
    below = [line for child in kind.__subclasses__() for line in drawn(child, depth + 1)]
    return [(depth, kind.__name__), *below]


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_error_survives_pickling(error: ProofsweepError) -> None:
    """An error that a worker process raises is the same in the process that receives it."""
    received = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes

    assert type(received) is type(error)
    assert str(received) == str(error)
    assert vars(received) == vars(error)


def test_every_error_has_an_example() -> None:
    """A new error class has an example too."""
    assert {type(error).__name__ for error in EXAMPLES} == {name for _, name in drawn(ProofsweepError)}


def test_drawing_of_the_tree_is_the_tree() -> None:
    """The drawing at the top of the file shows all classes."""
    lines = TREE_LINE.findall(errors.__doc__ or "")

    assert [(len(branch) // 4, name) for branch, name in lines] == drawn(ProofsweepError)


def test_all_errors_stand_in_one_file() -> None:
    """An error that is defined elsewhere is missing in the drawn tree."""
    names = {type(error).__name__ for error in EXAMPLES}
    package = Path(errors.__file__).parents[1]

    elsewhere = [
        node.name
        for module in package.rglob("*.py")
        if module.name != "errors.py"
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.ClassDef) and {ast.unparse(base) for base in node.bases} & (names | {"Exception"})
    ]

    assert elsewhere == []
