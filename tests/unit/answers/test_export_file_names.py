"""A file is named after a value that somebody else wrote."""

import pytest

from proofsweep.answers.export import file_name_of


def test_a_plain_value_is_the_name() -> None:
    """People look for their suppliers by name, in the letters of every script."""
    for name in ("Nordlicht-2.x", "Süd", "日本の音", "हिन्दी"):
        assert file_name_of(name) == name


@pytest.mark.parametrize(
    "value",
    [
        "",
        "..",
        "../../etc/passwd",
        "a b",
        "a/b",
        "u\u0308",
        ".hidden",
        "x" * 300,
        "音" * 90,
        "a\nb",
        "a\u202eb",
        "\udcff",
    ],
)
def test_any_other_value_gets_a_digest(value: str) -> None:
    """No value leads out of the folder, hides a file, or has the name of another value."""
    name = file_name_of(value)

    assert name == file_name_of(value)
    assert name[-9] == "-"
    assert "/" not in name
    assert not name.startswith(".")
    assert len(name.encode()) < 130


def test_values_that_look_alike_have_different_names() -> None:
    """Letters that are replaced by the same one."""
    assert file_name_of("a b") != file_name_of("a/b")
