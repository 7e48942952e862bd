"""One-file credentials: a WAV with a real C2PA manifest inside."""

import json
from io import BytesIO
from pathlib import Path

from c2pa import (  # type: ignore[import-untyped]  # ships no type marker
    Builder,
    C2paError,
    C2paSignerInfo,
    Context,
    Reader,
)
from c2pa import Signer as C2paSigner

from proofsweep_sandbox.answers import Refusal
from proofsweep_sandbox.seals.chains import Chain
from proofsweep_sandbox.seals.identity import Condition, Finding, Identity, Signer, identity_of

_WAVE = "audio/wav"
_ASSERTION = "example.partner.proof"
_CAPTURE = "http://cv.iptc.org/newscodes/digitalsourcetype/digitalCapture"
_UNTRUSTED = "signingCredential.untrusted"


class OneFileSeals:
    """Signs WAVs, and examines them with the sandbox's own roots."""

    def __init__(self, chains: dict[Signer, Chain]) -> None:
        self._chains = chains
        roots = chains[Signer.SERVICE].root_pem + chains[Signer.DEVICE].root_pem
        # A manifest can contain URLs. A verifier that fetches them can be sent to any host.
        offline = {"remote_manifest_fetch": False, "ocsp_fetch": False, "verify_trust": True}
        trust = {"trust_anchors": roots.decode()}
        self._context = Context.from_dict({"verify": offline, "trust": trust})

    def seal(self, audio: bytes, identity: Identity, signer: Signer) -> bytes:
        """Return a credentialed copy of the WAV `audio`; refuse any other audio."""
        # The library signs what it reads of a WAV with a wrong size, and drops the rest.
        if audio[:4] != b"RIFF" or audio[4:8] != (len(audio) - 8).to_bytes(4, "little"):
            raise _not_signable("the audio is not a whole WAV; issue a legacy pair for it")
        chain = self._chains[signer]
        sealed = BytesIO()
        info = C2paSignerInfo(b"ed25519", chain.chain_pem, chain.key_pem, None)
        manifest = json.dumps(_manifest(identity))
        try:
            with C2paSigner.from_info(info) as pen, Builder(manifest, context=self._context) as builder:
                builder.sign(pen, _WAVE, BytesIO(audio), sealed)
        except C2paError as error:
            raise _not_signable("the audio is not a WAV that can be signed") from error
        return sealed.getvalue()

    def examine(self, audio: Path) -> Finding:
        """Examine the credential in `audio`, from the file alone."""
        try:
            with audio.open("rb") as stream, Reader(_WAVE, stream, context=self._context) as reader:
                report = json.loads(reader.json())
        except C2paError:
            return Finding(condition=Condition.UNREADABLE)
        return _finding(report)


def _manifest(identity: Identity) -> dict[str, object]:
    created = {"action": "c2pa.created", "digitalSourceType": _CAPTURE}
    actions = {"label": "c2pa.actions", "data": {"actions": [created]}}
    proof = {"label": _ASSERTION, "data": identity.members()}
    return {
        "claim_generator_info": [{"name": "verification-sandbox", "version": "1"}],
        "title": identity.song,
        "assertions": [actions, proof],
    }


def _finding(report: dict[str, dict[str, dict[str, list[dict[str, str]]]]]) -> Finding:
    """Read the validator's report: first the binding to the audio, then the signed content."""
    results = report["validation_results"]["activeManifest"]
    failures = {failure["code"] for failure in results["failure"]}
    if any(code.startswith("assertion.dataHash") for code in failures):
        return Finding(condition=Condition.UNREADABLE)
    if failures - {_UNTRUSTED}:
        return Finding(condition=Condition.ALTERED)
    manifest = report["manifests"][str(report["active_manifest"])]
    proof = None
    for assertion in manifest["assertions"]:
        if assertion["label"] == _ASSERTION:
            proof = assertion.get("data")
    identity = identity_of(proof)
    if identity is None:  # a correct manifest of someone else, without a proof id
        return Finding(condition=Condition.INTACT, signer=Signer.STRANGER)
    signer = Signer.STRANGER
    if _UNTRUSTED not in failures:
        signer = _signer_named(manifest["signature_info"])
    return Finding(condition=Condition.INTACT, signer=signer, identity=identity)


def _signer_named(signature: object) -> Signer:
    # The name is enough: only we sign under our roots.
    match signature:
        case {"common_name": Signer.DEVICE.value}:
            return Signer.DEVICE
        case _:
            return Signer.SERVICE


def _not_signable(error: str) -> Refusal:
    return Refusal(422, "unprocessable", error)
