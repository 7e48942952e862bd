"""Mutants of slots and of the storage target."""

import base64
import hashlib
import json

from proofsweep_sandbox.answers import Answer, Refusal
from proofsweep_sandbox.routing import Exchange, Serve
from proofsweep_sandbox.service import Service

from .broken_parts import stop_clock
from .broken_registry import forget_empty_slots
from .changes import Members, answer_error, change_status, change_success, set_members
from .definition import AnswerChange, Mutant


def _with_max_bytes(max_bytes: int) -> AnswerChange:
    """Set the maximum size in a slot's policy."""

    def change_answer(service: Service, exchange: Exchange, answer: Answer) -> Answer:
        def rebind(members: Members) -> None:
            policy = json.loads(base64.b64decode(members["fields"]["policy"]))
            policy["conditions"][-1] = ["content-length-range", 1, max_bytes]
            encoded = base64.b64encode(json.dumps(policy).encode()).decode()
            signature = service.signatures.sign("slot", encoded)
            members["fields"] |= {"policy": encoded, "x-amz-signature": signature}

        return change_success(rebind)(service, exchange, answer)

    return change_answer


def _storing_what_is_refused(serve: Serve) -> Serve:
    async def fill(service: Service, exchange: Exchange) -> Answer:
        body = await exchange.request.body()
        try:
            return await serve(service, exchange)
        except Refusal:
            audio = body.split(b"\r\n\r\n", 1)[1].rsplit(b"\r\n--", 1)[0]
            slot = service.slots.by_token(exchange.path["token"])
            if slot is not None:
                (service.folder("uploads") / slot.token).write_bytes(audio)
                service.slots.fill(slot, hashlib.sha256(audio).hexdigest())
            raise

    return fill


MUTANTS = (
    Mutant(
        rule="resources-upload-fields",
        breaks="`fields` is a list",
        on=("uploads",),
        change_answer=change_success(lambda members: members.update(fields=list(members["fields"].items()))),
    ),
    Mutant(
        rule="endpoints-10-fresh-slot-on-every-call",
        breaks="all slots have the same `uploadId`",
        on=("uploads",),
        change_answer=set_members(uploadId="upl_1"),
    ),
    Mutant(
        rule="endpoints-slot-takes-fields-then-file",
        breaks="the storage refuses a correct form",
        on=("slot",),
        change_answer=answer_error(403),
    ),
    Mutant(
        rule="endpoints-slot-needs-its-fields",
        breaks="a form without the fields is accepted",
        on=("slot",),
        change_answer=change_status(403, 204),
    ),
    Mutant(
        rule="endpoints-slot-refuses-altered-values",
        breaks="the values of the fields are not checked",
        on=("slot",),
        change_answer=change_status(403, 204),
    ),
    Mutant(
        rule="endpoints-10-slots-are-independent",
        breaks="a new slot ends the one before",
        on=("uploads",),
        replace_part=forget_empty_slots,
    ),
    Mutant(
        rule="endpoints-slot-wants-fields-before-file",
        breaks="a form with the file first is accepted",
        on=("slot",),
        change_answer=change_status(403, 204),
    ),
    Mutant(
        rule="endpoints-slot-wants-the-name-file",
        breaks="a form without a field named `file` is accepted",
        on=("slot",),
        change_answer=change_status(400, 204),
    ),
    Mutant(
        rule="endpoints-slot-refusal-means-not-stored",
        breaks="refused audio is stored",
        on=("slot",),
        wrap_serve=_storing_what_is_refused,
    ),
    Mutant(
        rule="endpoints-10-unused-slot-expires", breaks="a slot never expires", on=("slot",), replace_part=stop_clock
    ),
    Mutant(
        rule="limits-65-mib-is-stored",
        breaks="a slot takes 65,000,000 bytes",
        on=("uploads",),
        change_answer=_with_max_bytes(65_000_000),
    ),
    Mutant(
        rule="limits-65-mib-and-a-byte-is-refused",
        breaks="a slot takes 66 MiB",
        on=("uploads",),
        change_answer=_with_max_bytes(66 * 1024 * 1024),
    ),
)
