"""Every reason is one entry, and all that ask for it agree. Its words are for people who never see a column."""

from pathlib import Path

import pytest

from proofsweep.domain.outcomes import Verdict
from proofsweep.domain.reasons import AtFault, Heals, Reason, about, reason_entries
from proofsweep.ingest.rules import stands

CATALOGS = Path(__file__).parents[3] / "docs" / "catalogs.md"
ENTRIES = reason_entries()
CODES = {*map(str, Verdict), "http", "slot", "asset", "`", "_"}


def test_every_reason_and_every_bad_verdict_has_an_entry() -> None:
    """The summary of a run has a clause for each kind of row."""
    assert set(ENTRIES) == {*Reason, *Verdict} - {Verdict.VALID}


@pytest.mark.parametrize("word", ENTRIES)
def test_all_that_ask_for_a_reason_agree(word: str) -> None:
    """Passes over a watched folder, and the docs."""
    entry = ENTRIES[word]
    printed = CATALOGS.read_text("utf-8").partition("<!-- generated: reasons -->")[2].partition("<!-- end -->")[0]
    (row,) = [line for line in printed.splitlines() if line.startswith(f"| `{word}` |")]

    assert stands("ineligible", word, is_delivered=False) == (entry.heals is not Heals.HERE)
    assert entry.meaning.endswith(".")
    assert about(word, "rejected") is entry
    assert f"| {entry.remedy} | {entry.at_fault} | {entry.heals} |" in row


@pytest.mark.parametrize("word", ENTRIES)
def test_plain_words_need_no_glossary(word: str) -> None:
    """A short clause, without a code, that goes on in a sentence and fits on one line of a phone's screen."""
    plain = ENTRIES[word].plain

    assert 0 < len(plain) <= 60
    assert plain[0].islower()
    assert not plain.endswith(".")
    assert not [code for code in CODES if code in plain.lower().split()]
    assert [entry.plain for entry in ENTRIES.values()].count(plain) == 1


def test_a_supplier_is_told_of_nothing_that_we_must_mend() -> None:
    """What lies with our side is for the person who runs the pass; a missing sidecar may be an outage."""
    assert not any(entry.tells_supplier for entry in ENTRIES.values() if entry.at_fault is AtFault.SOURCE)
    assert {entry.at_fault for entry in ENTRIES.values() if entry.may_be_outage} == {AtFault.SOURCE, AtFault.FILE}
    at_service = {word for word, entry in ENTRIES.items() if entry.heals is Heals.AT_SERVICE}
    assert at_service == {Verdict.UNREGISTERED, Verdict.LOCAL_SEAL}


@pytest.mark.parametrize("reason", ["http_422", "a_future_slug", ""])
def test_a_reason_without_an_entry_gets_the_general_remedy(reason: str) -> None:
    """HTTP statuses are reasons too, and there are many."""
    assert about(reason).at_fault is AtFault.SERVICE
    assert about(reason).remedy.startswith("verify again")
