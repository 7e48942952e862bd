"""What an answer holds beyond the contract is named; its values are never taken."""

import pytest

from proofsweep.client.transport import unnamed_in
from proofsweep.domain.exchanges import Call

VERIFIED = {"good": True, "verdict": "valid", "proofId": "p", "song": "s", "issuedAt": 1, "classification": "human"}
GRADE = {"human": 1, "ai": 0, "unknown": 0, "riskCategory": "low", "rubricVersion": "1"}


@pytest.mark.parametrize(
    ("call", "answer", "names"),
    [
        (Call.VERIFY, {**VERIFIED, "grade": GRADE, "interpretation": {"any": 1}, "embeddedCredential": {"any": 1}}, []),
        (Call.VERIFY, {**VERIFIED, "mood": "SECRET", "grade": {**GRADE, "key": 1}}, ["grade.key", "mood"]),
        (Call.VERIFY, {**VERIFIED, "verdict": "quantumSealed"}, []),
        (Call.VERIFY, {**VERIFIED, "verdict": 7, "grade": "A"}, []),
        (Call.UPLOADS, {"uploadId": "u", "url": "SECRET", "fields": {"any": "SECRET"}}, []),
        (Call.UPLOADS, {"uploadId": "u", "url": "SECRET", "fields": {}, "expiresAt": 1}, ["expiresAt"]),
        (Call.USAGE, {"plan": {"quotaLimit": 1, "tier": "SECRET"}, "days": [{"used": 1, "free": 2}, 7]},
         ["days.free", "plan.tier"]),
        (Call.HEALTH, {"ok": True, "version": "1", "commit": "c", "deployedAt": 1}, []),
        (Call.PROOF, {"any": "SECRET"}, []),
        (Call.ASSET, {"any": "SECRET"}, []),
        (Call.VERIFY, ["no object"], []),
        (Call.VERIFY, None, []),
    ],
)  # fmt: skip
def test_members_that_the_contract_does_not_name(call: Call, answer: object, names: list[str]) -> None:
    """Where the contract does not show all fields, none is unknown."""
    assert list(unnamed_in(call, answer, is_success=True)) == names


def test_an_error_has_no_members_of_the_answer() -> None:
    """Endpoints may have codes of their own; the body of every error is the same."""
    known = unnamed_in(Call.VERIFY, {"error": "SECRET", "code": "not_found"}, is_success=False)
    unknown = unnamed_in(Call.VERIFY, {"error": "SECRET", "code": "slot_gone", "hint": "SECRET"}, is_success=False)

    assert (known, unknown) == ((), ("hint",))


def test_names_are_few_short_and_printable() -> None:
    """Whatever a service invents."""
    hostile = {f"{number:03}\x1b[2J\u202e\n" + "x" * 10_000: "SECRET" for number in range(500)}

    names = unnamed_in(Call.VERIFY, hostile, is_success=True)

    assert len(names) == 20
    assert all(len(name) <= 60 and name.isprintable() for name in names)
