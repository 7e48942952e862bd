"""Wrong services, at verification: no check was written for any of them."""

import json
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from c2pa import C2paError, Reader  # type: ignore[import-untyped]  # ships no type marker

from proofsweep_sandbox.answers import Answer, Refusal
from proofsweep_sandbox.decoding import decoded
from proofsweep_sandbox.registry.database import open_database
from proofsweep_sandbox.registry.proofs import Proofs
from proofsweep_sandbox.routing import Exchange, Serve
from proofsweep_sandbox.seals.identity import Condition, Finding, Signer
from proofsweep_sandbox.seals.one_file import OneFileSeals, _finding
from proofsweep_sandbox.seals.sidecars import SidecarSeals
from proofsweep_sandbox.service import Service

from .broken_parts import BrokenPart, replacing
from .changes import Members, change_success
from .definition import Mutant, ServeWrapper

_VERIFY = ("verify",)
_BOUND_BYTES = 64 * 1024
_MOST_BYTES = 64 * 1024 * 1024
_BINDING = "assertion.dataHash"
_answers: dict[str, Answer] = {}


class _LenientSeals(BrokenPart, OneFileSeals):
    """Ignores some failures of the validator."""

    ignored: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    def examine(self, audio: Path) -> Finding:
        """Examine without the ignored failures; if some are kept, all others are ignored."""
        try:
            with audio.open("rb") as stream, Reader("audio/wav", stream, context=self._context) as reader:
                report = json.loads(reader.json())
        except C2paError:
            return Finding(condition=Condition.UNREADABLE)
        result = report["validation_results"]["activeManifest"]
        result["failure"] = [each for each in result["failure"] if self._counts(each["code"])]
        return _finding(report)

    def _counts(self, code: str) -> bool:
        return code.startswith(self.kept) if self.kept else not code.startswith(self.ignored)


class _SignatureIgnored(_LenientSeals):
    ignored = ("claimSignature",)


class _AssertionsIgnored(_LenientSeals):
    ignored = ("assertion.hashedURI",)


class _BindingAlone(_LenientSeals):
    kept = (_BINDING, "signingCredential.untrusted")


class _DevicesUnbound(_LenientSeals):
    ignored = (_BINDING,)

    def examine(self, audio: Path) -> Finding:
        """Ignore the binding of a device's seal."""
        lenient = super().examine(audio)
        return lenient if lenient.signer is Signer.DEVICE else OneFileSeals.examine(self, audio)


def _id_is_enough(service: Service) -> Service:
    """Look up the proof id of a credential that cannot be read."""

    class _IdEnough(BrokenPart, OneFileSeals):
        def examine(self, audio: Path) -> Finding:
            finding = super().examine(audio)
            found = re.search(rb"prf_[0-9a-f]{24}", audio.read_bytes())
            proofs = Proofs(open_database(service.options.home / "registry.sqlite"))  # another thread
            proof = proofs.find(found[0].decode()) if found else None
            if finding.identity is not None or proof is None or self._is_unbound(audio):
                return finding
            return Finding(condition=Condition.INTACT, signer=proof.sealed_by, identity=proof.identity)

        def _is_unbound(self, audio: Path) -> bool:
            try:
                with audio.open("rb") as stream, Reader("audio/wav", stream, context=self._context) as reader:
                    return _BINDING in reader.json()
            except C2paError:
                return False

    return replace(service, one_file=_IdEnough(service.one_file))  # type: ignore[arg-type]  # a broken part


def _bind_the_beginning(service: Service) -> Service:
    """Bind the beginning of the audio alone."""

    class _BeginningBound(BrokenPart, OneFileSeals):
        def examine(self, audio: Path) -> Finding:
            finding, content = super().examine(audio), audio.read_bytes()
            found = re.search(rb"prf_[0-9a-f]{24}", content)
            issued = service.folder("assets") / f"{found[0].decode() if found else ''}.wav"
            if finding.condition is Condition.UNREADABLE and issued.is_file():
                original = issued.read_bytes()
                is_begun = original[:_BOUND_BYTES] == content[:_BOUND_BYTES]
                return super().examine(issued) if is_begun and len(original) == len(content) else finding
            return finding

    return replace(service, one_file=_BeginningBound(service.one_file))  # type: ignore[arg-type]  # a broken part


class _TimeUnsigned(BrokenPart, SidecarSeals):
    def _is_signed(self, document: dict[str, object], signature: str, signer: Signer) -> bool:
        """Ignore the time of creation, which an earlier format did not sign."""
        times = range(int(str(document["createdAt"])) - 2, int(str(document["createdAt"])) + 3)
        return any(
            super(_TimeUnsigned, self)._is_signed({**document, "createdAt": at}, signature, signer) for at in times
        )


def _unregistered_for_old_keys(service: Service, exchange: Exchange, answer: Answer) -> Answer:
    def change(members: Members) -> None:
        if exchange.caller.is_in_grace and members["verdict"] == "valid":
            members.update(verdict="unregistered", good=False)

    return change_success(change)(service, exchange, answer)


def _updating(sql: str) -> ServeWrapper:
    """Change the proof that was verified."""

    def wrap(serve: Serve) -> Serve:
        async def verify(service: Service, exchange: Exchange) -> Answer:
            answer = await serve(service, exchange)
            proof_id = json.loads(answer.body).get("proofId", "")
            service.proofs._database.execute(sql, (proof_id,))
            return answer

        return verify

    return wrap


async def _body(exchange: Exchange) -> Members:
    """Return the members of a request; none if it is no JSON object."""
    with suppress(ValueError):
        body = decoded(await exchange.request.body())
        return body if isinstance(body, dict) else {}
    return {}


def _remembering_answers(serve: Serve) -> Serve:
    async def verify(service: Service, exchange: Exchange) -> Answer:
        body = await _body(exchange)
        if not body:
            return await serve(service, exchange)
        known = json.dumps([exchange.caller.tenant, body])
        if known not in _answers:
            _answers[known] = await serve(service, exchange)
        return _answers[known]

    return verify


def _up_to_64_mib(serve: Serve) -> Serve:
    async def verify(service: Service, exchange: Exchange) -> Answer:
        upload_id = (await _body(exchange)).get("uploadId")
        slot = service.slots.by_upload(exchange.caller.tenant, upload_id) if isinstance(upload_id, str) else None
        if slot is not None and slot.sha256 and (service.folder("uploads") / slot.token).stat().st_size > _MOST_BYTES:
            raise Refusal(413, "invalid_request", "too large")
        return await serve(service, exchange)

    return verify


def _fractional(members: Members) -> None:
    if "issuedAt" in members:
        members["issuedAt"] = float(members["issuedAt"])


SERVICES = {
    "the signature of a one-file credential is not verified": Mutant(
        on=_VERIFY, replace_part=replacing("one_file", _SignatureIgnored)
    ),
    "the assertions of a one-file credential are not compared": Mutant(
        on=_VERIFY, replace_part=replacing("one_file", _AssertionsIgnored)
    ),
    "of a one-file credential the binding alone is examined": Mutant(
        on=_VERIFY, replace_part=replacing("one_file", _BindingAlone)
    ),
    "a one-file credential that cannot be read is looked up by its id": Mutant(on=_VERIFY, replace_part=_id_is_enough),
    "a device's seal is not bound to its audio": Mutant(
        rule="verdicts-changed-local-seal-is-unreadable",
        on=_VERIFY,
        replace_part=replacing("one_file", _DevicesUnbound),
    ),
    "the first 64 KiB of a one-file credential are bound": Mutant(on=_VERIFY, replace_part=_bind_the_beginning),
    "a sidecar's signature covers no time": Mutant(on=_VERIFY, replace_part=replacing("sidecars", _TimeUnsigned)),
    "a key in its grace window verifies nothing as valid": Mutant(
        rule="rotate-both-keys-verify-alike", on=_VERIFY, change_answer=_unregistered_for_old_keys
    ),
    "a verification flips hasFeedback": Mutant(
        rule="endpoints-11-verification-changes-nothing",
        on=_VERIFY,
        wrap_serve=_updating("UPDATE proofs SET has_feedback = NOT has_feedback WHERE proof_id = ?"),
    ),
    "a verification ends the interpretation": Mutant(
        on=_VERIFY, wrap_serve=_updating("UPDATE proofs SET note = 'unavailable' WHERE proof_id = ?")
    ),
    "a verification changes the classification": Mutant(
        on=_VERIFY, wrap_serve=_updating("UPDATE proofs SET classification = 'mixed_' WHERE proof_id = ?")
    ),
    "an answer is remembered for its upload for ever": Mutant(on=_VERIFY, wrap_serve=_remembering_answers),
    "more than 64 MiB are stored and not verified": Mutant(
        rule="limits-65-mib-is-stored", on=_VERIFY, wrap_serve=_up_to_64_mib
    ),
    "issuedAt of a verification has a fraction": Mutant(on=_VERIFY, change_answer=change_success(_fractional)),
}
