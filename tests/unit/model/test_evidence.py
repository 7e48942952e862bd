"""What is in an evidence file is said in words."""

import pytest

from proofsweep.model.evidence import Contents, Wanted


@pytest.mark.parametrize(
    ("run_id", "tags", "words"),
    [
        (
            None,
            {"release": "X", "side": "A"},
            "the newest answer of each file with release=X, side=A, environment beta",
        ),
        ("r1", {}, "the rows of run r1, environment beta"),
    ],
)
def test_what_is_wanted_is_one_line(run_id: str | None, tags: dict[str, str], words: str) -> None:
    """Of a run, or of all."""
    assert Wanted(environment="beta", run_id=run_id, tags=tags).words == words


def test_redacted_rows_count() -> None:
    """They are rows."""
    contents = Contents(
        wanted=Wanted(environment="beta", run_id=None, tags={}), outcomes={"redacted": 1, "accepted": 1_000}
    )

    assert (contents.rows, contents.counts) == (1_001, "1,000 accepted, 1 redacted")
