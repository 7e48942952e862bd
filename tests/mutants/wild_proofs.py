"""Wrong services, at proofs, erasure and the storage: no check was written for any of them."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace

from proofsweep_sandbox.answers import Answer, Refusal
from proofsweep_sandbox.api.proofs import remove
from proofsweep_sandbox.registry.proofs import Proof, Proofs
from proofsweep_sandbox.routing import Exchange, Serve
from proofsweep_sandbox.service import Service

from .broken_parts import BrokenPart, replacing
from .changes import Members, change_success, set_members
from .definition import Mutant, ServeWrapper

_ERASE = ("erase",)
_hidden: set[str] = set()


def _around_erasure(after: Callable[[Service, Exchange, Proof | None], None]) -> ServeWrapper:
    """Do something more with each erasure; the proof is None if the caller has none with this id."""

    def wrap(serve: Serve) -> Serve:
        async def erase(service: Service, exchange: Exchange) -> Answer:
            proof = service.proofs.owned(exchange.caller.tenant, exchange.path["proof_id"])
            answer = await serve(service, exchange)
            after(service, exchange, proof)
            return answer

        return erase

    return wrap


def _keeping_audio(serve: Serve) -> Serve:
    async def erase(service: Service, exchange: Exchange) -> Answer:
        proof = service.proofs.owned(exchange.caller.tenant, exchange.path["proof_id"])
        file = service.folder("assets") / (proof.asset if proof and proof.asset else "none")
        audio = file.read_bytes() if file.is_file() else b""
        answer = await serve(service, exchange)
        if audio:
            file.write_bytes(audio)
        return answer

    return erase


class _PairsKept(BrokenPart, Proofs):
    def erase(self, proof: Proof, now: int) -> None:
        """Hide the record of a pair, and keep it for verifications."""
        if proof.asset is not None:
            return super().erase(proof, now)
        self._database.execute("UPDATE proofs SET tenant = 'gone' WHERE proof_id = ?", (proof.proof_id,))
        self._database.execute("INSERT INTO erasures VALUES (?, ?, ?)", (proof.proof_id, proof.tenant, now))
        return None


def _erase_oldest(service: Service, exchange: Exchange, proof: Proof | None) -> None:
    if proof is None:
        for oldest in service.proofs.newest(exchange.caller.tenant, None, 1_000)[-1:]:
            remove(service, oldest, service.clock.second())


def _hide(_service: Service, exchange: Exchange, proof: Proof | None) -> None:
    if proof is None:
        _hidden.add(exchange.path["proof_id"])


class _HiddenUnlisted(BrokenPart, Proofs):
    def newest(self, tenant: str, before: tuple[int, int] | None, limit: int) -> list[Proof]:
        """Leave out what another tenant tried to erase."""
        return [each for each in super().newest(tenant, before, limit) if each.proof_id not in _hidden]


def _end_notes(service: Service, exchange: Exchange, proof: Proof | None) -> None:
    del proof
    service.proofs._database.execute(
        "UPDATE proofs SET note = 'unavailable' WHERE tenant = ?", (exchange.caller.tenant,)
    )


def _forget_usage(service: Service, exchange: Exchange, proof: Proof | None) -> None:
    if proof is not None:
        service.meters._database.execute("UPDATE usage SET used = 1 WHERE meter = ?", (exchange.caller.meter,))


class _SecondsSkipped(BrokenPart, Proofs):
    def newest(self, tenant: str, before: tuple[int, int] | None, limit: int) -> list[Proof]:
        """Continue with the second before."""
        return super().newest(tenant, None if before is None else (before[0], 0), limit)


def _without_songs(service: Service, exchange: Exchange, answer: Answer) -> Answer:
    def change(members: Members) -> None:
        if "cursor" in exchange.request.query_params and members["items"]:
            members["items"][-1]["song"] = None

    return change_success(change)(service, exchange, answer)


def _wait_in_fractions(members: Members) -> None:
    if members["status"] == "pending":
        members["retryAfterSeconds"] = "2"


def _reading_marks(serve: Serve) -> Serve:
    async def show(service: Service, exchange: Exchange) -> Answer:
        answer = await serve(service, exchange)
        service.proofs._database.execute(
            "UPDATE proofs SET has_feedback = 1 WHERE proof_id = ?", (exchange.path["proof_id"],)
        )
        return answer

    return show


def _storing(where: Callable[[bytes, Refusal], bool]) -> ServeWrapper:
    """Store some of the forms that must be refused."""

    def wrap(serve: Serve) -> Serve:
        async def fill(service: Service, exchange: Exchange) -> Answer:
            body = await exchange.request.body()
            try:
                return await serve(service, exchange)
            except Refusal as refusal:
                slot = service.slots.by_token(exchange.path["token"])
                if slot is None or not where(body, refusal) or b'name="file"' not in body:
                    raise
            audio = body.rsplit(b'name="file"', 1)[1].split(b"\r\n\r\n", 1)[1].rsplit(b"\r\n--", 1)[0]
            (service.folder("uploads") / slot.token).write_bytes(audio)
            service.slots.fill(slot, hashlib.sha256(audio).hexdigest())
            return Answer(status=204)

        return fill

    return wrap


def _names(body: bytes) -> bytes:
    return body.split(b'name="file"', 1)[0]


def _is_unsigned(body: bytes, refusal: Refusal) -> bool:
    del refusal
    return b'name="policy"' in _names(body) and b"x-amz-signature" not in _names(body)


def _lacks_credential(body: bytes, refusal: Refusal) -> bool:
    return "x-amz-credential" in refusal.error and b"x-amz-credential" not in _names(body)


def _without_code_when_erased(service: Service, exchange: Exchange, answer: Answer) -> Answer:
    is_erased = service.proofs.erased_at(exchange.path.get("proof_id", "")) is not None
    if not is_erased or answer.status < 400:
        return answer
    return replace(answer, body=json.dumps({"error": "This proof was erased."}).encode())


SERVICES = {
    "an earlier link gives the audio of an erased proof": Mutant(
        rule="erase-ends-its-links", on=_ERASE, wrap_serve=_keeping_audio
    ),
    "an erased pair is valid": Mutant(
        rule="erase-makes-the-pair-unregistered", on=_ERASE, replace_part=replacing("proofs", _PairsKept)
    ),
    "the erasure of an unknown proof erases the oldest": Mutant(
        rule="erase-of-nothing-changes-nothing", on=_ERASE, wrap_serve=_around_erasure(_erase_oldest)
    ),
    "another tenant's erasure takes a proof from the list": Mutant(
        on=("erase", "proofs"),
        replace_part=replacing("proofs", _HiddenUnlisted),
        wrap_serve=lambda serve: _around_erasure(_hide)(serve) if serve.__name__ == "erase" else serve,
    ),
    "an erasure ends all interpretations": Mutant(on=_ERASE, wrap_serve=_around_erasure(_end_notes)),
    "an erasure resets the usage": Mutant(
        rule="erase-changes-that-proof-alone", on=_ERASE, wrap_serve=_around_erasure(_forget_usage)
    ),
    "a page of proofs continues with the second before": Mutant(
        on=("proofs",), replace_part=replacing("proofs", _SecondsSkipped)
    ),
    "the last proof of a later page has no song": Mutant(
        rule="resources-every-reply-has-its-members", on=("proofs",), change_answer=_without_songs
    ),
    "a record's time is an ISO string": Mutant(
        rule="resources-every-timestamp-is-seconds",
        on=("proof",),
        change_answer=set_members(createdAt="2026-01-02T03:04:05Z"),
    ),
    "retryAfterSeconds is a string": Mutant(on=("interpretation",), change_answer=change_success(_wait_in_fractions)),
    "a proof that is read has feedback": Mutant(on=("proof",), wrap_serve=_reading_marks),
    "a form without its signature is stored": Mutant(on=("slot",), wrap_serve=_storing(_is_unsigned)),
    "a form without one of its fields is stored": Mutant(on=("slot",), wrap_serve=_storing(_lacks_credential)),
    "the fields of one slot fill another": Mutant(
        on=("slot",), wrap_serve=_storing(lambda _, refusal: "belongs to another slot" in refusal.error)
    ),
    "the error for an erased proof has no code": Mutant(on=("proof",), change_answer=_without_code_when_erased),
}
