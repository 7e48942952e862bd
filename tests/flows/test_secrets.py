"""No secret leaves the process: not into logs, tables, artifacts, nor Prefect's own database."""

import base64
import os
import signal
from pathlib import Path
from typing import Any

import sandbox

Samples = tuple[Path, list[sandbox.Sample]]
World = Any


def test_no_secret_of_the_sandbox_is_found_anywhere(world: World, samples: Samples) -> None:
    """After runs with faults, a stop and a refusal, every byte that was kept is searched for every secret."""
    folder, expected = samples
    world.operator.add_fault("slot", "status", status=403, share=0.05)
    world.operator.add_fault("uploads", "truncate", share=0.05)
    process = world.start("verify", str(folder))
    world.wait_for(lambda: world.journalled(1))
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    world.run("resume", "--json")

    secrets = {secret.encode() for secret in world.operator.secrets() if len(secret) >= 16}
    secrets |= {base64.b64encode(one.sidecar.read_bytes())[:60] for one in expected if one.sidecar}
    places = [*world.results.rglob("*"), *world.folder.glob("log-*"), *Path(os.environ["PREFECT_HOME"]).rglob("*")]
    read = {path: path.read_bytes() for path in places if path.is_file()}
    found = [(path.name, secret[:6]) for path, content in read.items() for secret in secrets if secret in content]

    assert world.key_file.read_bytes() in secrets
    assert any(path.name.startswith("prefect.db") for path in read)
    assert any(path.name.startswith("log-") for path in read)
    assert found == []


def test_no_proof_id_is_found_in_logs_or_in_prefect(world: World, samples: Samples) -> None:
    """Proof ids belong in the verdicts table and nowhere else."""
    process = world.start("verify", str(samples[0]))
    assert process.wait(timeout=120) == 3

    ids = {str(row["proof_id"]).encode() for row in world.rows() if row["proof_id"]}
    places = [
        *world.folder.glob("log-*"),
        *Path(os.environ["PREFECT_HOME"]).rglob("*"),
        *world.results.glob("_runs/**/*"),
    ]
    read = {path: path.read_bytes() for path in places if path.is_file()}

    assert ids
    assert [(path.name, one) for path, content in read.items() for one in ids if one in content] == []
