"""One sandbox for all tests of this folder, and every input of the suite."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from pathlib import Path

import pytest

import proofsweep_sandbox as sandbox
from partner_conformance import CHECKS, Inputs, Result, Subject, Wire, run
from partner_conformance.options import inputs_of, secret_in, with_file
from partner_conformance.prepare import prepare
from proofsweep_cli.app import run as run_command

from ..mutants.operator import MutantOperator

# The longest lifetime of a slot with any seed: four times the sandbox's default of 900 s.
SLOT_SECONDS = 4 * 900
NAMED_BY_FILES = ("", "second_", "other_", "grace_", "expired_", "other_environment_")
KEY_FILES = dict.fromkeys(f"{name}key_file" for name in NAMED_BY_FILES)
Given = tuple[str, Inputs]
Output = tuple[int, str, str]
Command = Callable[..., Output]
Examine = Callable[[Iterable[str], Given], tuple[list[Result], int]]


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sandbox.Running]:
    """One sandbox process, shared."""
    with sandbox.launch(tmp_path_factory.mktemp("sandbox") / "home", module="tests.mutants") as running:
        yield running


@pytest.fixture
def operator(running: sandbox.Running) -> Iterator[MutantOperator]:
    """The operator; everything is reset after the test."""
    running.operator.set_lane(1 / 12, 20, lane="rotate")
    operator = MutantOperator(running.operator_url)
    yield operator
    operator.set_mutant(None)
    operator.close()
    running.operator.set_silences()
    running.operator.set_lane(2000, 4000)


@pytest.fixture(scope="session")
def furnish(running: sandbox.Running, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Given]:
    """Make a tenant with three keys, its proofs and `more` of both; return its key, and every input of the suite."""

    def furnish(more: int = 0) -> Given:
        folder = tmp_path_factory.mktemp("given") / "given"
        return given_in(prepare(running.base_url, running.operator_url, folder, more=more))

    return furnish


def given_in(file: Path) -> Given:
    """Return the key and the inputs that a file names."""
    given = with_file(dict.fromkeys((each.name for each in fields(Inputs)), None) | KEY_FILES | {"inputs": file})
    key = secret_in(given["key_file"])
    assert key is not None
    return key, replace(inputs_of(given), slot_seconds=SLOT_SECONDS)


@pytest.fixture(scope="session")
def furnished(furnish: Callable[..., Given]) -> Given:
    """A tenant for all checks that do not change it, with more entries than the largest page has."""
    return furnish(more=105)


@pytest.fixture
def examine(running: sandbox.Running, operator: sandbox.Operator) -> Examine:
    """Run some checks; return their results and the number of keyed calls.

    A wait of the suite moves the sandbox's time and takes none.
    """
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        operator.move_clock(seconds)

    def examine(names: Iterable[str], given: Given) -> tuple[list[Result], int]:
        key, inputs = given
        with Wire(running.base_url, key, sleep=wait) as wire:
            results = list(run([CHECKS[name] for name in names], Subject(wire, inputs)))
        operator.move_clock(-sum(waited))
        waited.clear()
        return results, wire.keyed_calls

    return examine


@pytest.fixture
def key_file(operator: sandbox.Operator, tmp_path: Path) -> Path:
    """A file with the key of a tenant without proofs."""
    file = tmp_path / "key"
    file.write_text(operator.add_tenant("empty").api_key)
    return file


@pytest.fixture
def conformance(
    running: sandbox.Running, key_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Command:
    """Run the command on the sandbox, without its real wait; return exit code, standard output and standard error."""
    monkeypatch.setattr("partner_conformance.subject.MOMENT_SECONDS", 0.05)

    def conformance(*arguments: str, environment: str | None = "sandbox") -> Output:
        environment_option = [] if environment is None else ["--environment", environment]
        place = ["--base-url", running.base_url, "--key-file", str(key_file), *environment_option]
        code = run_command(["conformance", *place, *arguments])
        return code, *capsys.readouterr()

    return conformance
