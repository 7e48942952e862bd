"""What a catalog holds is counted by its listing; what cannot be sent is named."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import count, islice
from pathlib import Path

import pytest

from proofsweep.config.sections import CatalogSettings
from proofsweep.domain.errors import CatalogError, ConfigError
from proofsweep.domain.items import WorkItem
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.sources.catalog import Catalog
from proofsweep.sources.files import Files
from proofsweep.sources.open_catalog import open_catalog
from proofsweep.verify.survey import (
    CredentialCheck,
    Survey,
    ending_of,
    ignored_entries,
    refuse_hopeless,
    survey_catalog,
    unsent_rows,
)

WAV = b"RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x08\0\0\0" + bytes(8)
FLAC = b"fLaC" + bytes(60)


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """A WAV, a FLAC that is named a WAV, a pair, an empty file, and what is no audio."""
    contents = {"a.wav": WAV, "b.WAV": FLAC, "c.mp3": b"ID3" + bytes(400), "c.mp3.sidecar": b"proof", "d.aiff": b""}
    for name, content in (contents | {"notes.txt": b"x", "e.sidecar": b"x"}).items():
        (tmp_path / name).write_bytes(content)
    return open_catalog(str(tmp_path), CatalogSettings(sidecar_names=("{name}.sidecar",)))


def test_a_catalog_is_counted_by_its_listing(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is opened: the FLAC passes for what its name says."""
    monkeypatch.setattr("proofsweep.verify.survey.SLOT_BYTES", 100)

    survey = survey_catalog(catalog, "sidecar")

    assert (survey.items, survey.eligible, survey.pairs, survey.reasons) == (4, 3, 1, {"empty": 1})
    assert survey.formats == {"wav": 2, "mp3": 1, "aiff": 1}
    assert (survey.audio_bytes, survey.largest_bytes, survey.over_slot) == (len(WAV) + 64 + 403, 403, 1)


def test_a_survey_that_leaves_out_wavs_without_a_credential_opens_no_pair(catalog: Catalog, tmp_path: Path) -> None:
    """What else is wrong with a file, the run finds out; only the WAV without a credential is ineligible."""
    (tmp_path / "f.wav").write_bytes(WAV + b"more than the header says")

    survey = survey_catalog(catalog, "sidecar", CredentialCheck(Files()))

    assert (survey.eligible, survey.reasons) == (3, {"empty": 1, "no_credential": 1})
    assert survey.formats == {"wav": 3, "mp3": 1, "aiff": 1}


def test_what_gave_no_item_is_counted_by_its_cause(catalog: Catalog) -> None:
    """Causes that did not occur are left out."""
    survey_catalog(catalog, "sidecar")

    assert ignored_entries(catalog) == {"not_audio": 1, "orphan_sidecars": 1}


def test_pairs_are_not_sent_while_the_sidecars_wire_name_is_unknown(catalog: Catalog) -> None:
    """A service ignores a field that it does not know, and would verify the audio alone; the others can be sent."""
    survey = survey_catalog(catalog, None)

    refuse_hopeless(survey, catalog)
    assert (survey.items, survey.eligible, survey.pairs) == (4, 2, 0)
    assert survey.reasons == {"sidecar_field_unknown": 1, "empty": 1}


def test_a_catalog_of_nothing_but_such_pairs_is_refused(catalog: Catalog) -> None:
    """There is nothing to do before the partner was asked."""
    survey = Survey(items=2)
    survey.reasons["sidecar_field_unknown"] = 2

    with pytest.raises(ConfigError, match=r"nothing but legacy pairs \(2\).*service\.sidecar_field"):
        refuse_hopeless(survey, catalog)


def test_audio_with_an_ambiguous_sidecar_is_counted_and_the_first_are_named(tmp_path: Path) -> None:
    """A person sees which sidecars to name better."""
    for number in range(5):
        for ending in ("wav", "mp3", "sidecar"):
            (tmp_path / f"{number}.{ending}").write_bytes(WAV)

    survey = survey_catalog(open_catalog(str(tmp_path), CatalogSettings(sidecar_names=("{stem}.sidecar",))), "sidecar")

    assert (survey.eligible, survey.reasons) == (0, {"ambiguous_sidecar": 10})
    assert survey.ambiguous == [
        str(tmp_path / f"{number}.{ending}") for number in range(3) for ending in ("mp3", "wav")
    ]


def test_a_catalog_that_leads_out_of_its_root_row_by_row_is_refused(tmp_path: Path) -> None:
    """The line says what to give; a single row outside is only counted."""
    (tmp_path / "drop").mkdir()
    (tmp_path / "a.wav").write_bytes(WAV)
    manifest = tmp_path / "drop" / "m.csv"
    manifest.write_text(f"audio\n{tmp_path}/a.wav\n../a.wav\n")
    catalog = open_catalog(str(manifest))
    mixed = survey_catalog(catalog, "sidecar")
    mixed.note(WorkItem(manifest_row=2, item_id="c", audio="/c.wav"))

    with pytest.raises(CatalogError, match=r"every row \(2\) leads outside .*/drop/: .*--root.*--allow-outside"):
        refuse_hopeless(survey_catalog(catalog, "sidecar"), catalog)
    refuse_hopeless(mixed, catalog)

    assert mixed.reasons == {"outside_catalog": 2}


def test_every_row_that_will_not_be_sent_is_named(tmp_path: Path) -> None:
    """With its line, its file as seen from the root, why, and what to do; rows that are sent are left out."""
    lists = tmp_path / "lists"
    lists.mkdir()
    (tmp_path / "a.wav").write_bytes(WAV)
    (lists / "m.csv").write_text("audio,id\n../a.wav,1\n../x/gone.wav,2\n,3\n/etc/passwd,4\n")

    rows = list(unsent_rows(open_catalog(str(lists / "m.csv"), CatalogSettings(root=str(tmp_path))), "sidecar"))

    assert [(row.where, row.file, row.reason) for row in rows] == [
        ("m.csv, line 3", "x/gone.wav", "missing_audio"),
        ("m.csv, line 4", "", "missing_audio"),
        ("m.csv, line 5", "/etc/passwd", "outside_catalog"),
    ]
    assert rows[0].detail == "There is no audio at this location."
    assert rows[0].what_to_do == "have the file delivered, or correct its name in the manifest or message"


def test_the_list_names_what_the_check_leaves_out(catalog: Catalog) -> None:
    """Rows of a folder have no line."""
    asked = [(row.where, row.file) for row in unsent_rows(catalog, "sidecar")]
    checked = [(row.where, row.file) for row in unsent_rows(catalog, "sidecar", CredentialCheck(Files()))]

    assert (asked, checked) == ([("", "d.aiff")], [("", "a.wav"), ("", "d.aiff")])


@pytest.mark.parametrize(
    ("audio", "named"),
    [
        ("/m/a.WAV", "wav"),
        ("s3://b/x.y/a", "no ending"),
        ("/m/a.b.Mp3", "mp3"),
        ("/m/a.\udcff", "\\xff"),
        ("", "no ending"),
        ("/m/disc 2.wav/", "folder"),
    ],
)
def test_files_are_counted_by_their_names_ending(audio: str, named: str) -> None:
    """In lower case, printable, and never by a folder's name."""
    assert ending_of(WorkItem(manifest_row=0, item_id="a", audio=audio)) == named


def test_rows_of_which_something_is_declared_are_counted(tmp_path: Path) -> None:
    """Those that will be sent: another size than the declared one is seen at once."""
    for name in ("a.wav", "b.wav", "c.wav"):
        (tmp_path / name).write_bytes(WAV)
    (tmp_path / "MD5SUMS").write_text(f"{'0' * 32}  a.wav\n{'1' * 32}  b.wav\n")

    survey = survey_catalog(open_catalog(str(tmp_path)), "sidecar")

    assert (survey.items, survey.eligible, survey.declared) == (3, 3, 2)


BARE = b"RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x08\0\0\0" + bytes(8)
SIGNED = BARE[:4] + b"\x36\0\0\0" + BARE[8:] + b"C2PA\2\0\0\0ok"
CHECK = CredentialCheck(Files())

ItemOf = Callable[[bytes], WorkItem]


@pytest.fixture
def item_of(tmp_path: Path) -> ItemOf:
    """Makes an item of a new file without a sidecar."""
    numbers = count()

    def item_of(content: bytes) -> WorkItem:
        path = tmp_path / f"{next(numbers)}.wav"
        path.write_bytes(content)
        return WorkItem(manifest_row=0, item_id=path.name, audio=str(path))

    return item_of


def reasons(items: Iterable[WorkItem]) -> list[Reason | None]:
    """Return why each item is not sent."""
    return [item.ineligible.reason if item.ineligible else None for item in items]


def test_only_a_wav_without_a_credential_is_left_out(item_of: ItemOf) -> None:
    """A file that carries one is asked, and so is one that may carry one; the sentence names the option."""
    judged = list(CHECK.judged([item_of(BARE), item_of(SIGNED), item_of(BARE + b"more"), item_of(b"fLaC")]))

    assert reasons(judged) == [Reason.NO_CREDENTIAL, None, None, None]
    assert "--skip-without-credential" in judged[0].ineligible.detail  # type: ignore[union-attr]  # it has one


def test_a_file_of_another_version_than_was_listed_is_asked(item_of: ItemOf) -> None:
    """It may still be written, and its credential comes last."""
    assert reasons(CHECK.judged([replace(item_of(BARE), audio_version="as it was listed")])) == [None]


def test_a_file_that_cannot_be_opened_is_left_to_the_run(item_of: ItemOf) -> None:
    """It may be readable when its turn comes."""
    item = item_of(BARE)
    Path(item.audio).unlink()

    assert list(CHECK.judged([item])) == [item]


def test_pairs_and_what_is_ineligible_already_are_not_opened(item_of: ItemOf) -> None:
    """The sidecar is the credential of a pair."""
    pair = replace(item_of(BARE), sidecar="/nowhere/a.sidecar")
    empty = replace(item_of(BARE), ineligible=Ineligible(Reason.EMPTY, "It holds no bytes."))

    assert list(CHECK.judged([pair, empty])) == [pair, empty]


def test_a_look_goes_only_a_little_ahead(item_of: ItemOf) -> None:
    """A catalog of a million files is never in memory, and the order stays."""
    drawn: list[str] = []

    def endless() -> Iterator[WorkItem]:
        item = item_of(BARE)
        for number in count():
            drawn.append(str(number))
            yield replace(item, item_id=str(number))

    looked = [item.item_id for item in islice(CHECK.judged(endless()), 50)]

    assert looked == [str(number) for number in range(50)]
    assert len(drawn) < 100
