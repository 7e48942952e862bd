"""Prepare a sandbox for the suite: make tenants, keys and files by its operator API, and name them in one file."""

import json
from pathlib import Path
from typing import Any

import httpx

from partner_conformance import sounds

# What `--inputs` reads: options by name, and file names from its own folder.
INPUTS_FILE = "inputs.json"
_TIMEOUT_SECONDS = 60.0
# Chosen: more than the first 64 KiB, which a service may take for the whole.
_AUDIO_BYTES = 100_000
_IDEMPOTENCY_KEY = "0123456789abcdef"


class PrepareError(Exception):
    """The sandbox cannot be prepared; the message says why."""


class _Sandbox:
    """A client of the operator API that writes what it is given into a folder."""

    def __init__(self, http: httpx.Client, folder: Path) -> None:
        self._http = http
        self._folder = folder
        self.audio = sounds.silence(_AUDIO_BYTES)

    def request(self, method: str, path: str, **call: Any) -> httpx.Response:  # noqa: ANN401 - httpx's own options
        try:
            reply = self._http.request(method, path, **call)
        except httpx.HTTPError as error:
            raise PrepareError(f"no operator API answers there ({type(error).__name__})") from None
        if not reply.is_success:
            raise PrepareError(f"{method} {path} answered {reply.status_code}; is this the operator port of a sandbox?")
        return reply

    def issue(self, name: str, **options: str) -> str:
        """Issue a proof for the audio; write the credentialed WAV or the sidecar, and return the proof id."""
        reply = self.request("POST", "/proofs", params={"song": Path(name).stem, **options}, content=self.audio)
        self.write(name, reply.content)
        return reply.headers["x-proof-id"]

    def tenant(self, name: str) -> tuple[str, str]:
        """Make a tenant; write its key to a file, and return the tenant and the key."""
        made = self.request("POST", "/tenants", json={"name": name}).json()
        self.write(name, made["apiKey"].encode())
        return made["tenant"], made["apiKey"]

    def rotated(self, name: str, base_url: str, hours: float) -> None:
        """Make a tenant whose key was rotated so many hours ago."""
        _, key = self.tenant(name)
        self.move_clock(-hours * 3600)
        headers = {"x-api-key": key, "idempotency-key": _IDEMPOTENCY_KEY}
        try:
            self.request("POST", f"{base_url}/partner/keys/rotate", headers=headers)
        finally:
            self.move_clock(hours * 3600)

    def move_clock(self, seconds: float) -> None:
        self.request("POST", "/clock", json={"seconds": seconds})

    def write(self, name: str, content: bytes) -> None:
        file = self._folder / name
        file.touch(mode=0o600)
        file.write_bytes(content)


def prepare(base_url: str, operator_url: str, folder: Path, *, more: int = 0) -> Path:
    """Make a tenant with three keys, its proofs and `more` of both, other tenants' keys, and files of each verdict.

    Returns:
        The file that names all of it, for `--inputs`.

    Raises:
        PrepareError: no sandbox answers, or it refuses.
    """
    folder.mkdir(mode=0o700)
    with httpx.Client(base_url=operator_url, timeout=_TIMEOUT_SECONDS, trust_env=False) as http:
        sandbox = _Sandbox(http, folder)
        sandbox.write(INPUTS_FILE, json.dumps(_made(sandbox, base_url, more), indent=1).encode())
    return folder / INPUTS_FILE


def _made(sandbox: _Sandbox, base_url: str, more: int) -> dict[str, Any]:
    tenant, _ = sandbox.tenant("key")
    other, _ = sandbox.tenant("other-key")
    for number in range(2 + more):
        made = sandbox.request("POST", f"/tenants/{tenant}/keys", json={"name": f"key {number + 2}"}).json()
    sandbox.write("second-key", made["apiKey"].encode())
    given = {
        "base_url": base_url,
        "environment": "sandbox",
        "sidecar_field": "sidecar",
        **_files(sandbox, tenant, other, more),
        "key_file": "key",
        "second_key_file": "second-key",
        "other_key_file": "other-key",
        "grace_key_file": "grace-key",
        "expired_key_file": "expired-key",
        "other_environment_key_file": "other-environment-key",
        "new_key_file": "new-key",
    }
    sandbox.rotated("grace-key", base_url, hours=30)
    sandbox.rotated("expired-key", base_url, hours=80)
    sandbox.write("other-environment-key", b"sk_elsewhere_0123456789")
    return given


def _files(sandbox: _Sandbox, tenant: str, other: str, more: int) -> dict[str, Any]:
    """Issue the proofs: older ones first, of which one may be erased, then those that are verified."""
    sandbox.write("take.wav", sandbox.audio)
    ours = {"tenant": tenant}
    sandbox.move_clock(-3600)
    erase_proof = sandbox.issue("spare.wav", **ours)
    sandbox.issue("spare.sidecar", legacy="true", **ours)
    for _ in range(more):
        sandbox.move_clock(1)
        sandbox.issue("old.sidecar", legacy="true", **ours)
    sandbox.move_clock(3600 - more)
    proof = sandbox.issue("one.wav", **ours)
    sandbox.issue("take.sidecar", legacy="true", **ours)
    sandbox.issue("theirs.wav", tenant=other)
    sandbox.issue("stranger.sidecar", legacy="true", sealed_by="stranger", **ours)
    sandbox.issue("device.wav", sealed_by="device", registered="false", **ours)
    sandbox.issue("stranger.wav", sealed_by="stranger", **ours)
    return {
        "proof": proof,
        "erase_proof": erase_proof,
        "pending_proof": sandbox.issue("pending.wav", pending="true", **ours),
        "one_file": "one.wav",
        "pair": ["take.wav", "take.sidecar"],
        "erase_pair": ["take.wav", "spare.sidecar"],
        "local_seal": "device.wav",
        "unregistered": "stranger.wav",
        "unregistered_pair": ["take.wav", "stranger.sidecar"],
    }
