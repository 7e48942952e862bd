import subprocess
import sys
from pathlib import Path

import httpx
import pytest

import proofsweep_sandbox as sandbox


def test_a_restart_keeps_keys_proofs_and_seals(wav: Path, tmp_path: Path) -> None:
    """All state is in the home: after a restart the same key works, and earlier proofs are listed and valid.

    A user can choose the first tenant's key in advance; its file does not change.
    """
    home = tmp_path / "home"
    home.mkdir()
    (home / "key").write_text("sk_chosen_beforehand_1\n")
    with sandbox.launch(home) as running:
        issued = running.operator.issue(wav, tmp_path / "sealed.wav")
        known = running.operator.secrets()

    with (
        sandbox.launch(home) as running,
        httpx.Client(base_url=running.base_url, headers={"x-api-key": running.api_key}, trust_env=False) as api,
    ):
        listed = [item["proofId"] for item in api.get("/proofs").json()["items"]]
        slot = api.post("/uploads").json()
        httpx.post(slot["url"], data=slot["fields"], files={"file": issued.audio.read_bytes()}, trust_env=False)
        answer = api.post("/verify", json={"uploadId": slot["uploadId"]}).json()

    assert (home / "key").read_text() == "sk_chosen_beforehand_1\n"
    assert "sk_chosen_beforehand_1" in known
    assert listed == [issued.proof_id]
    assert answer["verdict"] == "valid"


def test_a_sandbox_ends_with_the_process_that_launched_it(tmp_path: Path) -> None:
    """The sandbox ends when the pipe of its killed parent closes."""
    program = (
        "import os, sys, pathlib, proofsweep_sandbox; running = proofsweep_sandbox.launch(pathlib.Path(sys.argv[1]));"
        "print(running.base_url, flush=True); os.kill(os.getpid(), 9)"
    )
    # Both processes share standard error, so reading it to its end also waits for the sandbox.
    command = [sys.executable, "-c", program, str(tmp_path / "home")]
    parent = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{parent.stdout.strip()}/health", trust_env=False)
