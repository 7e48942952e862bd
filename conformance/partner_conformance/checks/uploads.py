"""POST /uploads, and the slots that it returns."""

from collections.abc import Callable

from partner_conformance import sounds
from partner_conformance.assertions import expect
from partner_conformance.checks.verdicts import expect_verdict
from partner_conformance.definition import Risk, check
from partner_conformance.replies import Advice, NoAnswer, NotTried, Violation
from partner_conformance.slots import Form, Slot, is_storage_failure, is_stored
from partner_conformance.subject import Subject

# Contract, Limits: the verification upload slot.
_SLOT_BYTES = 65 * 1024 * 1024
# Chosen: a form with more fields is not tried without each of the others.
_MOST_FIELDS = 12


@check(calls=1)
def resources_upload_fields(service: Subject) -> None:
    """A slot has `uploadId`, `url` and `fields`; all values of `fields` are strings."""
    slot = service.slot
    expect(slot.url.startswith(("http://", "https://")), "url is not an http(s) URL", slot.reply)


@check(calls=2)
def endpoints_10_fresh_slot_on_every_call(service: Subject) -> None:
    """Every call returns a new slot."""
    slots = service.slot, service.new_slot()
    replies = [slot.reply for slot in slots]
    expect(slots[0].upload_id != slots[1].upload_id, "two calls returned the same uploadId", *replies)
    forms = [(slot.url, dict(slot.fields)) for slot in slots]
    expect(forms[0] != forms[1], "two calls returned the same slot", *replies)


@check(calls=1)
def endpoints_slot_takes_fields_then_file(service: Subject) -> None:
    """A slot stores a form with all returned fields and then the audio as `file`, without a key."""
    service.stored(sounds.silence())


@check(calls=1 + _MOST_FIELDS)
def endpoints_slot_needs_its_fields(service: Subject) -> None:
    """A slot refuses a form without the returned fields, and one that lacks any of them."""
    _expect_refusal(service, lambda _: [("file", sounds.silence())], "without its fields")
    for number in range(min(len(service.slot.fields), _MOST_FIELDS)):

        def lacking(slot: Slot, number: int = number) -> Form:
            return [part for at, part in enumerate(slot.form(sounds.silence())) if at != number]

        _expect_refusal(service, lacking, f"without its field {number + 1}")


@check(calls=2)
def endpoints_slot_refuses_altered_values(service: Subject) -> None:
    """A slot refuses a form whose fields have other values than the returned ones."""

    def altered(slot: Slot) -> Form:
        return [*((name, f"{value}x") for name, value in slot.fields.items()), ("file", sounds.silence())]

    if not service.slot.fields:
        raise NotTried("a slot has no fields")
    _expect_refusal(service, altered, "with altered values")


@check(calls=4, needs=("one_file",))
def endpoints_10_slots_are_independent(service: Subject) -> None:
    """Two slots are two uploads, in whatever order they are filled."""
    first = service.new_slot()
    second = service.stored(sounds.silence())
    status = service.wire.elsewhere.post_form(first.url, first.form(service.one_file))
    if is_storage_failure(status):
        raise NoAnswer(f"the slot answered {status}", (first.reply,))
    expect(is_stored(status), f"a slot answered {status} after another one was filled", first.reply)
    expect_verdict(service.verify(second), "unreadable")
    expect_verdict(service.verify(first.upload_id), "valid")


@check(calls=2)
def endpoints_slot_wants_fields_before_file(service: Subject) -> None:
    """The fields come before `file`; a slot may take other orders too."""
    _, status = service.posted(lambda slot: [("file", sounds.silence()), *slot.fields.items()])
    if is_stored(status):
        raise Advice("the storage takes the file before its fields too, so no caller learns of its mistake")


@check(calls=2)
def endpoints_slot_wants_the_name_file(service: Subject) -> None:
    """A slot refuses a form without a field named `file`."""
    _expect_refusal(
        service, lambda slot: [*slot.fields.items(), ("audio", sounds.silence())], "without a field named file"
    )


@check(calls=2, needs=("one_file",))
def endpoints_slot_refusal_means_not_stored(service: Subject) -> None:
    """If the storage refuses a form, its audio is not stored and cannot be verified."""
    slot, status = service.posted(lambda _: [("file", service.one_file)])
    if is_stored(status):
        raise NotTried("the storage accepted a form without its fields; see endpoints-slot-needs-its-fields")
    reply = service.verify(slot.upload_id)
    otherwise = f"the storage answered {status}, and the audio is verified as good"
    expect(reply.members.get("good") is not True, otherwise, reply)


@check(calls=1, needs=("slot_seconds",), risk=Risk.SPENDS)
def endpoints_10_unused_slot_expires(service: Subject) -> None:
    """An unused slot expires: after its lifetime it refuses audio."""

    def expired(slot: Slot) -> Form:
        service.wire.wait(service.inputs.slot_seconds or 0)
        return slot.form(sounds.silence())

    _expect_refusal(service, expired, "after its lifetime")


@check(calls=2, risk=Risk.SPENDS)
def limits_65_mib_is_stored(service: Subject) -> None:
    """A slot stores a file of 65 MiB (68,157,440 bytes), and it is verified."""
    reply, _ = service.verified(sounds.silence(_SLOT_BYTES))
    expect_verdict(reply, "unreadable")


@check(calls=2, risk=Risk.SPENDS)
def limits_65_mib_and_a_byte_is_refused(service: Subject) -> None:
    """A slot refuses a file of one byte more than 65 MiB."""
    audio = sounds.silence(_SLOT_BYTES + 1)
    _expect_refusal(service, lambda slot: slot.form(audio), "with 65 MiB and a byte")


def _expect_refusal(service: Subject, form_of: Callable[[Slot], Form], occasion: str) -> None:
    slot, status = service.posted(form_of)
    if is_stored(status):
        raise Violation(f"the slot answered {status} to a form {occasion}", (slot.reply,))
