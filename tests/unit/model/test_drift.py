"""What an answer holds beyond the contract is named; its values are never taken."""

import pytest

from proofsweep.model.drift import cell_of, drift_in, names_in, words_for
from proofsweep.model.exchanges import Call

VERIFIED = {"good": True, "verdict": "valid", "proofId": "p", "song": "s", "issuedAt": 1, "classification": "human"}
GRADE = {"human": 1, "ai": 0, "unknown": 0, "riskCategory": "low", "rubricVersion": "1"}


@pytest.mark.parametrize(
    ("call", "answer", "names"),
    [
        (Call.VERIFY, {**VERIFIED, "grade": GRADE, "interpretation": {"any": 1}, "embeddedCredential": {"any": 1}}, []),
        (Call.VERIFY, {**VERIFIED, "mood": "SECRET", "grade": {**GRADE, "key": 1}}, ["field:mood", "field:grade.key"]),
        (Call.VERIFY, {**VERIFIED, "verdict": "quantumSealed"}, ["verdict:quantumSealed"]),
        (Call.VERIFY, {**VERIFIED, "verdict": 7, "grade": "A"}, []),
        (Call.UPLOADS, {"uploadId": "u", "url": "SECRET", "fields": {"any": "SECRET"}}, []),
        (Call.UPLOADS, {"uploadId": "u", "url": "SECRET", "fields": {}, "expiresAt": 1}, ["field:expiresAt"]),
        (Call.USAGE, {"plan": {"quotaLimit": 1, "tier": "SECRET"}, "days": [{"used": 1, "free": 2}, 7]},
         ["field:plan.tier", "field:days.free"]),
        (Call.HEALTH, {"ok": True, "version": "1", "commit": "c", "deployedAt": 1}, []),
        (Call.PROOF, {"any": "SECRET"}, []),
        (Call.ASSET, {"any": "SECRET"}, []),
        (Call.VERIFY, ["no object"], []),
        (Call.VERIFY, None, []),
    ],
)  # fmt: skip
def test_fields_and_verdicts_that_the_contract_does_not_name(call: Call, answer: object, names: list[str]) -> None:
    """Where the contract does not show all fields, none is unknown."""
    assert list(drift_in(call, answer, is_success=True)) == names


def test_an_error_has_a_code_and_no_fields_of_the_answer() -> None:
    """Endpoints may have codes of their own; the body of every error is the same."""
    known = drift_in(Call.VERIFY, {"error": "SECRET", "code": "not_found"}, is_success=False)
    unknown = drift_in(Call.VERIFY, {"error": "SECRET", "code": "slot_gone", "hint": "SECRET"}, is_success=False)

    assert (known, unknown) == ((), ("error_code:slot_gone", "field:hint"))


def test_names_are_few_short_and_printable() -> None:
    """Whatever a service invents."""
    hostile = {f"{number:03}\x1b[2J\u202e\n" + "x" * 10_000: "SECRET" for number in range(500)}

    names = drift_in(Call.VERIFY, hostile | {"verdict": "v" * 10_000}, is_success=True)

    assert len(names) == 20
    assert all(len(name) <= 60 and name.isprintable() for name in names)


def test_a_cell_gives_its_names_back() -> None:
    """A name may hold any letter."""
    names = ('field:a:"b"', "verdict:é")

    assert list(names_in(cell_of(names))) == [("field", 'a:"b"'), ("verdict", "é")]


def test_a_summary_names_verdicts_first() -> None:
    """A field that two calls have is named once."""
    rows = [{"kind": kind, "name": name} for kind, name in (
        ("field", "a"), ("field", "a"), ("error_code", "b"), ("verdict", "c"), ("field", "d"), ("field", "e")
    )]  # fmt: skip

    assert words_for(rows) == ["verdict c", "error code b", "field a", "field d"]
