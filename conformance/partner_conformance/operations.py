"""The operations of the contract, with their documented statuses (contract, Endpoints). Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One endpoint; `statuses` is empty if the contract does not list all of them."""

    method: str
    path: str
    success: int = 200
    statuses: frozenset[int] = frozenset()
    is_public: bool = False

    def __str__(self) -> str:
        """Return the contract's name of it, without any proof id."""
        return f"{self.method} {self.path}"


HEALTH = Operation(method="GET", path="/health", statuses=frozenset({200, 500}), is_public=True)
KEYS = Operation(method="GET", path="/partner/keys", statuses=frozenset({200, 400, 403, 429, 500}))
ROTATE = Operation(
    method="POST", path="/partner/keys/rotate", success=201, statuses=frozenset({201, 400, 403, 409, 429, 500})
)
USAGE = Operation(method="GET", path="/partner/usage", statuses=frozenset({200, 400, 403, 429, 500}))
PROOFS = Operation(method="GET", path="/proofs", statuses=frozenset({200, 400, 403, 429, 500}))
PROOF = Operation(method="GET", path="/proofs/{proofId}", statuses=frozenset({200, 403, 404, 429, 500}))
ERASE = Operation(method="DELETE", path="/proofs/{proofId}", statuses=frozenset({200, 403, 429, 500}))
ASSET = Operation(method="GET", path="/proofs/{proofId}/asset", statuses=frozenset({200, 403, 404, 429, 500}))
INTERPRETATION = Operation(
    method="GET", path="/proofs/{proofId}/interpretation", statuses=frozenset({200, 403, 404, 429, 500})
)
UPLOADS = Operation(method="POST", path="/uploads", statuses=frozenset({200, 403, 429, 500}))
VERIFY = Operation(method="POST", path="/verify")

OPERATIONS = (HEALTH, KEYS, ROTATE, USAGE, PROOFS, PROOF, ERASE, ASSET, INTERPRETATION, UPLOADS, VERIFY)
