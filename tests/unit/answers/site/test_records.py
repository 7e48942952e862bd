"""A record shows one item: how it stands, its history, and the words that find it."""

import json

import pytest

from proofsweep.audit.redact import redact
from proofsweep.store.plans_and_parts import Results

from ..views.nights import ACCEPTED, FAILED, MONDAY, REJECTED, TUESDAY, WEDNESDAY, night
from .read_site import NOW, LookUps, words_of

TAGS = json.dumps({"ISRC": "US-RC1-76-07839", "Titel": "Sömmer Love", "year": 1976})


def test_a_record_shows_how_a_file_stands_and_how_it_came(results: Results, look_ups: LookUps) -> None:
    """The history has the nights in which its answer changed, and the last one."""
    cells = {"tags": TAGS, "proof_id": "p-1", "song": "s-1"}
    for run_id, outcome in ((MONDAY, ACCEPTED), (TUESDAY, ACCEPTED), (WEDNESDAY, REJECTED)):
        night(results, run_id, {"a.wav": outcome | cells | {"verify_request_id": f"v-{run_id}"}})

    look_ups.update()

    record = look_ups.records["a.wav"]
    assert (record["state"], record["why"], record["proof_id"]) == ("rejected", "tampered", "p-1")
    assert record["what_to_do"].startswith("reject")
    assert record["tags"] == json.loads(TAGS)
    assert [entry[0] for entry in record["history"]] == [MONDAY, WEDNESDAY]
    assert record["history"][-1][2:] == ["rejected", "tampered", None, f"v-{WEDNESDAY}"]


@pytest.mark.parametrize("word", ["usrc17607839", "07839", "sommer", "love", "1976", "wav", "track", "track07"])
def test_a_file_is_found_by_its_codes_and_by_each_word(results: Results, look_ups: LookUps, word: str) -> None:
    """Without regard to case, accents and the separators of a code."""
    night(results, MONDAY, {"Track 07.wav": ACCEPTED | {"tags": TAGS}})

    look_ups.update()

    assert [files for each, files, _ in words_of(look_ups.site, look_ups.state.levels) if each == word] == [1]


def test_a_file_that_was_redacted_is_in_no_record_any_more(results: Results, look_ups: LookUps) -> None:
    """A record that says nothing hides the older one."""
    night(results, MONDAY, {"a": ACCEPTED, "b": ACCEPTED}, is_noted=True)
    look_ups.update()
    redact(results, "b", lambda: NOW)

    found = look_ups.update()

    assert (found.files, found.changed) == (1, 1)
    assert set(look_ups.records) == {"a"}


@pytest.mark.parametrize("tags", ['{"a": "' + "x" * 10_000 + '"}', '{"a": {"b": [1]}, "c": null}', "[]", None])
def test_odd_tags_harm_nothing(results: Results, look_ups: LookUps, tags: str | None) -> None:
    """A record stays small, and the file is found by its name."""
    night(results, MONDAY, {"a.wav": FAILED | {"tags": tags, "relative_path": "x" * 9_000 + "/a.wav"}})

    look_ups.update()

    ((name, record),) = look_ups.records.items()
    assert name.endswith("x/a.wav")
    assert record["state"] == "failed"
    assert len(json.dumps(record)) < 10_000


def test_a_file_that_no_listing_has_is_not_called_outdated(results: Results, look_ups: LookUps) -> None:
    """As one that an ingest pass took: there is no other version to compare its answer with."""
    night(results, MONDAY, {"a": ACCEPTED}, catalog_kind="ingest")

    look_ups.update()

    assert look_ups.records["a"]["is_current"] is True
