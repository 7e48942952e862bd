"""The same recording with other audio in two releases is reported."""

import json

from proofsweep.answers.views.connection import opened
from proofsweep.model.tables.columns import Row
from proofsweep.store.plans_and_parts import Results

from .nights import ACCEPTED, MONDAY, night


def tagged(audio: str, **tags: str) -> Row:
    """Return an accepted file with these bytes and tags."""
    return ACCEPTED | {"audio_sha256": audio, "tags": json.dumps(tags)}


def test_an_isrc_with_other_audio_in_two_releases_is_a_conflict(results: Results) -> None:
    """Spelling is no difference; another format, the same bytes, one release or no release are none either."""
    night(
        results,
        MONDAY,
        {
            "a.flac": tagged("1", isrc="QZES71982312", release="111"),
            "a.mp3": tagged("2", isrc="QZES71982312", release="111"),
            "b.flac": tagged("3", ISRC="qz-es7-19-82312", release="222"),
            "c.flac": tagged("1", isrc="QZES71982312", release="333"),
            "d.flac": tagged("4", isrc="QZES71982312"),
            "e.flac": tagged("5", isrc="QZES71982399", release="222"),
            "f.flac": tagged("6", title="Ocean", release="222"),
        },
    )

    with opened(results) as store:
        query = (
            "SELECT same_isrc, first_release, first_file, second_release, second_file FROM isrc_conflicts ORDER BY ALL"
        )
        found = store.connection.execute(query).fetchall()

    assert found == [
        ("QZES71982312", "111", "a.flac", "222", "b.flac"),
        ("QZES71982312", "222", "b.flac", "333", "c.flac"),
    ]
