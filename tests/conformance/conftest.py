"""One sandbox for all tests of this folder, and every input of the suite."""

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from random import Random

import httpx
import pytest

import proofsweep_sandbox as sandbox
from partner_conformance import CHECKS, Inputs, Result, Subject, Wire, run
from proofsweep_cli.app import run as run_command
from proofsweep_sandbox.samples import sounds

from ..mutants.operator import MutantOperator

# The longest lifetime of a slot with any seed: four times the sandbox's default of 900 s.
SLOT_SECONDS = 4 * 900
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
def wav(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small WAV without any credential."""
    file = tmp_path_factory.mktemp("wav") / "take.wav"
    file.write_bytes(sounds.wav(0.05, Random(1)))  # noqa: S311 - a sound, not a secret
    return file


@pytest.fixture(scope="session")
def furnish(running: sandbox.Running, wav: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Given]:
    """Make a tenant with three keys, five proofs and `more` of both; return its key, and every input of the suite."""
    numbers = count()

    def furnish(more: int = 0) -> Given:
        operator, folder = running.operator, tmp_path_factory.mktemp("given")
        key, other = operator.add_tenant("the suite's"), operator.add_tenant("another")
        for _ in range(2 + more):
            operator.add_key(key.tenant, "one more")
        audio = folder / "take.wav"
        audio.write_bytes(wav.read_bytes())

        def issue(name: str, **options: object) -> sandbox.Issued:
            return operator.issue(audio, folder / name, tenant=key.tenant, **options)  # type: ignore[arg-type]  # an IssueOptions

        operator.move_clock(-3600)
        spare = issue("spare.wav")
        for _ in range(more):
            operator.move_clock(1)
            issue("old.sidecar", legacy=True)
        operator.move_clock(3600 - more)
        one_file, pair = issue("one.wav"), issue("take.sidecar", legacy=True)
        operator.issue(audio, folder / "theirs.wav", tenant=other.tenant)
        issue("stranger.sidecar", legacy=True, sealed_by="stranger")
        inputs = Inputs(
            sidecar_field="sidecar",
            one_file=one_file.audio,
            pair=(pair.audio, folder / "take.sidecar"),
            proof=one_file.proof_id,
            pending_proof=issue("pending.wav", pending=True).proof_id,
            local_seal=issue("device.wav", sealed_by="device", registered=False).audio,
            unregistered=issue("stranger.wav", sealed_by="stranger").audio,
            unregistered_pair=(audio, folder / "stranger.sidecar"),
            other_key=other.api_key,
            grace_key=rotated(running.base_url, operator, hours=30),
            expired_key=rotated(running.base_url, operator, hours=80),
            other_environment_key="sk_elsewhere_0123456789",
            new_key_file=folder / f"new-key-{next(numbers)}",
            erase_proof=spare.proof_id,
            slot_seconds=SLOT_SECONDS,
        )
        return key.api_key, inputs

    return furnish


def rotated(base_url: str, operator: sandbox.Operator, *, hours: float) -> str:
    """Return a key of a new tenant that was rotated so many hours ago."""
    key = operator.add_tenant("rotated").api_key
    operator.move_clock(-hours * 3600)
    headers = {"x-api-key": key, "idempotency-key": "0123456789abcdef"}
    httpx.post(f"{base_url}/partner/keys/rotate", headers=headers, trust_env=False).raise_for_status()
    operator.move_clock(hours * 3600)
    return key


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
