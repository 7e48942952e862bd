"""Few listings meet many keys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofsweep.catalog.object_lookup import Prefixes


def chosen(folders: list[str], most: int) -> list[str]:
    """Choose prefixes for the folders of some keys."""
    prefixes = Prefixes(most)
    for folder in folders:
        prefixes.add(folder)
    return prefixes.chosen()


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        ([], []),
        (["a"], ["a"]),
        (["a", "a/b", "a/b/c", "a-b"], ["a", "a-b"]),
        (["a/b", "a/c", "d"], ["a/b", "a/c", "d"]),
        (["", "a/b"], [""]),
        (["a/1", "a/2", "a/3", "a/4"], ["a"]),
        (["a/1/x", "a/1/y", "a/2/x", "b/1/x"], ["a/1", "a/2", "b/1"]),
        (["a", "b", "c", "d"], [""]),
    ],
)
def test_folders_are_listed_by_themselves_until_there_are_too_many(folders: list[str], expected: list[str]) -> None:
    """Then those above them are, and at last the bucket; never one within another."""
    assert chosen(folders, most=3) == expected


@given(st.lists(st.lists(st.sampled_from("ab-"), max_size=4).map("/".join), max_size=30))
def test_every_folder_lies_in_exactly_one_prefix(folders: list[str]) -> None:
    """Whatever the order in which they come."""
    prefixes = chosen(folders, most=4)

    assert len(prefixes) <= 4
    for folder in folders:
        assert sum(not prefix or f"{folder}/".startswith(f"{prefix}/") for prefix in prefixes) == 1
