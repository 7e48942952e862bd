"""Mutants of verification: what is asked, what an answer holds, which verdict is given."""

from sandbox.answers import Answer
from sandbox.calls import Exchange, Serve
from sandbox.mutants.edits import Members, restatus, retold, told, untold
from sandbox.mutants.mutant import Edit, Mutant
from sandbox.mutants.parts import unsigned_sidecars
from sandbox.service import Service

_EVER = 2.0**62


def _spending_uploads(serve: Serve) -> Serve:
    async def verify(service: Service, exchange: Exchange) -> Answer:
        answer = await serve(service, exchange)
        service.slots.forget_older(_EVER)
        return answer

    return verify


def _reworded(verdict: str, other: str) -> Edit:
    """Give another verdict in the place of one, good or not as that one was to be."""

    def reword(members: Members) -> None:
        if members["verdict"] == verdict:
            members.update(verdict=other, good=other == "valid")

    return retold(reword)


def _an_hour_later(members: Members) -> None:
    if "issuedAt" in members:
        members["issuedAt"] += 3600


_VERIFY = ("verify",)

MUTANTS = (
    Mutant(rule="resources-verify-fields", breaks="there is no `verdict`", on=_VERIFY, edit=untold("verdict")),
    Mutant(
        rule="endpoints-11-verify-repeats-identically",
        breaks="a verification spends the upload",
        on=_VERIFY,
        around=_spending_uploads,
    ),
    Mutant(
        rule="endpoints-11-body-that-is-no-json-is-400",
        breaks="half a JSON object is 500",
        on=_VERIFY,
        edit=restatus(400, 500),
    ),
    Mutant(
        rule="endpoints-11-upload-id-is-required",
        breaks="a body without uploadId is 422",
        on=_VERIFY,
        edit=restatus(400, 422),
    ),
    Mutant(rule="resources-verify-accepted-fields", breaks="no `proofId` is told", on=_VERIFY, edit=untold("proofId")),
    Mutant(
        rule="resources-verify-issued-at-in-seconds",
        breaks="`issuedAt` is an ISO string",
        on=_VERIFY,
        edit=told(issuedAt="2026-01-02T03:04:05Z"),
    ),
    Mutant(
        rule="resources-issued-at-is-the-same-everywhere",
        breaks="verification tells a later `issuedAt`",
        on=_VERIFY,
        edit=retold(_an_hour_later),
    ),
    Mutant(rule="resources-grade-members", breaks="a grade is a letter", on=_VERIFY, edit=told(grade="A")),
    Mutant(
        rule="service-publicly-trusted-stays-false",
        breaks="`publiclyTrusted` is true",
        on=_VERIFY,
        edit=told(embeddedCredential={"publiclyTrusted": True}),
    ),
    Mutant(
        rule="verdicts-audio-without-a-proof-is-unreadable",
        breaks="audio without a proof is `unregistered`",
        on=_VERIFY,
        edit=_reworded("unreadable", "unregistered"),
    ),
    Mutant(
        rule="verdicts-accepted-one-file-is-valid",
        breaks="`valid` is spelled otherwise",
        on=_VERIFY,
        edit=_reworded("valid", "Valid"),
    ),
    Mutant(
        rule="verdicts-changed-one-file-is-unreadable",
        breaks="changed audio is `valid`",
        on=_VERIFY,
        edit=_reworded("unreadable", "valid"),
    ),
    Mutant(
        rule="verdicts-accepted-pair-is-valid",
        breaks="a good pair is `audioChanged`",
        on=_VERIFY,
        edit=_reworded("valid", "audioChanged"),
    ),
    Mutant(
        rule="verdicts-changed-audio-of-a-pair",
        breaks="`audioChanged` is spelled in snake case",
        on=_VERIFY,
        edit=_reworded("audioChanged", "audio_changed"),
    ),
    Mutant(
        rule="verdicts-changed-sidecar-of-a-pair",
        breaks="a sidecar's signature is not looked at",
        on=_VERIFY,
        swap=unsigned_sidecars,
    ),
    Mutant(
        rule="verdicts-local-seal",
        breaks="a local seal is `tampered`",
        on=_VERIFY,
        edit=_reworded("local_seal", "tampered"),
    ),
    Mutant(
        rule="verdicts-unregistered",
        breaks="what is not registered is `valid`",
        on=_VERIFY,
        edit=_reworded("unregistered", "valid"),
    ),
    Mutant(rule="verdicts-good-with-valid-alone", breaks="`good` is always true", on=_VERIFY, edit=told(good=True)),
)
