"""No secret leaves the process: not into logs, tables, artifacts, nor Prefect's own database."""

import base64
import json
import os
import re
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import sandbox

Samples = tuple[Path, list[sandbox.Sample]]
World = Any

WORD = re.compile(rb"[A-Za-z0-9+/_-]{16,}")
"""What a key, a signature or base64 is made of; whatever they stand in, it has other letters around them."""


def words_of(texts: Iterable[bytes]) -> set[bytes]:
    """Collect all long words: with tens of thousands of secrets, comparing sets is the one quick way to search."""
    return {word for text in texts for word in WORD.findall(text)}


def kept(world: World) -> dict[str, bytes]:
    """Read all that stays behind: logs, the store's plain files, the tables as text, and Prefect's home."""
    places = [*world.results.rglob("*.json"), *world.folder.glob("log-*"), *Path(os.environ["PREFECT_HOME"]).rglob("*")]
    read = {path.name: path.read_bytes() for path in places if path.is_file()}
    tables = {name: json.dumps(world.table(name), default=str).encode() for name in ("verdicts", "exchanges", "runs")}
    return read | tables


def test_no_secret_of_the_sandbox_is_found_anywhere(world: World, samples: Samples) -> None:
    """After a run with faults, a stop and a second leg, all that was kept is searched for every secret."""
    folder, expected = samples
    world.operator.add_fault("slot", "status", status=403, share=0.05)
    world.operator.add_fault("uploads", "truncate", share=0.05)
    process = world.start("verify", str(folder))
    world.wait_for(lambda: world.journalled(1) or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    world.run("resume", "--json")

    sidecars = [base64.b64encode(one.sidecar.read_bytes()) for one in expected if one.sidecar]
    secrets = words_of([secret.encode() for secret in world.operator.secrets()] + sidecars)
    found = {name: words_of([text]) & secrets for name, text in kept(world).items()}

    assert words_of([world.key_file.read_bytes()]) <= secrets
    assert any(name.startswith("prefect.db") for name in found)
    assert any(name.startswith("log-") for name in found)
    assert {name: words for name, words in found.items() if words} == {}


def test_a_secret_in_a_log_would_be_found(world: World) -> None:
    """The search is able to fail: a key that is written down is seen."""
    (world.folder / "log-of-a-careless-program.txt").write_bytes(
        b"GET /proofs key=" + world.key_file.read_bytes() + b" ok"
    )
    for name in ("verdicts", "exchanges", "runs"):
        (world.results / name).mkdir(parents=True)

    secrets = words_of(secret.encode() for secret in world.operator.secrets())

    assert words_of([kept(world)["log-of-a-careless-program.txt"]]) & secrets


def test_no_proof_id_is_found_in_logs_or_in_prefect(world: World, samples: Samples) -> None:
    """Proof ids belong in the verdicts table and nowhere else."""
    process = world.start("verify", str(samples[0]))
    assert process.wait(timeout=120) == 3

    ids = words_of(str(row["proof_id"]).encode() for row in world.rows() if row["proof_id"])
    found = {name: words_of([text]) & ids for name, text in kept(world).items() if name != "verdicts"}

    assert ids
    assert {name: words for name, words in found.items() if words} == {}
