"""A client of the operator API: issue proofs, change the service, read its records."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypedDict, Unpack

import httpx

# Chosen: far above what sealing takes, so that only a hung sandbox is reported.
_TIMEOUT_SECONDS = 60.0

LaneName = Literal["calls", "rotate"]


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
    `registered`; it knows a `pending` one, but does not list it. An empty `classification` makes an older proof without
    one. A `note` that is unavailable never becomes an interpretation.
    """

    song: str
    tenant: str
    legacy: bool
    sealed_by: Literal["service", "device", "stranger"]
    registered: bool
    pending: bool
    classification: str
    has_feedback: bool
    note: Literal["ready", "unavailable"]


class OperatorError(Exception):
    """The operator API refused a request; the message says why."""


class Operator:
    """A client of a sandbox's operator port. Every method raises OperatorError if the sandbox refuses."""

    def __init__(self, operator_url: str) -> None:
        self._http = httpx.Client(base_url=operator_url, timeout=_TIMEOUT_SECONDS, trust_env=False)

    def issue(self, audio: Path, out: Path, **options: Unpack[IssueOptions]) -> Issued:
        """Issue a proof for `audio`; for a one-file credential it must be a WAV.

        Write the credentialed copy, or the sidecar of a legacy pair, to `out`, a file or a folder. In a folder the copy
        has the audio's name, and the sidecar's name is the audio's with `.sidecar` appended.
        """
        is_legacy = options.get("legacy", False)
        target = _target(audio, out, is_legacy=is_legacy)
        options.setdefault("song", audio.stem)
        query = {name: str(value) for name, value in options.items()}
        with (
            audio.open("rb") as stream,
            self._http.stream("POST", "/proofs", params=query, content=stream) as response,
        ):
            _check(response)
            _write(response, target)
        return Issued(
            proof_id=response.headers["x-proof-id"],
            issued_at=int(response.headers["x-issued-at"]),
            audio=audio if is_legacy else target,
            sidecar=target if is_legacy else None,
        )

    def complete(self, proof_id: str) -> None:
        """Turn a pending proof into an issued one."""
        self._request("POST", f"/proofs/{proof_id}/complete")

    def erase(self, proof_id: str) -> None:
        """Erase a proof of any tenant; this counts no call."""
        self._request("DELETE", f"/proofs/{proof_id}")

    def add_tenant(self, name: str, *, quota: int | None = None) -> NewKey:
        """Create a tenant and return its first key; `quota` is in calls per month."""
        return _new_key(self._request("POST", "/tenants", {"name": name, "quota": quota}))

    def add_key(self, tenant: str, name: str, *, quota: int | None = None) -> NewKey:
        """Add a key to a tenant, with its own quota in calls per month."""
        return _new_key(self._request("POST", f"/tenants/{tenant}/keys", {"name": name, "quota": quota}))

    def set_lane(self, rate: float, burst: float, *, lane: LaneName = "calls") -> None:
        """Set a throttle lane: `rate` in calls per second, and `burst` in calls at once."""
        self._request("PUT", "/lane", {"lane": lane, "rate": rate, "burst": burst})

    def set_quota(self, limit: int, *, tenant: str | None = None) -> None:
        """Set the monthly quota of each of a tenant's keys, by default the first tenant's."""
        self._request("PUT", "/quota", {"limit": limit, "tenant": tenant})

    def set_latency(self, call: str, seconds: float) -> None:
        """Delay the answers of a call (`*` for all); 0, or `clear_faults`, ends the delay."""
        self._request("PUT", "/latency", {"call": call, "seconds": seconds})

    def add_fault(self, call: str, kind: str, **members: object) -> None:
        """Add a fault; its members are those of `proofsweep_sandbox.faults.rules.Fault`."""
        self._request("POST", "/faults", {"call": call, "kind": kind, **members})

    def clear_faults(self) -> None:
        """Remove all faults and latencies."""
        self._request("DELETE", "/faults")

    def faults(self) -> list[dict[str, Any]]:
        """Return the active faults, each with the calls that it `met` and `struck`."""
        return list(self._request("GET", "/faults")["faults"])

    def move_clock(self, seconds: float) -> None:
        """Move the sandbox's time; negative seconds move it back."""
        self._request("POST", "/clock", {"seconds": seconds})

    def rotations(self) -> list[dict[str, Any]]:
        """Return the append-only log of key rotations and expiries."""
        return list(self._request("GET", "/rotations")["events"])

    def usage(self, tenant: str | None = None) -> list[dict[str, Any]]:
        """Return the usage of each key of a tenant (`keyId`, `limit`, `remaining`, `reset`, `today`)."""
        query = "" if tenant is None else f"?tenant={tenant}"
        return list(self._request("GET", f"/usage{query}")["keys"])

    def exchanges(self, after: int = 0) -> list[dict[str, Any]]:
        """Return the exchanges of API and storage after sequence number `after`.

        Each has `seq`, `at`, `origin`, `call`, `status`, `request_id`, `tenant`, and `charged`, which is 1 if the quota
        counts it. A null status means that the connection broke before any header was sent: no client has the
        request id.
        """
        return list(self._request("GET", f"/exchanges?after={after}")["exchanges"])

    def secrets(self) -> list[str]:
        """Return every secret that the sandbox ever gave out: a client's records must contain none."""
        return [str(secret["value"]) for secret in self._request("GET", "/secrets")["secrets"]]

    def set_silences(self, seed: int = 0, *, evolve: bool = False) -> None:
        """Choose the unspecified behaviour by a seed, 0 for the default; `evolve` makes it a later release."""
        self._request("PUT", "/silences", {"seed": seed, "evolve": evolve})

    def silences(self) -> dict[str, Any]:
        """Return the unspecified behaviour (`choices` by name), and whether this is a later release (`evolve`)."""
        return self._request("GET", "/silences")

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _request(self, method: str, path: str, body: Mapping[str, object] | None = None) -> dict[str, Any]:
        response = self._http.request(method, path, json=body)
        _check(response)
        answer: dict[str, Any] = response.json() if response.content else {}
        return answer


def _check(response: httpx.Response) -> None:
    if response.is_success:
        return
    response.read()
    raise OperatorError(response.json()["error"])


def _target(audio: Path, out: Path, *, is_legacy: bool) -> Path:
    target = out / f"{audio.name}{'.sidecar' if is_legacy else ''}" if out.is_dir() else out
    if target.exists() and target.samefile(audio):
        raise OperatorError(f"the credentialed copy of {audio} must not replace the audio itself")
    return target


def _write(response: httpx.Response, target: Path) -> None:
    with target.open("wb") as stream:
        for chunk in response.iter_bytes():
            stream.write(chunk)


def _new_key(answer: Mapping[str, str]) -> NewKey:
    return NewKey(tenant=answer["tenant"], key_id=answer["keyId"], api_key=answer["apiKey"])
