"""The registry of issued proofs."""

import sqlite3
from dataclasses import asdict, dataclass

from proofsweep_sandbox.seals.identity import Identity, Signer


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """One registered proof; `asset` is the file name of its one-file artifact, None for a legacy proof."""

    proof_id: str
    tenant: str
    song: str
    issued_at: int
    sealed_by: Signer
    pending: bool
    sidecar: bytes
    asset: str | None
    seq: int = 0

    @property
    def identity(self) -> Identity:
        """The identity that the proof's document or manifest must contain."""
        return Identity(proof_id=self.proof_id, song=self.song, created_at=self.issued_at)


class Proofs:
    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def add(self, proof: Proof) -> None:
        members = asdict(proof)
        del members["seq"]
        columns = ", ".join(members)
        values = ", ".join(f":{name}" for name in members)
        self._database.execute(f"INSERT INTO proofs ({columns}) VALUES ({values})", members)  # noqa: S608 - our own names

    def find(self, proof_id: str) -> Proof | None:
        row = self._database.execute("SELECT * FROM proofs WHERE proof_id = ?", (proof_id,)).fetchone()
        return None if row is None else _proof(row)

    def owned(self, tenant: str, proof_id: str) -> Proof | None:
        proof = self.find(proof_id)
        return proof if proof is not None and proof.tenant == tenant else None

    def newest(self, tenant: str, before: tuple[int, int] | None, limit: int) -> list[Proof]:
        """Return up to `limit` listed proofs older than `before` (issued_at, seq), newest first."""
        issued_at, seq = before or (2**62, 0)
        rows = self._database.execute(
            "SELECT * FROM proofs WHERE tenant = ? AND NOT pending AND (issued_at, seq) < (?, ?)"
            " ORDER BY issued_at DESC, seq DESC LIMIT ?",
            (tenant, issued_at, seq, limit),
        )
        return [_proof(row) for row in rows]

    def erase(self, proof: Proof, now: int) -> None:
        """Delete the proof's record; keep only the fact of its erasure."""
        # A later erasure is answered by it, and the verdict on audio with this proof.
        self._database.execute("DELETE FROM proofs WHERE proof_id = ?", (proof.proof_id,))
        self._database.execute("INSERT INTO erasures VALUES (?, ?, ?)", (proof.proof_id, proof.tenant, now))

    def erased_at(self, proof_id: str, tenant: str | None = None) -> int | None:
        """Return the time of this proof's erasure, by this tenant if one is given."""
        row = self._database.execute(
            "SELECT erased_at FROM erasures WHERE proof_id = ? AND tenant = coalesce(?, tenant)", (proof_id, tenant)
        ).fetchone()
        return None if row is None else int(row["erased_at"])


def _proof(row: sqlite3.Row) -> Proof:
    members = dict(row)
    members["pending"] = bool(row["pending"])
    members["sealed_by"] = Signer(row["sealed_by"])
    return Proof(**members)
