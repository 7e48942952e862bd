"""Sidecar proof files: signed documents, bound to the audio's exact bytes."""

import base64
import json

from cryptography.exceptions import InvalidSignature

from proofsweep_sandbox.answers import decoded
from proofsweep_sandbox.seals.chains import Chain
from proofsweep_sandbox.seals.identity import Condition, Finding, Identity, Signer, identity_of

_FORMAT = "proof-document/1"


class SidecarSeals:
    """Seals proof documents, and examines them with the sandbox's own keys."""

    def __init__(self, chains: dict[Signer, Chain]) -> None:
        self._chains = chains
        self._keys = {signer: chain.private_key for signer, chain in chains.items()}
        # By the fingerprint in a document. That of the stranger is unknown here, as a stranger's is to any service.
        self._signers: dict[str, Signer] = {}
        for signer in (Signer.SERVICE, Signer.DEVICE):
            fingerprint = chains[signer].fingerprint
            self._signers[fingerprint] = signer

    def seal(self, audio_sha256: str, identity: Identity, signer: Signer) -> bytes:
        """Return a sidecar proof file for the audio with this digest (lowercase hex)."""
        fingerprint = self._chains[signer].fingerprint
        document = {"format": _FORMAT, **identity.members(), "audioSha256": audio_sha256, "signer": fingerprint}
        signature = self._keys[signer].sign(_canonical(document))
        encoded = base64.b64encode(signature).decode()
        sealed = {"document": document, "signature": encoded}
        return json.dumps(sealed, ensure_ascii=False, indent=1).encode()

    def examine(self, sidecar: bytes, audio_sha256: str) -> Finding:
        """Examine a sidecar, from the file and the audio's digest alone."""
        try:
            members = decoded(sidecar)
        except ValueError:
            return Finding(condition=Condition.UNREADABLE)
        match members:
            case {"document": {"format": str(), "signer": str(fingerprint)} as document, "signature": str(signature)}:
                identity = identity_of(document)
            case _:
                return Finding(condition=Condition.UNREADABLE)
        signer = self._signers.get(fingerprint)
        if signer is None:
            return Finding(condition=Condition.INTACT, signer=Signer.STRANGER, identity=identity)
        # The signature comes before the audio: the digest in an altered document means nothing.
        if identity is None or not self._is_signed(document, signature, signer):
            return Finding(condition=Condition.ALTERED)
        condition = Condition.INTACT
        if document.get("audioSha256") != audio_sha256:
            condition = Condition.AUDIO_CHANGED
        return Finding(condition=condition, signer=signer, identity=identity)

    def _is_signed(self, document: dict[str, object], signature: str, signer: Signer) -> bool:
        try:
            raw = base64.b64decode(signature, validate=True)
            public_key = self._keys[signer].public_key()
            public_key.verify(raw, _canonical(document))
        except (ValueError, InvalidSignature):
            return False
        return True


def _canonical(document: dict[str, object]) -> bytes:
    # One spelling of a document: another order of its members, or other spaces, change no signature.
    return json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
