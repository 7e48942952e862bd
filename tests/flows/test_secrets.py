"""No secret leaves the process: not in logs, tables, artifacts or Prefect's database."""

import base64
import json
import os
import re
import signal
from collections.abc import Iterable
from pathlib import Path

from ..worlds.sandbox_world import Samples, SandboxWorld

TABLES: tuple[str, ...] = ("verdicts", "exchanges", "runs")
WORD = re.compile(rb"[A-Za-z0-9+/_-]{16,}")
"""The characters of keys, signatures and base64; the text around them has other characters at both ends."""


def words_of(texts: Iterable[bytes]) -> set[bytes]:
    """Collect all long words: among tens of thousands of secrets only a comparison of sets is fast enough."""
    return {word for text in texts for word in WORD.findall(text)}


def kept(world: SandboxWorld) -> dict[str, bytes]:
    """Read everything that remains after a run: logs, JSON files of the store, tables as text, and Prefect's home."""
    places = [*world.results.rglob("*.json"), *world.folder.glob("log-*"), *Path(os.environ["PREFECT_HOME"]).rglob("*")]
    read = {path.name: path.read_bytes() for path in places if path.is_file()}
    tables = {name: json.dumps(world.table(name), default=str).encode() for name in TABLES}
    return read | tables


def test_no_secret_of_the_sandbox_is_found_anywhere(world: SandboxWorld, samples: Samples) -> None:
    """After a run with faults, a stop and a second leg, everything that remains is searched for every secret."""
    folder, expected = samples
    world.operator.add_fault("slot", "status", status=403, share=0.05)
    world.operator.add_fault("uploads", "truncate", share=0.05)
    world.interrupt(str(folder), signal.SIGINT)
    world.run("resume", "--json")

    sidecars = [base64.b64encode(one.sidecar.read_bytes()) for one in expected if one.sidecar]
    secrets = words_of([secret.encode() for secret in world.operator.secrets()] + sidecars)
    found = {name: words_of([text]) & secrets for name, text in kept(world).items()}

    assert words_of([world.key_file.read_bytes()]) <= secrets
    assert any(name.startswith("prefect.db") for name in found)
    assert any(name.startswith("log-") for name in found)
    assert {name: words for name, words in found.items() if words} == {}


def test_a_secret_in_a_log_would_be_found(world: SandboxWorld) -> None:
    """The search can fail: it finds a key that a log holds."""
    (world.folder / "log-of-a-careless-program.txt").write_bytes(
        b"GET /proofs key=" + world.key_file.read_bytes() + b" ok"
    )

    secrets = words_of(secret.encode() for secret in world.operator.secrets())

    assert words_of([kept(world)["log-of-a-careless-program.txt"]]) & secrets


def test_no_proof_id_is_found_in_logs_or_in_prefect(world: SandboxWorld, samples: Samples) -> None:
    """Only the verdicts table holds proof IDs."""
    process = world.start("verify", str(samples.folder))
    assert process.wait(timeout=120) == 3

    ids = words_of(str(row["proof_id"]).encode() for row in world.rows() if row["proof_id"])
    found = {name: words_of([text]) & ids for name, text in kept(world).items() if name != "verdicts"}

    assert ids
    assert {name: words for name, words in found.items() if words} == {}
