"""The operator's side, from a program: issue proofs, turn the knobs, look at the records."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypedDict, Unpack

import httpx

_TIMEOUT_SECONDS = 60.0

LaneName = Literal["calls", "rotate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Issued:
    """A proof that was issued: the audio to verify it by and, for a legacy pair, the sidecar."""

    proof_id: str
    issued_at: int
    audio: Path
    sidecar: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key that was just made; no listing shows its secret again."""

    tenant: str
    key_id: str
    api_key: str


class IssueOptions(TypedDict, total=False):
    """What may be said of a proof that is to be issued; whatever is left out is the sandbox's choice.

    `legacy` asks for a sidecar in place of a one-file credential. A proof that is not `registered` leaves no trace in
    the registry; a `pending` one is there but not yet issued. An empty `classification` stands for the older proofs
    that have none. A `note` that is unavailable never becomes an interpretation.
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
    """The operator's side refused; the message says why."""


class Operator:
    """A client of a sandbox's operator port. Every method raises OperatorError where the sandbox refuses."""

    def __init__(self, operator_url: str) -> None:
        self._http = httpx.Client(base_url=operator_url, timeout=_TIMEOUT_SECONDS, trust_env=False)

    def issue(self, audio: Path, out: Path, **options: Unpack[IssueOptions]) -> Issued:
        """Issue a proof for `audio`, which is a WAV unless the options is for a legacy pair.

        What comes back is written to `out`, a file or a folder: a credentialed copy of the WAV, or a sidecar for the
        audio as it is. In a folder the copy bears the audio's name, and the sidecar adds `.sidecar` to it.
        """
        is_legacy = options.get("legacy", False)
        target = _target(audio, out, is_legacy=is_legacy)
        options.setdefault("song", audio.stem)
        told = {name: str(value) for name, value in options.items()}
        with (
            audio.open("rb") as stream,
            self._http.stream("POST", "/proofs", params=told, content=stream) as response,
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
        self._ask("POST", f"/proofs/{proof_id}/complete")

    def erase(self, proof_id: str) -> None:
        """Erase a proof, whoever holds it, without an API call."""
        self._ask("DELETE", f"/proofs/{proof_id}")

    def add_tenant(self, name: str, *, quota: int | None = None) -> NewKey:
        """Create a tenant and return its first key; `quota` is in calls per month."""
        return _new_key(self._ask("POST", "/tenants", {"name": name, "quota": quota}))

    def add_key(self, tenant: str, name: str, *, quota: int | None = None) -> NewKey:
        """Return one more key of a tenant, with a quota of its own in calls per month."""
        return _new_key(self._ask("POST", f"/tenants/{tenant}/keys", {"name": name, "quota": quota}))

    def set_lane(self, rate: float, burst: float, *, lane: LaneName = "calls") -> None:
        """Let `rate` calls per second through, and `burst` at once after a pause."""
        self._ask("PUT", "/lane", {"lane": lane, "rate": rate, "burst": burst})

    def set_quota(self, limit: int, *, tenant: str | None = None) -> None:
        """Set the monthly quota of each of a tenant's keys, by default the first tenant's."""
        self._ask("PUT", "/quota", {"limit": limit, "tenant": tenant})

    def set_latency(self, call: str, seconds: float) -> None:
        """Answer a call (`*` for all) that much later from now on; 0, or `clear_faults`, ends it."""
        self._ask("PUT", "/latency", {"call": call, "seconds": seconds})

    def add_fault(self, call: str, kind: str, **members: object) -> None:
        """Put a fault in force: its members are those of `sandbox.faults.Fault`."""
        self._ask("POST", "/faults", {"call": call, "kind": kind, **members})

    def clear_faults(self) -> None:
        """Drop all faults and latencies."""
        self._ask("DELETE", "/faults")

    def faults(self) -> list[dict[str, Any]]:
        """Return the faults in force, with how often each was `met` and has `struck`."""
        return list(self._ask("GET", "/faults")["faults"])

    def move_clock(self, seconds: float) -> None:
        """Move the sandbox's time; negative seconds go back."""
        self._ask("POST", "/clock", {"seconds": seconds})

    def rotations(self) -> list[dict[str, Any]]:
        """Return the append-only log of key rotations and expiries."""
        return list(self._ask("GET", "/rotations")["events"])

    def usage(self, tenant: str | None = None) -> list[dict[str, Any]]:
        """Return how each key of a tenant stands (`keyId`, `limit`, `remaining`, `reset`, `today`)."""
        query = "" if tenant is None else f"?tenant={tenant}"
        return list(self._ask("GET", f"/usage{query}")["keys"])

    def exchanges(self, after: int = 0) -> list[dict[str, Any]]:
        """Return what API and storage answered since sequence number `after`.

        Each has `seq`, `at`, `origin`, `call`, `status`, `request_id`, `tenant`, and `charged` as 1 where it was
        counted against the quota; a null status means that the connection broke before any header was sent, so that
        nobody has seen the request id.
        """
        return list(self._ask("GET", f"/exchanges?after={after}")["exchanges"])

    def secrets(self) -> list[str]:
        """Return every secret that the sandbox ever handed out: none may be seen in a client's records."""
        return [str(secret["value"]) for secret in self._ask("GET", "/secrets")["secrets"]]

    def set_silences(self, seed: int = 0, *, evolve: bool = False) -> None:
        """Fill the contract's silences by a seed, 0 for the sandbox's own choices; be a later release, or this one."""
        self._ask("PUT", "/silences", {"seed": seed, "evolve": evolve})

    def silences(self) -> dict[str, Any]:
        """Return how the contract's silences are filled (`choices` by name), and whether they `evolve`."""
        return self._ask("GET", "/silences")

    def set_mutant(self, name: str | None) -> None:
        """Let a mutant answer in the service's place: one rule is broken; None has the service itself again."""
        self._ask("PUT", "/mutant", {"name": name})

    def mutants(self) -> dict[str, str]:
        """Return the mutants by name, each with the rule that it breaks."""
        return {str(each["name"]): str(each["rule"]) for each in self._ask("GET", "/mutants")["mutants"]}

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, method: str, path: str, wish: Mapping[str, object] | None = None) -> dict[str, Any]:
        response = self._http.request(method, path, json=wish)
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
        raise OperatorError(f"the credentialed copy of {audio} needs another place than the audio itself")
    return target


def _write(response: httpx.Response, target: Path) -> None:
    with target.open("wb") as stream:
        for chunk in response.iter_bytes():
            stream.write(chunk)


def _new_key(answer: Mapping[str, str]) -> NewKey:
    return NewKey(tenant=answer["tenant"], key_id=answer["keyId"], api_key=answer["apiKey"])
