"""Levels: shards that stay small, and words that find what they should."""

import pytest

from proofsweep.answers.site.levels import MOST_FOUND, Level, script_of, shard_of, slices_of, small_ones
from proofsweep.store.plans_and_parts import Results

from ..views.nights import ACCEPTED, MONDAY, night
from .read_site import LookUps, words_of


def level(name: str, records: int) -> Level:
    """Make a level of so many records."""
    return Level(name=name, records=records, bits=0, words=(), state=())


@pytest.mark.parametrize(
    ("records", "chosen"),
    [
        pytest.param([1_000_000, 5, 5, 5], [], id="few levels stay"),
        pytest.param([1_000_000, 5, 5, 5, 5], [5, 5, 5, 5], id="the large one is not written again"),
        pytest.param([100, 5, 6, 7, 300], [5, 6, 7], id="nor one that is much larger"),
        pytest.param([20, 5, 6, 7, 8], [5, 6, 7, 8, 20], id="all, if they are alike"),
    ],
)
def test_small_levels_become_one_when_they_are_many(records: list[int], chosen: list[int]) -> None:
    """So a night costs as much as what it has changed, and a browser looks into a few levels."""
    levels = [level(str(number), count) for number, count in enumerate(records)]

    assert [each.records for each in small_ones(levels)] == chosen


def test_no_shard_is_large_and_none_is_missing(results: Results, look_ups: LookUps) -> None:
    """A browser may load each of them; together they have all records and all words."""
    night(results, MONDAY, {f"release {row // 12}/{'x' * 450}/track {row:04}.wav": ACCEPTED for row in range(59)})

    look_ups.update()

    (only,) = look_ups.state.levels
    sizes = look_ups.site.sizes(only.folder)
    found = {word: files for word, files, _ in words_of(look_ups.site, [only])}
    assert only.bits > 0
    assert max(sizes.values()) < 100_000
    assert len(look_ups.records) == 59
    assert (found["wav"], found["0058"], found["release"]) == (59, 1, 59)


def test_a_word_of_very_many_files_has_their_number_alone(
    results: Results, look_ups: LookUps, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody reads so long a list; with another word it is found."""
    monkeypatch.setattr("proofsweep.answers.site.levels.MOST_FOUND", 3)
    night(results, MONDAY, {f"track {row}": ACCEPTED for row in range(4)})

    look_ups.update()

    found = {word: (files, ids) for word, files, ids in words_of(look_ups.site, look_ups.state.levels)}
    assert found["track"] == (4, "")
    assert found["1"][0] == 1
    assert MOST_FOUND > 3


def test_many_records_are_made_in_turn(results: Results, look_ups: LookUps, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of their IDs, so that memory does not grow with the catalog."""
    monkeypatch.setattr("proofsweep.answers.site.levels._AT_ONCE", 10)
    night(results, MONDAY, {f"track {row}": ACCEPTED for row in range(40)})

    look_ups.update()

    assert len(look_ups.state.levels[0].state) == len(slices_of(40)) == 16
    assert len(look_ups.records) == 40


@pytest.mark.parametrize(("bits", "shard"), [(0, 0), (1, 1), (4, 15), (16, 0xFEDC)])
def test_the_shard_of_a_record_is_the_beginning_of_its_id(bits: int, shard: int) -> None:
    """The browser works it out in the same way."""
    assert shard_of("fedcba98765432", bits) == shard


def test_no_text_can_end_a_script() -> None:
    """Wherever the script stands, and whatever reads its lines."""
    assert script_of('f("</script>&\u2028\u2029")') == b'f("\\u003c/script\\u003e\\u0026\\u2028\\u2029");\n'
