"""One-file credentials: a WAV with a real C2PA manifest inside."""

import json
import struct
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
        ours = (chains[signer].root_pem.decode() for signer in (Signer.SERVICE, Signer.DEVICE))
        # A manifest can contain URLs. A verifier that fetches them can be sent to any host.
        offline = {"remote_manifest_fetch": False, "ocsp_fetch": False, "verify_trust": True}
        self._context = Context.from_dict({"verify": offline, "trust": {"trust_anchors": "".join(ours)}})

    def seal(self, audio: bytes, identity: Identity, signer: Signer) -> bytes:
        """Return a credentialed copy of the WAV `audio`; refuse any other audio."""
        _check_wave(audio)
        chain, sealed = self._chains[signer], BytesIO()
        info = C2paSignerInfo(b"ed25519", chain.chain_pem, chain.key_pem, None)
        with (
            C2paSigner.from_info(info) as pen,
            Builder(json.dumps(_manifest(identity)), context=self._context) as builder,
        ):
            builder.sign(pen, _WAVE, BytesIO(audio), sealed)
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
    return {
        "claim_generator_info": [{"name": "verification-sandbox", "version": "1"}],
        "title": identity.song,
        "assertions": [
            {"label": "c2pa.actions", "data": {"actions": [created]}},
            {"label": _ASSERTION, "data": identity.members()},
        ],
    }


def _finding(report: dict[str, dict[str, dict[str, list[dict[str, str]]]]]) -> Finding:
    """Read the validator's report: first the binding to the audio, then the signed content."""
    failures = {failure["code"] for failure in report["validation_results"]["activeManifest"]["failure"]}
    if any(code.startswith("assertion.dataHash") for code in failures):
        return Finding(condition=Condition.UNREADABLE)
    if failures - {_UNTRUSTED}:
        return Finding(condition=Condition.ALTERED)
    manifest = report["manifests"][str(report["active_manifest"])]
    assertions = {assertion["label"]: assertion.get("data") for assertion in manifest["assertions"]}
    identity = identity_of(assertions.get(_ASSERTION))
    if identity is None:  # a correct manifest of someone else, without a proof id
        return Finding(condition=Condition.INTACT, signer=Signer.STRANGER)
    signer = Signer.STRANGER if _UNTRUSTED in failures else _signer_named(manifest["signature_info"])
    return Finding(condition=Condition.INTACT, signer=signer, identity=identity)


def _signer_named(signature: object) -> Signer:
    """Return which of our two leaves signed, by its name: only we sign under our roots."""
    match signature:
        case {"common_name": Signer.DEVICE.value}:
            return Signer.DEVICE
        case _:
            return Signer.SERVICE


def _check_wave(audio: bytes) -> None:
    """Refuse unless `audio` is a RIFF WAVE with correct sizes.

    The C2PA library drops the audio of a WAV with a wrong size, and the signed rest is then reported as trusted.
    """
    if len(audio) < 12:  # noqa: PLR2004 - magic, size and form take four bytes each
        raise _not_signable("the file is too short to be a WAV")
    magic, riff_size, form = struct.unpack_from("<4sI4s", audio)
    if magic in {b"RF64", b"BW64"}:
        raise _not_signable(f"{magic.decode()} cannot carry a C2PA manifest; convert it to a WAV below 4 GiB")
    if (magic, form) != (b"RIFF", b"WAVE"):
        raise _not_signable("the audio is not a WAV; issue a legacy pair for it")
    if riff_size + 8 != len(audio):
        raise _not_signable(f"the RIFF header says {riff_size + 8} bytes, the file has {len(audio)}")
    found, at = set(), 12
    while at + 8 <= len(audio):
        label, length = struct.unpack_from("<4sI", audio, at)
        if at + 8 + length > len(audio):
            raise _not_signable(f"chunk {label!r} reaches beyond the end of the file")
        found.add(label)
        at += 8 + length + length % 2
    if not {b"fmt ", b"data"} <= found:
        raise _not_signable("the WAV lacks a format or a data chunk")


def _not_signable(error: str) -> Refusal:
    return Refusal(422, "unprocessable", error)
