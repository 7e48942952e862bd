import pytest

from proofsweep_sandbox.registry.proofs import Proof
from proofsweep_sandbox.seals.identity import Condition, Finding, Identity, Signer
from proofsweep_sandbox.verdicts import verdict_of

SEAL = Identity(proof_id="prf_1", song="Intro", created_at=1_700_000_000)
OTHER_SONG = Identity(proof_id="prf_1", song="Outro", created_at=1_700_000_000)


def registered(*, sealed_by: Signer = Signer.SERVICE, pending: bool = False) -> Proof:
    """Return the record that fits the seal."""
    return Proof(
        proof_id="prf_1",
        tenant="tnt_1",
        song="Intro",
        issued_at=1_700_000_000,
        sealed_by=sealed_by,
        pending=pending,
        sidecar=b"",
        asset=None,
    )


def found(condition: Condition, signer: Signer | None = None, identity: Identity | None = None) -> Finding:
    return Finding(condition=condition, signer=signer, identity=identity)


@pytest.mark.parametrize(
    ("finding", "proof", "was_erased", "verdict"),
    [
        (found(Condition.UNREADABLE), None, False, "unreadable"),
        (found(Condition.ALTERED), None, False, "tampered"),
        (found(Condition.AUDIO_CHANGED, Signer.SERVICE, SEAL), None, True, "audioChanged"),
        (found(Condition.INTACT, Signer.SERVICE, SEAL), registered(), False, "valid"),
        (found(Condition.INTACT, Signer.DEVICE, SEAL), registered(sealed_by=Signer.DEVICE), False, "valid"),
        (found(Condition.INTACT, Signer.SERVICE, SEAL), None, False, "unregistered"),
        (found(Condition.INTACT, Signer.SERVICE, SEAL), None, True, "unregistered"),
        (found(Condition.INTACT, Signer.SERVICE, SEAL), registered(pending=True), False, "unregistered"),
        (found(Condition.INTACT, Signer.STRANGER), None, False, "unregistered"),
        (found(Condition.INTACT, Signer.DEVICE, SEAL), None, False, "local_seal"),
        (found(Condition.INTACT, Signer.DEVICE, SEAL), None, True, "unregistered"),
        (found(Condition.INTACT, Signer.SERVICE, OTHER_SONG), registered(), False, "tampered"),
        (found(Condition.INTACT, Signer.STRANGER, SEAL), registered(), False, "tampered"),
        (found(Condition.INTACT, Signer.DEVICE, SEAL), registered(), False, "tampered"),
    ],
)
def test_a_verdict_follows_from_the_finding_and_the_registry(
    finding: Finding, proof: Proof | None, was_erased: bool, verdict: str
) -> None:
    """First the condition of the seal, then the registry, then differences between seal and record."""
    assert verdict_of(finding, proof, was_erased=was_erased) == verdict
