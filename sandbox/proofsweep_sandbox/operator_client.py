"""A client of the operator API: issue proofs, change the service, read its records."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

import httpx

_TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Issued:
    """An issued proof: the audio to verify and, for a legacy pair, the sidecar."""

    proof_id: str
    issued_at: int
    audio: Path
    sidecar: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A new key with its secret, which no listing shows."""

    tenant: str
    key_id: str
    api_key: str


class IssueOptions(TypedDict, total=False):
    """The options of a new proof; the sandbox chooses those that are absent.

    `legacy` issues a sidecar instead of a one-file credential. The registry does not know a proof that is not
    `registered`; it knows a `pending` one, but does not list it.
    """

    song: str
    tenant: str
    legacy: bool
    sealed_by: Literal["service", "device", "stranger"]
    registered: bool
    pending: bool


class OperatorError(Exception):
    """The operator API refused a request; the message says why."""


class Operator(AbstractContextManager["Operator"]):
    """A client of a sandbox's operator port. Every method raises OperatorError if the sandbox refuses."""

    def __init__(self, operator_url: str) -> None:
        self._http = httpx.Client(base_url=operator_url, timeout=_TIMEOUT_SECONDS, trust_env=False)

    def issue(self, audio: Path, out: Path, **options: Unpack[IssueOptions]) -> Issued:
        """Issue a proof for `audio`; for a one-file credential it must be a WAV.

        Write the credentialed copy, or the sidecar of a legacy pair, to `out`, a file or a folder. In a folder the copy
        has the audio's name, and the sidecar's name is the audio's with `.sidecar` appended.
        """
        is_legacy = options.get("legacy", False)
        target = out
        if out.is_dir():
            name = f"{audio.name}.sidecar" if is_legacy else audio.name
            target = out / name
        if target.exists() and target.samefile(audio):
            raise OperatorError(f"the credentialed copy of {audio} must not replace the audio itself")
        options.setdefault("song", audio.stem)
        query = {name: str(value) for name, value in options.items()}
        with audio.open("rb") as stream:
            response = self._http.post("/proofs", params=query, content=stream)
        _check(response)
        target.write_bytes(response.content)
        proof_id = response.headers["x-proof-id"]
        issued_at = int(response.headers["x-issued-at"])
        if is_legacy:
            return Issued(proof_id=proof_id, issued_at=issued_at, audio=audio, sidecar=target)
        return Issued(proof_id=proof_id, issued_at=issued_at, audio=target, sidecar=None)

    def erase(self, proof_id: str) -> None:
        self._request("DELETE", f"/proofs/{proof_id}")

    def add_tenant(self, name: str, *, quota: int | None = None) -> NewKey:
        """Create a tenant and return its key; `quota` is in calls per month."""
        key = self._request("POST", "/tenants", name=name, quota=quota)
        return NewKey(tenant=key["tenant"], key_id=key["keyId"], api_key=key["apiKey"])

    def set_lane(self, rate: float, burst: float) -> None:
        """Set the throttle lane of all calls but rotation: `rate` in calls per second, and `burst` in calls at once."""
        self._request("PUT", "/lane", rate=rate, burst=burst)

    def set_quota(self, limit: int, *, tenant: str | None = None) -> None:
        """Set the monthly quota of each of a tenant's keys, by default the first tenant's."""
        self._request("PUT", "/quota", limit=limit, tenant=tenant)

    def add_fault(self, call: str, kind: str, **members: object) -> None:
        """Add a fault; its members are those of `proofsweep_sandbox.faults.Fault`."""
        self._request("POST", "/faults", call=call, kind=kind, **members)

    def clear_faults(self) -> None:
        self._request("DELETE", "/faults")

    def faults(self) -> list[dict[str, Any]]:
        """Return the active faults, each with the calls that it `met` and `struck`."""
        answer = self._request("GET", "/faults")
        return list(answer["faults"])

    def move_clock(self, seconds: float) -> None:
        """Move the sandbox's time; negative seconds move it back."""
        self._request("POST", "/clock", seconds=seconds)

    def usage(self, tenant: str | None = None) -> list[dict[str, Any]]:
        """Return the usage of each key of a tenant (`keyId`, `limit`, `remaining`, `reset`, `today`)."""
        query = "" if tenant is None else f"?tenant={tenant}"
        answer = self._request("GET", f"/usage{query}")
        return list(answer["keys"])

    def exchanges(self, after: int = 0) -> list[dict[str, Any]]:
        """Return the exchanges of API and storage after sequence number `after`.

        Each has `seq`, `at`, `origin`, `call`, `status`, `request_id`, `tenant`, and `charged`, which is 1 if the quota
        counts it. A null status means that the connection broke before any header was sent: no client has the
        request id.
        """
        answer = self._request("GET", f"/exchanges?after={after}")
        return list(answer["exchanges"])

    def secrets(self) -> list[str]:
        """Return every secret that the sandbox ever gave out: a client's records must contain none."""
        answer = self._request("GET", "/secrets")
        return list(answer["secrets"])

    def close(self) -> None:
        self._http.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _request(self, method: str, path: str, **body: object) -> dict[str, Any]:
        response = self._http.request(method, path, json=body or None)
        _check(response)
        answer: dict[str, Any] = {}
        if response.content:
            answer = response.json()
        return answer


def _check(response: httpx.Response) -> None:
    if not response.is_success:
        refusal = response.json()
        raise OperatorError(refusal["error"])
