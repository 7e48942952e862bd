"""The verdict: decided from a finding and the registry. Pure."""

from proofsweep_sandbox.registry.proofs import Proof
from proofsweep_sandbox.seals.identity import Condition, Finding, Signer

# Contract, Verdicts: these conditions need no registry.
_BY_CONDITION = {
    Condition.UNREADABLE: "unreadable",
    Condition.ALTERED: "tampered",
    Condition.AUDIO_CHANGED: "audioChanged",
}


def verdict_of(finding: Finding, registered: Proof | None, *, was_erased: bool) -> str:
    """Return the contract's verdict for a finding.

    `registered` is the registered proof with the seal's proof id, which may be pending; `was_erased` says whether such
    a proof was erased. An altered seal comes before changed audio, and both come before the registry.
    """
    if finding.condition in _BY_CONDITION:
        return _BY_CONDITION[finding.condition]
    if registered is None:
        never_registered = finding.signer is Signer.DEVICE and not was_erased
        return "local_seal" if never_registered else "unregistered"
    if (finding.identity, finding.signer) != (registered.identity, registered.sealed_by):
        return "tampered"  # the id of a registered proof, with another song, time or signer
    return "unregistered" if registered.pending else "valid"
