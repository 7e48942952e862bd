"""No secret leaves the process: not in logs, tables, artifacts or Prefect's database."""

import base64
import json
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


def piece_of(path: Path) -> bytes:
    """Return some bytes from within a file, more than a digest has."""
    content = path.read_bytes()[:10_000]
    return content[len(content) // 2 :][:100]


def kept(world: SandboxWorld, prefect_home: Path) -> dict[str, bytes]:
    """Read everything that remains after a run: logs, JSON files of the store, tables as text, and Prefect's home."""
    places = [*world.results.rglob("*.json"), *world.folder.glob("log-*"), *prefect_home.rglob("*")]
    read = {path.name: path.read_bytes() for path in places if path.is_file()}
    tables = {name: json.dumps(world.table(name), default=str).encode() for name in TABLES}
    return read | tables


def test_no_secret_and_no_proof_id_is_found_anywhere(
    world: SandboxWorld, samples: Samples, prefect_at: tuple[str, Path]
) -> None:
    """All that two legs with faults and a stop leave behind is searched; `verdicts` alone has proof IDs."""
    folder, expected = samples
    world.operator.add_fault("slot", "status", status=403, share=0.05)
    world.operator.add_fault("uploads", "truncate", share=0.05)
    world.interrupt(str(folder), signal.SIGINT)
    world.run("resume", "--json")

    sidecars = [base64.b64encode(one.sidecar.read_bytes()) for one in expected if one.sidecar]
    secrets = words_of([secret.encode() for secret in world.operator.secrets()] + sidecars)
    left = kept(world, prefect_at[1])
    words = {name: words_of([text]) for name, text in left.items()}
    pieces = {piece_of(path) for one in expected for path in (one.audio, one.sidecar) if path}
    pieces = {piece for piece in pieces if len(piece) == 100 and len(set(piece)) > 16}  # no silence
    ids = words_of(str(row["proof_id"]).encode() for row in world.rows() if row["proof_id"])

    assert words_of([world.key_file.read_bytes()]) <= secrets
    assert any(name.startswith("prefect.db") for name in words)
    assert any(name.startswith("log-") for name in words)
    assert {name: found for name in words if (found := words[name] & secrets)} == {}
    assert len(pieces) > len(expected) // 2
    assert {name for name, text in left.items() if any(piece in text for piece in pieces)} == set()
    assert ids & words["verdicts"]  # the search can fail
    assert {name: found for name in words if name != "verdicts" and (found := words[name] & ids)} == {}
