"""Forged one-file credentials: signature, claim, assertions and binding (contract, What the service does)."""

from collections.abc import Iterable
from pathlib import Path

from partner_conformance import credentials, sounds
from partner_conformance.checks.verdicts import expect_verdict
from partner_conformance.definition import check
from partner_conformance.replies import NotTried
from partner_conformance.subject import Subject

_REFUSED = ("tampered", "unreadable")
_MOST_ASSERTIONS = 6


@check(calls=2 * (2 + _MOST_ASSERTIONS), needs=("one_file",))
def verdicts_changed_credential_is_tampered(service: Subject) -> None:
    """A one-file credential with one changed bit of its signature, claim or an assertion is not accepted."""
    forged = list(credentials.forgeries(_original(service)).values())
    _expect_refused(service, forged[-2 - _MOST_ASSERTIONS :])


@check(calls=4, needs=("one_file",))
def verdicts_truncated_credential_is_unreadable(service: Subject) -> None:
    """A one-file credential that is cut in half, or taken away, is not accepted."""
    original = _original(service)
    _expect_refused(service, [credentials.without_its_end(original)])
    expect_verdict(service.verified(credentials.without_credential(original))[0], "unreadable")


@check(calls=2, needs=("one_file",))
def verdicts_credential_of_other_audio_is_unreadable(service: Subject) -> None:
    """A credential that is moved into other audio is not accepted: the binding fails."""
    _expect_refused(service, [credentials.with_credential_of(sounds.silence(), _original(service))])


@check(calls=4, needs=("one_file", "unregistered"))
def verdicts_signature_of_another_signer_is_tampered(service: Subject) -> None:
    """A credential with the signature, or as a whole with the credential, of another signer is not accepted."""
    original, other = _original(service), _read(service.inputs.unregistered)
    signed = credentials.with_signature_of(original, other)
    if signed is None:
        raise NotTried("the unregistered WAV has no signature that can be read")
    _expect_refused(service, [signed])
    swapped = credentials.with_credential_of(original, other)
    if swapped != other:
        expect_verdict(service.verified(swapped)[0], *_REFUSED, "unregistered")


@check(calls=2, needs=("local_seal",))
def verdicts_changed_local_seal_is_unreadable(service: Subject) -> None:
    """A seal of an artist's device is not `local_seal` with one changed sample: it is intact no more."""
    _expect_refused(service, [sounds.with_another_sample(_read(service.inputs.local_seal))])


@check(calls=2, needs=("unregistered",))
def verdicts_changed_unregistered_credential_is_unreadable(service: Subject) -> None:
    """A credential that is not registered is `unreadable` with one changed sample."""
    _expect_refused(service, [sounds.with_another_sample(_read(service.inputs.unregistered))])


def _original(service: Subject) -> bytes:
    if not credentials.forgeries(service.one_file):
        raise NotTried("the WAV has no C2PA manifest that can be read")
    return service.one_file


def _expect_refused(service: Subject, forged: Iterable[bytes]) -> None:
    for audio in forged:
        expect_verdict(service.verified(audio)[0], *_REFUSED)


def _read(file: Path | None) -> bytes:
    return file.read_bytes() if file else b""
