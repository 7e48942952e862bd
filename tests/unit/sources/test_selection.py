"""Which rows a run is of, as the options say: by their answers, by a condition, and by the age of their files."""

import json
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.domain.errors import UsageError
from proofsweep.sources.open_catalog import open_catalog
from proofsweep.sources.row_choice import RowChoice
from proofsweep.sources.selection import ANY_AGE, Selection

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (Selection(since_last=True, max_age="30d"), "not both"),
        (Selection(oldest_first=True), "needs --max-calls"),
        (Selection(max_age="a month"), "time span"),
        (Selection(newer_than="soon"), "neither an age nor a date"),
    ],
)
def test_options_that_contradict_each_other_are_refused(selection: Selection, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        selection.refuse_contradictions(None)


@pytest.mark.parametrize(
    ("newer_than", "since"),
    [
        ("2d", NOW - timedelta(days=2)),
        ("1h30m", NOW - timedelta(minutes=90)),
        ("2026-11-21T06:00+01:00", datetime(2026, 11, 21, 5, tzinfo=UTC)),
        ("2026-11-21", datetime.fromisoformat("2026-11-21").astimezone()),
    ],
)
def test_files_are_new_and_answers_old_by_an_age_or_a_date(newer_than: str, since: datetime) -> None:
    """Without a zone, a date is one of this machine."""
    assert Selection(newer_than=newer_than).modified_since(NOW) == since
    assert (Selection().modified_since(NOW), Selection().answered_since(NOW)) == (None, None)
    assert Selection(max_age="30d").answered_since(NOW) == NOW - timedelta(days=30)
    assert Selection(since_last=True).answered_since(NOW) == ANY_AGE


def test_a_selection_is_written_as_its_options() -> None:
    """Runs with the same text have chosen their rows alike; a shell would read it so."""
    written = [
        (Selection(), ""),
        (Selection(only=("timeout", "failed")), "--only timeout --only failed"),
        (Selection(max_age="1d", where="a = 'b'"), "--max-age 1d --where \"a = 'b'\""),
        (Selection(where='"Release Date" > 1'), "--where '\"Release Date\" > 1'"),
        (Selection(where="$a = 's'"), "--where '$a = '\\''s'\\'''"),
    ]

    assert [selection.text for selection, _ in written] == [text for _, text in written]


DAY = 86_400
NEWEST = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def music(tmp_path: Path) -> Path:
    """A manifest of four files, of which one is not there, with what a supplier may write in it."""
    for number, name in enumerate(("a.wav", "b.wav", "large.wav")):
        (tmp_path / name).write_bytes(b"RIFF" * (1 if number < 2 else 100))
        modified = NEWEST.timestamp() + (number - 1) * DAY
        os.utime(tmp_path / name, (modified, modified))
    lines = (
        "audio,id,supplier,Release Date,plays,size",
        "a.wav,A,acme,2025-01-01,7,S",
        "b.wav,B,Zeta's,2026-01-01,many,L",
        "large.wav,C,acme,,12,",
        "gone.wav,,,,,",
    )
    (tmp_path / "music.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def chosen(location: Path, where: str | None = None, newer_than: datetime | None = None) -> list[str]:
    catalog = open_catalog(str(location))
    choice = RowChoice(where, newer_than, catalog_name=catalog.name, tag_names=catalog.tag_names)
    judged = list(choice.judged(catalog.rows()))
    assert [row for row, _ in judged] == list(catalog.rows())
    return [row.named_audio for row, is_chosen in judged if is_chosen]


@pytest.mark.parametrize(
    ("where", "names"),
    [
        ("SUPPLIER = 'Zeta''s'", ["b.wav"]),
        ("supplier IS NULL", ["gone.wav"]),
        ("id IN ('A', 'C') AND NOT audio LIKE '%large%'", ["a.wav"]),
        ("\"release date\" >= '2025-06-01'", ["b.wav"]),
        ("TRY_CAST(plays AS INTEGER) > 10", ["large.wav"]),
        ("size = 'L'", ["b.wav"]),
        ("name = 'b.wav' AND folder = ''", ["b.wav"]),
        ("modified >= '2026-11-20' AND modified < TIMESTAMP '2026-11-21'", ["b.wav"]),
        ("year(modified) = 2026 -- a remark", ["a.wav", "b.wav", "large.wav"]),
    ],
)
def test_a_condition_chooses_rows_by_their_columns(music: Path, where: str, names: list[str]) -> None:
    """Tags are text, in any case; an unknown result leaves a row out; the manifest's own column goes before a fact."""
    assert chosen(music / "music.csv", where) == names


def test_a_folder_has_what_is_known_of_its_files(music: Path) -> None:
    (music / "new").mkdir()
    (music / "new" / "c.wav").write_bytes(b"RIFF")

    assert chosen(music, "size > 100") == ["large.wav"]
    assert chosen(music, "folder = 'new' OR name = 'a.wav'") == ["a.wav", "new/c.wav"]
    assert chosen(music, "sidecar IS NOT NULL") == []


def test_only_files_that_were_modified_since_are_chosen(music: Path) -> None:
    """One of which the time is not known is not; both conditions hold together."""
    before_b = datetime.fromtimestamp(NEWEST.timestamp() - 1, UTC)

    assert chosen(music / "music.csv", newer_than=NEWEST) == ["large.wav"]
    assert chosen(music / "music.csv", newer_than=before_b) == ["b.wav", "large.wav"]
    assert chosen(music / "music.csv", "supplier = 'acme'", before_b) == ["large.wav"]


def test_two_spellings_are_one_column(tmp_path: Path) -> None:
    """JSON lines need not agree in case. A tag goes before a fact of the file, also in other letters."""
    lines = ({"audio": "a.wav", "Supplier": "acme", "Name": "x"}, {"audio": "b.wav", "supplier": "acme"})
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))

    assert chosen(tmp_path / "a.jsonl", "SUPPLIER = 'acme'") == ["a.wav", "b.wav"]
    assert chosen(tmp_path / "a.jsonl", "name = 'x'") == ["a.wav"]


@pytest.mark.parametrize(
    ("where", "names"),
    [
        ("label = 'acme'", "abcd"),
        ("label <> 'Acme'", "e"),
        ("label IN ('ACME', 'acme')", "abcd"),
        ("label = 'ACME' AND label <> 'x'", "abcd"),
        ("label LIKE 'Ac%'", "a"),
        ("label = 'acme' AND \"it's\" = 'y'", "a"),
        ("label = 'it''s '", "e"),
        ("name = 'A.wav'", ""),
    ],
)
def test_a_value_is_met_however_it_is_spelled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], where: str, names: str
) -> None:
    """As where files are grouped by a tag; names of files are compared as they are."""
    labels = {"a": "Acme", "b": "ACME", "c": "acme\u00a0", "d": "\u200facme", "e": "It's"}
    lines = [f"{name}.wav,{label},{'y' if name == 'a' else ''}" for name, label in labels.items()]
    (tmp_path / "list.csv").write_text("\n".join(["audio,label,it's", *lines]), "utf-8")

    assert "".join(chosen(tmp_path / "list.csv", where)).replace(".wav", "") == names

    said = capsys.readouterr().err
    assert said.count("\n") == said.count("--where compares names however they are spelled") <= 1
    if where == "label = 'acme'":
        assert "label 'Acme' counts as 'acme' (1 row), label 'ACME' counts as 'acme' (1 row)" in said


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("suplier = 'acme'", 'suplier" not found.* The columns are: audio, sidecar, .*id, supplier, Release'),
        ("supplier =", "syntax error"),
        (" ", "Error"),
        ("supplier", "true or false"),
        ("plays > 10", "an explicit cast is required|Could not convert"),
        ("CAST(plays AS INTEGER) > 10", "Could not convert string 'many'"),
        ("count(*) > 1", "cannot contain aggregates"),
    ],
)
def test_what_is_no_condition_is_refused_in_one_line(music: Path, where: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        chosen(music / "music.csv", where)

    assert "\n" not in raised.value.message
    assert "The columns are: audio, sidecar, name" in raised.value.message


# Each is more than a condition on one row.
HOSTILE = [
    "length(read_text('/etc/passwd')) > 0",
    "id IN (SELECT content FROM read_text('/etc/passwd'))",
    "true) FROM read_text('/etc/passwd') WHERE (true",
    "true) FROM rows LIMIT 1; COPY (SELECT 1) TO '/tmp/x",
    "true); ATTACH '/tmp/x.db' AS x; SELECT (true",
    "getenv('HOME') = 'x'",
    "id = ?",
    "list_sum(range(100000000000)) > 0",
    "(" * 20_000 + "true" + ")" * 20_000,
    "row_number() OVER () = 1",
    "(SELECT count(*) FROM glob('/*')) > 1",
    "size > avg(size) OVER ()",
    "EXISTS (SELECT 1 FROM duckdb_secrets())",
    "EXISTS (FROM 'https://example.com/x.csv')",
    "id IN (SELECT name FROM duckdb_settings()) OR set_config('x', 'y')",
]


@pytest.mark.parametrize("where", HOSTILE)
def test_a_hostile_condition_is_refused(music: Path, where: str) -> None:
    """It reads no file, runs no other statement, and ends soon."""
    began = time.monotonic()

    with pytest.raises(UsageError, match="--where"):
        chosen(music / "music.csv", where)

    assert time.monotonic() - began < 10
