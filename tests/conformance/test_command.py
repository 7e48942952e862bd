"""The command `proofsweep conformance`."""

import json
import stat
from pathlib import Path

import httpx
import pytest

import proofsweep_sandbox as sandbox
from partner_conformance import CHECKS, Inputs
from proofsweep_cli.app import run

from ..mutants.operator import MutantOperator
from .conftest import Command

CHEAP = ["--only", "endpoints-1-health-needs-no-key", "--only", "endpoints-4-usage-tells-the-quota"]


def test_a_service_that_keeps_the_contract_passes(conformance: Command) -> None:
    """Also for a tenant without proofs, and without inputs."""
    code, out, err = conformance()

    assert code == 0
    assert "\nfailed" not in out
    assert "not tried" in out
    assert "needs --pair" in out
    assert "keyed calls" in err


def test_the_json_object_has_the_results(conformance: Command, key_file: Path) -> None:
    """One object on stdout, with each check's result and the totals, and without secrets."""
    code, out, _ = conformance(*CHEAP, "--json")
    told = json.loads(out)

    assert code == 0
    assert (told["passed"], told["failed"], told["not_tried"]) == (2, 0, 0)
    assert [check["name"] for check in told["checks"]] == [CHEAP[1], CHEAP[3]]
    assert told["keyed_calls"] == 1
    assert key_file.read_text() not in out


def test_a_broken_rule_is_reported_with_its_request_id(conformance: Command, operator: MutantOperator) -> None:
    """Exit code 3, the finding, and the request IDs."""
    operator.set_mutant("resources-health-fields")

    code, out, _ = conformance("--only", "resources-health-fields", "--json")
    (check,) = json.loads(out)["checks"]
    given = {each["request_id"] for each in operator.exchanges()}

    assert code == 3
    assert (check["result"], check["said"]) == ("failed", "ok is a string, not a boolean")
    assert set(check["request_ids"]) <= given
    assert check["request_ids"]


def test_a_service_that_gives_no_answer_is_not_blamed(conformance: Command, operator: MutantOperator) -> None:
    """The contract documents internal failures: the check is not tried, and the exit code is 4."""
    operator.add_fault("keys", "status", status=500)

    code, out, _ = conformance("--only", "resources-keys-record-fields", "--json")
    operator.clear_faults()
    (check,) = json.loads(out)["checks"]

    assert (code, check["result"]) == (4, "not_tried")
    assert "500" in check["said"]


def test_the_list_has_all_checks_and_makes_no_call(conformance: Command, operator: MutantOperator) -> None:
    """As a table, or as one object."""
    before = len(operator.exchanges())

    _, table, _ = conformance("--list")
    _, out, _ = conformance("--list", "--json")

    assert all(name in table for name in CHECKS)
    assert [check["name"] for check in json.loads(out)["checks"]] == list(CHECKS)
    assert len(operator.exchanges()) == before


@pytest.mark.parametrize("environment", [None, "production", "live"])
@pytest.mark.parametrize(
    "name", ["errors-5-a-429-tells-what-to-do", "erase-erases-once", "rotate-replays-the-same-answer"]
)
def test_what_spends_rotates_or_erases_is_refused_elsewhere(
    conformance: Command, operator: MutantOperator, environment: str | None, name: str
) -> None:
    """Without beta or sandbox as the environment, no call is made."""
    before = len(operator.exchanges())

    code, _, err = conformance("--include", name, environment=environment)

    assert code == 2
    assert f"{name} " in err
    assert "beta or sandbox" in err
    assert len(operator.exchanges()) == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--only", "errors-9"], "There is no check 'errors-9'"),
        (["--only", "verdicts-accepted-pair-is-valid"], "needs --pair"),
        (["--only", "erase-erases-once"], "needs --erase-proof"),
        (["--only", "endpoints-6-other-tenants-proof-is-404"], "needs --other-key-file"),
        (["--one-file", "nowhere.wav"], "There is no file nowhere.wav"),
        (["--other-key-file", "nowhere"], "key file nowhere cannot be read"),
        (["--only", "rotate-replays-the-same-answer", "--new-key-file", __file__], "is not overwritten"),
        (["--only", "rotate-replays-the-same-answer", "--new-key-file", "no/such/key"], "no folder"),
    ],
)
def test_a_wrong_argument_is_reported_in_one_line(conformance: Command, arguments: list[str], words: str) -> None:
    """Exit code 2, before any call."""
    code, out, err = conformance(*arguments)

    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (["--base-url", "http://127.0.0.1:9/v1"], "both --base-url and --key-file"),
        (["--base-url", "http://127.0.0.1:9/", "--key-file", "KEY"], "must end in the path segment /v1"),
        (["--base-url", "http://partner.example/v1", "--key-file", "KEY"], "plain http"),
        (["--config", "sandbox", "--environment", "beta"], "'sandbox', not 'beta'"),
    ],
)
def test_a_wrong_service_is_reported(
    place: list[str], words: str, key_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing key file, a wrong URL, or an environment that differs from the config's."""
    code = run(["conformance", *(str(key_file) if each == "KEY" else each for each in place)])

    assert code == 2
    assert words in capsys.readouterr().err


def test_the_default_is_the_configs_service(
    running: sandbox.Running,
    key_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With the config's key and environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PROOFSWEEP_SERVICE__BASE_URL", running.base_url)
    monkeypatch.setenv("PROOFSWEEP_SERVICE__API_KEY_FILE", str(key_file))

    code = run(["conformance", *CHEAP, "--json"])

    assert code == 0
    assert json.loads(capsys.readouterr().out)["environment"] == "sandbox"


def test_the_production_profile_permits_no_lasting_change(
    running: sandbox.Running, key_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command line cannot override the profile's environment."""
    monkeypatch.setenv("PROOFSWEEP_CONFIG", "production")
    monkeypatch.setenv("PROOFSWEEP_SERVICE__BASE_URL", running.base_url)
    monkeypatch.setenv("PROOFSWEEP_SERVICE__API_KEY_FILE", str(key_file))
    erasing = ["conformance", "--include", "erase-unknown-proof-is-already-erased"]

    codes = [run([*erasing, *more]) for more in ([], ["--environment", "beta"])]

    assert codes == [2, 2]
    assert "the environment is 'production'" in capsys.readouterr().err


@pytest.mark.parametrize(("url", "code"), [("http://127.0.0.1:9/v1", 8), (None, 7)])
def test_an_unreachable_service_or_refused_key_ends_the_command(
    url: str | None, code: int, running: sandbox.Running, key_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No service, or a refused key: no traceback, and the exit code of every command."""
    key_file.write_text("sk_of_nobody")

    assert run(["conformance", "--base-url", url or running.base_url, "--key-file", str(key_file)]) == code
    assert "Traceback" not in capsys.readouterr().err


def test_the_new_key_of_a_rotation_is_saved(
    conformance: Command, running: sandbox.Running, operator: MutantOperator, tmp_path: Path
) -> None:
    """It is in the given file, readable by the owner only; it works, and it is not printed."""
    new = tmp_path / "new-key"

    code, out, err = conformance("--only", "rotate-answers-201-with-a-new-key", "--new-key-file", str(new))
    secret = new.read_text().strip()
    answer = httpx.get(f"{running.base_url}/partner/usage", headers={"x-api-key": secret}, trust_env=False)

    assert (code, answer.status_code) == (0, 200)
    assert stat.S_IMODE(new.stat().st_mode) == 0o600
    assert secret not in out + err
    assert [path.name for path in tmp_path.glob("new-key*")] == ["new-key"]
    assert len(operator.rotations()) > 0


@pytest.mark.parametrize("rule", ["rotate-needs-an-idempotency-key", "rotate-answers-201-with-a-new-key"])
def test_the_key_of_a_wrong_rotation_is_saved_too(
    conformance: Command, operator: MutantOperator, tmp_path: Path, rule: str
) -> None:
    """A service that rotates without an Idempotency-Key, or answers with 200, also creates a key."""
    operator.set_mutant(rule)
    new = tmp_path / "new-key"

    code, _, _ = conformance("--only", rule, "--new-key-file", str(new))

    assert code == 3
    assert new.read_text().startswith("sk_sandbox_")


def test_a_lost_rotation_can_be_repeated(
    conformance: Command, operator: MutantOperator, running: sandbox.Running, key_file: Path, tmp_path: Path
) -> None:
    """The Idempotency-Key is next to the file: with it, the service replays the answer with the new key."""
    operator.add_fault("rotate", "reset_after")
    new = tmp_path / "new-key"

    code, _, _ = conformance("--only", "rotate-answers-201-with-a-new-key", "--new-key-file", str(new))
    operator.clear_faults()
    headers = {
        "x-api-key": key_file.read_text(),
        "Idempotency-Key": (tmp_path / "new-key.idempotency-key").read_text().strip(),
    }
    answer = httpx.post(f"{running.base_url}/partner/keys/rotate", headers=headers, trust_env=False)

    assert (code, new.read_text()) == (4, "")
    assert (answer.status_code, answer.headers["idempotency-replayed"]) == (201, "true")


def test_nothing_secret_is_printed(
    conformance: Command, operator: MutantOperator, furnished: tuple[str, Inputs], key_file: Path, tmp_path: Path
) -> None:
    """The table and the object contain no key, sidecar, slot, link or proof id."""
    key, inputs = furnished
    key_file.write_text(key)
    other = tmp_path / "other"
    other.write_text(str(inputs.other_key))
    assert inputs.pair is not None
    given = ["--one-file", str(inputs.one_file), "--pair", *map(str, inputs.pair), "--sidecar-field", "sidecar"]
    operator.set_mutant("errors-1-every-error-is-an-api-error")

    operator.move_clock(60)  # no note is pending, and none is waited for
    said = [conformance(*given, "--other-key-file", str(other), *form) for form in ([], ["--json"])]
    operator.move_clock(-60)

    assert [code for code, _, _ in said] == [3, 3]
    text = "".join(out + err for _, out, err in said)
    assert [secret for secret in (*operator.secrets(), str(inputs.proof)) if secret in text] == []
