"""Every reason is one entry, and all that ask for it agree."""

import pickle
from pathlib import Path

import pytest

from proofsweep.domain.reasons import (
    REASONS,
    SOURCE_REASONS,
    AtFault,
    Heals,
    Reason,
    ReasonEntry,
    about,
    plain_words_for,
    remedy_for,
)
from proofsweep.domain.verdicts import Verdict
from proofsweep.ingest.rules import is_final

CATALOGS = Path(__file__).parents[3] / "docs" / "catalogs.md"


def test_every_reason_and_every_bad_verdict_has_an_entry() -> None:
    """The summary of a run has a clause for each kind of row."""
    assert set(REASONS) == {*Reason, *Verdict} - {Verdict.VALID}
    assert all(entry.word == reason for reason, entry in REASONS.items())


@pytest.mark.parametrize("entry", REASONS.values(), ids=list(REASONS))
def test_all_that_ask_for_a_reason_agree(entry: ReasonEntry) -> None:
    """Passes over a watched folder, and the docs."""
    printed = CATALOGS.read_text("utf-8").partition("<!-- generated: reasons -->")[2].partition("<!-- end -->")[0]
    (row,) = [line for line in printed.splitlines() if line.startswith(f"| `{entry.word}` |")]

    assert is_final("ineligible", entry.word) == (entry.heals is not Heals.HERE)
    assert entry.meaning.endswith(".")
    assert plain_words_for("rejected", entry.word) == entry.plain
    assert remedy_for(entry.word) == entry.remedy
    assert f"| {entry.remedy} | {entry.at_fault} | {entry.heals} |" in row


def test_a_supplier_is_told_of_nothing_that_we_must_mend() -> None:
    """What lies with our side is for the person who runs the pass; a missing sidecar may be an outage."""
    assert not any(entry.tells_supplier for entry in REASONS.values() if entry.at_fault is AtFault.SOURCE)
    assert {about(reason).at_fault for reason in SOURCE_REASONS} == {AtFault.SOURCE, AtFault.FILE}
    assert {word for word, entry in REASONS.items() if entry.heals is Heals.AT_SERVICE} == {
        "unregistered",
        "local_seal",
    }


@pytest.mark.parametrize("reason", ["http_422", "a_future_slug", ""])
def test_a_reason_without_an_entry_gets_the_general_remedy(reason: str) -> None:
    """HTTP statuses are reasons too, and there are many."""
    assert remedy_for(reason).startswith("verify again")
    assert plain_words_for("failed", reason) == "the service gave no answer that can be used"


def test_an_accepted_row_has_plain_words_too() -> None:
    """Whatever its verdict is; a spreadsheet has one column for all rows."""
    assert plain_words_for("accepted", "") == "the service confirmed the credential"


def test_a_reason_is_its_word() -> None:
    """Columns hold text, not members of an enumeration; errors with a reason cross between processes."""
    assert Reason("not_wav") is Reason.NOT_WAV
    assert f"{Reason.NOT_WAV}" == "not_wav"
    assert pickle.loads(pickle.dumps(Reason.NOT_WAV)) is Reason.NOT_WAV  # noqa: S301 - our own bytes
    assert remedy_for("audioChanged") == REASONS[Verdict.AUDIO_CHANGED].remedy
