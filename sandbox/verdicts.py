"""The verdict: what a finding means once the registry is asked. Pure."""

from sandbox.registry.proofs import Proof
from sandbox.seals.identity import Condition, Finding, Signer

# Contract, Verdicts. An examination that found one of these needs no registry.
_BY_CONDITION = {
    Condition.UNREADABLE: "unreadable",
    Condition.ALTERED: "tampered",
    Condition.AUDIO_CHANGED: "audioChanged",
}


def verdict_of(finding: Finding, registered: Proof | None, *, was_erased: bool) -> str:
    """Return the contract's word for a finding.

    `registered` is the proof on record under the seal's own proof id, pending ones included; `was_erased` says that
    there once was one. Altered seals come before changed audio, and both before anything the registry knows.
    """
    if finding.condition in _BY_CONDITION:
        return _BY_CONDITION[finding.condition]
    if registered is None:
        never_registered = finding.signer is Signer.DEVICE and not was_erased
        return "local_seal" if never_registered else "unregistered"
    if (finding.identity, finding.signer) != (registered.identity, registered.sealed_by):
        return "tampered"  # it bears a proof's id, but not that proof's song, time or signature
    return "unregistered" if registered.pending else "valid"
