"""Two accounts in one store: whoever asks is told of the account that is meant, and of no other."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

import proofsweep_sandbox as sandbox
from proofsweep.settings import load_settings
from proofsweep.verify.leg.work import verify_slice
from proofsweep.wiring.engines import engine_for
from proofsweep.wiring.legs import claimed_next_leg
from proofsweep.wiring.runs import plan_catalog

Command = Callable[..., CompletedProcess[str]]


def _verified(config: str, catalog: Path) -> str:
    """Verify a catalog for an account; give the run's ID."""
    settings = load_settings(config)
    plan = plan_catalog(settings, str(catalog))
    with claimed_next_leg(engine_for(settings), plan.run_id) as (_, leg):
        for piece in leg.remaining.slices():
            verify_slice(leg, piece)
    return plan.run_id


@pytest.fixture
def partners(running: sandbox.Running, workdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A config with two accounts of one store, each a tenant of its own; no variable says anything else."""
    for variable in ("PROOFSWEEP_SERVICE__BASE_URL", "PROOFSWEEP_SERVICE__API_KEY_FILE"):
        monkeypatch.delenv(variable)
    text = f'[results]\nurl = "{workdir / "results"}"\n[service]\nsidecar_field = "sidecar"\n'
    text += "loopback_only = true\n[pace]\nfirst_rate = 500\n"
    for name in ("acme", "borealis"):
        key = tmp_path / f"{name}.key"
        key.write_text(running.operator.add_tenant(f"{tmp_path.name}-{name}").api_key)
        text += f'[account.{name}]\nbase_url = "{running.base_url}"\napi_key_file = "{key}"\n'
    path = workdir / "partners.toml"
    path.write_text(text)
    monkeypatch.setenv("PROOFSWEEP_CONFIG", str(path))
    return path


@pytest.fixture
def runs(partners: Path, catalog: Path, tmp_path: Path) -> dict[str, str]:
    """A run of each account: of the whole catalog, and of a part of the same files."""
    few = tmp_path / "few"
    few.mkdir()
    for song in sorted(catalog.rglob("*.wav"))[:3]:
        shutil.copy(song, few)
    return {"acme": _verified(f"{partners}#acme", catalog), "borealis": _verified(f"{partners}#borealis", few)}


def _json(done: CompletedProcess[str]) -> dict[str, object]:
    assert done.returncode in {0, 3, 4}, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def test_all_who_ask_agree(proofsweep: Command, runs: dict[str, str]) -> None:
    """Lists, status, views, lists of files, reports and audits count the rows of one account, each the same."""
    count = "SELECT count(*) AS files, count(DISTINCT run_id) AS runs FROM {}"
    for account, rows in {"acme": 26, "borealis": 3}.items():
        own = ("--account", account)
        listed = _json(proofsweep("status", "--runs", "--json", *own))["runs"]
        assert [run["run_id"] for run in listed] == [runs[account]]  # type: ignore[attr-defined]
        assert _json(proofsweep("status", "--json", *own))["catalogs"][0]["last_run"] == runs[account]  # type: ignore[index]
        for view in ("verdicts", "catalog"):
            answer = proofsweep("query", count.format(view), "--format", "csv", *own)
            assert answer.stdout.splitlines()[1:] == [f"{rows},1"], view
        coverage = proofsweep("query", "SELECT files, newest_run_id FROM coverage", "--format", "csv", *own)
        assert coverage.stdout.splitlines()[1:] == [f"{rows},{runs[account]}"]
        rejects = _json(proofsweep("rejects", "--json", *own))
        assert rejects["environment"] == account
        audit = _json(proofsweep("audit", "--json", *own))
        assert (audit["runs"], audit["rows"], audit["wrong"]) == (1, rows, [])
        page = proofsweep("report", "--file", f"{account}.html", *own)
        assert page.returncode == 0, page.stderr
        assert runs[{"acme": "borealis", "borealis": "acme"}[account]] not in Path(f"{account}.html").read_text()


def test_all_accounts_of_a_store_are_read_together_when_asked(proofsweep: Command, runs: dict[str, str]) -> None:
    """`--account all` shows each with its label; a run is still of one."""
    both = ("--account", "all")

    listed = _json(proofsweep("status", "--runs", "--json", *both))["runs"]
    answer = proofsweep(
        "query", "SELECT environment, count(*) FROM verdicts GROUP BY ALL ORDER BY 1", "-f", "csv", *both
    )
    audit = _json(proofsweep("audit", "--json", *both))

    assert {run["run_id"]: run["environment"] for run in listed} == {run: name for name, run in runs.items()}  # type: ignore[attr-defined]
    assert answer.stdout.splitlines()[1:] == ["acme,26", "borealis,3"]
    assert (audit["rows"], audit["wrong"]) == (29, [])


def test_a_run_of_another_account_is_refused(proofsweep: Command, runs: dict[str, str]) -> None:
    """By each command that takes a run; the message names the account that it is of."""
    for command in ("status", "resume", "rejects", "diff"):
        done = proofsweep(command, runs["acme"], "--account", "borealis")

        assert done.returncode == 2, command
        assert f"{runs['acme']} is of the account with the label acme, not of borealis" in done.stderr, command


def test_an_account_must_be_chosen_to_call(proofsweep: Command, partners: Path, catalog: Path, workdir: Path) -> None:
    """No call is made and nothing is written for an account that was taken by chance."""
    del partners
    for command in (["plan", catalog], ["verify", catalog], ["doctor"], ["service", "usage"]):
        done = proofsweep(*command)

        assert done.returncode == 2
        assert "choose one with --account" in done.stderr + done.stdout
    assert not (workdir / "results").exists()


def test_the_next_command_names_the_account(proofsweep: Command, runs: dict[str, str], partners: Path) -> None:
    """What a person is told to type works for the account that was asked for."""
    done = proofsweep("status", runs["borealis"], "--config", partners, "--account", "borealis")

    assert f"proofsweep rejects {runs['borealis']} --config {partners} --account borealis" in done.stdout
