"""Which rows a run is of, as the options of a command or a schedule say."""

from datetime import UTC, datetime, timedelta

import pytest

from proofsweep.config.sections import CatalogSettings
from proofsweep.domain.errors import UsageError
from proofsweep.sources.selection import ANY_AGE, Selection

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def test_an_age_says_which_answers_leave_out_their_rows() -> None:
    """By default none does."""
    assert Selection().answered_since(NOW) is None
    assert Selection(max_age="30d").answered_since(NOW) == NOW - timedelta(days=30)
    assert Selection(since_last=True).answered_since(NOW) == ANY_AGE


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (Selection(since_last=True, max_age="30d"), "not both"),
        (Selection(oldest_first=True), "needs --max-calls"),
        (Selection(max_age="a month"), "time span"),
        (Selection(max_age=""), "time span"),
        (Selection(newer_than="soon"), "neither an age nor a date"),
        (Selection(newer_than=""), "neither an age nor a date"),
        (
            Selection(only=("failed", "tamperd")),
            r"'tamperd' is none of these \(did you mean tampered\?\): accepted, rejected",
        ),
        (Selection(only=("",)), "is none of these"),
    ],
)
def test_options_that_contradict_each_other_are_refused(selection: Selection, message: str) -> None:
    """Before anything is read."""
    with pytest.raises(UsageError, match=message):
        selection.refuse_contradictions(None)


@pytest.mark.parametrize(
    ("newer_than", "since"),
    [
        ("2d", NOW - timedelta(days=2)),
        ("1h30m", NOW - timedelta(minutes=90)),
        ("2026-11-21T06:00+01:00", datetime(2026, 11, 21, 5, tzinfo=UTC)),
        ("2026-11-21 06:00Z", datetime(2026, 11, 21, 6, tzinfo=UTC)),
        ("2026-11-21", datetime.fromisoformat("2026-11-21").astimezone()),
    ],
)
def test_files_are_new_by_an_age_or_a_date(newer_than: str, since: datetime) -> None:
    """Without a zone, a date is one of this machine."""
    assert Selection(newer_than=newer_than).modified_since(NOW) == since
    assert Selection().modified_since(NOW) is None


def test_conditions_leave_out_rows_whatever_is_known_of_them() -> None:
    """So such a run is of a part of its catalog."""
    both = Selection(where="a = 'b'", newer_than="2d", max_age="1d")
    whole = [Selection(), Selection(catalog=CatalogSettings(root="/", outside="allow"), skip_without_credential=True)]
    parts = [
        Selection(only=("failed",)),
        Selection(where="true"),
        Selection(newer_than="1d"),
        Selection(since_last=True),
        Selection(max_age="1d"),
    ]

    assert both.conditions == "--where \"a = 'b'\" --newer-than 2d"
    assert Selection(max_age="1d", catalog=CatalogSettings(root="/")).conditions == ""
    assert [each.is_of_all_rows for each in [*whole, *parts]] == [True, True, *[False] * 5]


def test_a_selection_is_written_as_its_options() -> None:
    """Runs with the same text have chosen their rows alike; a shell would read it so."""
    written = {
        Selection(): "",
        Selection(oldest_first=True, max_age="30d"): "--oldest-first --max-age 30d",
        Selection(catalog=CatalogSettings(root="/music", outside="allow")): "--allow-outside --root /music",
        Selection(skip_without_credential=True, where="true"): "--skip-without-credential --where true",
        Selection(only=("timeout", "failed")): "--only timeout --only failed",
        Selection(max_age="1d", where="a = 'b'"): "--max-age 1d --where \"a = 'b'\"",
        Selection(where='"Release Date" > 1'): "--where '\"Release Date\" > 1'",
        Selection(catalog=CatalogSettings(root="/my music")): '--root "/my music"',
        Selection(catalog=CatalogSettings(root="/$a's")): "--root '/$a'\\''s'",
    }

    assert {selection: selection.text for selection in written} == written


def test_what_is_said_of_a_catalog_goes_before_its_settings_and_is_part_of_the_selection() -> None:
    """Role by role and list by list; a run that was planned so goes on only with the same options."""
    said = CatalogSettings(
        columns={"id": "none"},
        path_map=(r"D:\Musik=/mnt/musik",),
        encoding="windows-1252",
        supplier_from=2,
        checksums=("/SUMS", "column:md5"),
    )
    usual = CatalogSettings(
        columns={"audio": "Datei", "id": "Nr"},
        path_map=("/old=/new", r"D:\Musik=/mnt/musik"),
        outside="allow",
        supplier_from=1,
        checksums=("/usual", "/SUMS"),
    )
    selection = Selection(catalog=said)

    settings = selection.settings_over(usual)

    assert settings.columns == {"audio": "Datei", "id": "none"}
    assert settings.path_map == (r"D:\Musik=/mnt/musik", "/old=/new")
    assert (settings.encoding, settings.supplier_from, settings.outside) == ("cp1252", 2, "allow")
    assert settings.checksums == ("/SUMS", "column:md5:md5", "/usual")
    assert Selection().settings_over(usual) == usual
    assert selection.text == (
        r"--column id=none --path-map 'D:\Musik=/mnt/musik' --encoding cp1252 --supplier-from 2 "
        "--checksums /SUMS --checksums column:md5:md5"
    )
