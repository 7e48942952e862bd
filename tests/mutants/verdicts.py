"""Mutants of verification: the request, the answer's members and the verdict."""

from secrets import token_hex

from proofsweep_sandbox.answers import Answer
from proofsweep_sandbox.routing import Exchange, Serve
from proofsweep_sandbox.service import Service

from .broken_parts import accept_any_signature
from .changes import (
    Members,
    change_status,
    change_success,
    set_members,
    with_verdict,
    without_members,
)
from .definition import Mutant

# A time after every expiry, in unix seconds.
_END_OF_TIME_SECONDS = 2.0**62


def _spending_uploads(serve: Serve) -> Serve:
    async def verify(service: Service, exchange: Exchange) -> Answer:
        answer = await serve(service, exchange)
        service.slots.forget_older(_END_OF_TIME_SECONDS)
        return answer

    return verify


def _an_hour_later(members: Members) -> None:
    if "issuedAt" in members:
        members["issuedAt"] += 3600


_VERIFY = ("verify",)


def _for_the_owner_alone(service: Service, exchange: Exchange, answer: Answer) -> Answer:
    def change(members: Members) -> None:
        if service.proofs.owned(exchange.caller.tenant, str(members.get("proofId"))) is None and members["good"]:
            members.update(verdict="unregistered", good=False)

    return change_success(change)(service, exchange, answer)


MUTANTS = (
    *(
        Mutant(
            rule=rule,
            breaks=f"what is `{verdict}` is `{other}`",
            on=_VERIFY,
            change_answer=with_verdict(verdict, other),
        )
        for rule, verdict, other in (
            ("verdicts-changed-credential-is-tampered", "tampered", "valid"),
            ("verdicts-signature-of-another-signer-is-tampered", "tampered", "valid"),
            ("verdicts-truncated-credential-is-unreadable", "unreadable", "valid"),
            ("verdicts-credential-of-other-audio-is-unreadable", "unreadable", "valid"),
            ("verdicts-changed-unregistered-credential-is-unreadable", "unreadable", "unregistered"),
        )
    ),
    Mutant(
        rule="verdicts-alike-for-another-tenant",
        breaks="a credential is `valid` for its own tenant alone",
        on=_VERIFY,
        change_answer=_for_the_owner_alone,
    ),
    Mutant(
        rule="resources-verify-fields",
        breaks="there is no `verdict`",
        on=_VERIFY,
        change_answer=without_members("verdict"),
    ),
    Mutant(
        rule="endpoints-11-verify-repeats-identically",
        breaks="an upload can be verified only once",
        on=_VERIFY,
        wrap_serve=_spending_uploads,
    ),
    Mutant(
        rule="endpoints-11-malformed-body-is-refused",
        breaks="incomplete JSON is answered with 500",
        on=_VERIFY,
        change_answer=change_status(400, 500),
    ),
    Mutant(
        rule="endpoints-11-malformed-body-is-refused",
        breaks="a malformed body is answered with 401",
        on=_VERIFY,
        change_answer=change_status(400, 401),
    ),
    Mutant(
        rule="resources-verify-accepted-fields",
        breaks="there is no `proofId`",
        on=_VERIFY,
        change_answer=without_members("proofId"),
    ),
    Mutant(
        rule="resources-verify-accepted-fields",
        breaks="`issuedAt` is an ISO string",
        on=_VERIFY,
        change_answer=set_members(issuedAt="2026-01-02T03:04:05Z"),
    ),
    Mutant(
        rule="resources-verification-agrees-with-the-list",
        breaks="`issuedAt` is one hour later than in the list",
        on=_VERIFY,
        change_answer=change_success(_an_hour_later),
    ),
    Mutant(
        rule="resources-verify-accepted-fields",
        breaks="the grade is a string",
        on=_VERIFY,
        change_answer=set_members(grade="A"),
    ),
    Mutant(
        rule="resources-verify-accepted-fields",
        breaks="`publiclyTrusted` is true",
        on=_VERIFY,
        change_answer=set_members(embeddedCredential={"publiclyTrusted": True}),
    ),
    Mutant(
        rule="verdicts-audio-without-a-proof-is-unreadable",
        breaks="audio without a proof is `unregistered`",
        on=_VERIFY,
        change_answer=with_verdict("unreadable", "unregistered"),
    ),
    Mutant(
        rule="verdicts-accepted-one-file-is-valid",
        breaks="`valid` is spelled `Valid`",
        on=_VERIFY,
        change_answer=with_verdict("valid", "Valid"),
    ),
    Mutant(
        rule="verdicts-first-and-last-sample-of-a-one-file",
        breaks="changed audio is `valid`",
        on=_VERIFY,
        change_answer=with_verdict("unreadable", "valid"),
    ),
    Mutant(
        rule="verdicts-accepted-pair-is-valid",
        breaks="a good pair is `audioChanged`",
        on=_VERIFY,
        change_answer=with_verdict("valid", "audioChanged"),
    ),
    Mutant(
        rule="verdicts-first-and-last-sample-of-a-pair",
        breaks="`audioChanged` is spelled `audio_changed`",
        on=_VERIFY,
        change_answer=with_verdict("audioChanged", "audio_changed"),
    ),
    Mutant(
        rule="verdicts-changed-sidecar-of-a-pair",
        breaks="the sidecar's signature is not checked",
        on=_VERIFY,
        replace_part=accept_any_signature,
    ),
    Mutant(
        rule="verdicts-local-seal",
        breaks="a local seal is `tampered`",
        on=_VERIFY,
        change_answer=with_verdict("local_seal", "tampered"),
    ),
    Mutant(
        rule="verdicts-unregistered",
        breaks="an unregistered credential is `valid`",
        on=_VERIFY,
        change_answer=with_verdict("unregistered", "valid"),
    ),
    Mutant(
        rule="endpoints-11-verify-repeats-identically",
        breaks="a repeated answer has another `song`",
        on=_VERIFY,
        change_answer=change_success(lambda members: "song" in members and members.update(song=token_hex(4))),
    ),
    Mutant(
        rule="resources-verify-accepted-fields",
        breaks="`interpretation` is a string",
        on=_VERIFY,
        change_answer=set_members(interpretation="recorded"),
    ),
    Mutant(
        rule="resources-verification-agrees-with-the-list",
        breaks="`song` is in capitals",
        on=_VERIFY,
        change_answer=change_success(
            lambda members: "song" in members and members.update(song=members["song"].upper())
        ),
    ),
    Mutant(
        rule="resources-verify-fields-of-a-pair",
        breaks="there is no `issuedAt`",
        on=_VERIFY,
        change_answer=without_members("issuedAt"),
    ),
    Mutant(
        rule="resources-verification-of-a-pair-agrees-with-the-list",
        breaks="`issuedAt` is one hour later than in the list",
        on=_VERIFY,
        change_answer=change_success(_an_hour_later),
    ),
    Mutant(
        rule="resources-issued-at-is-the-documents",
        breaks="`issuedAt` is one hour later than in the sidecar",
        on=_VERIFY,
        change_answer=change_success(_an_hour_later),
    ),
    Mutant(
        rule="verdicts-good-with-valid-alone",
        breaks="`good` is always true",
        on=_VERIFY,
        change_answer=set_members(good=True),
    ),
)
