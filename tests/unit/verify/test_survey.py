"""What a catalog holds is counted by its listing; what cannot be sent is named."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import count, islice
from pathlib import Path

import pytest

from proofsweep.config.sections import CatalogSettings
from proofsweep.domain.errors import CatalogError
from proofsweep.domain.items import WorkItem
from proofsweep.domain.reasons import Reason
from proofsweep.sources.catalog import Catalog
from proofsweep.sources.files import Files
from proofsweep.sources.open_catalog import open_catalog
from proofsweep.verify.survey import CredentialCheck, refuse_hopeless, survey_catalog

WAV = b"RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x08\0\0\0" + bytes(8)
FLAC = b"fLaC" + bytes(60)
SIGNED = WAV[:4] + b"\x36\0\0\0" + WAV[8:] + b"C2PA\2\0\0\0ok"
CHECK = CredentialCheck(Files())
ItemOf = Callable[[bytes], WorkItem]


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """A WAV, a FLAC that is named a WAV, a pair, an empty file, and what is no audio."""
    contents = {"a.wav": WAV, "b.WAV": FLAC, "c.mp3": b"ID3" + bytes(400), "c.mp3.sidecar": b"proof", "d.aiff": b""}
    for name, content in (contents | {"notes.txt": b"x", "e.sidecar": b"x"}).items():
        (tmp_path / name).write_bytes(content)
    return open_catalog(str(tmp_path), CatalogSettings(sidecar_names=("{name}.sidecar",)))


def test_a_catalog_is_counted_by_its_listing(catalog: Catalog) -> None:
    """Nothing is opened: the FLAC passes for what its name says."""
    survey = survey_catalog(catalog, "sidecar")

    assert (survey.items, survey.eligible, survey.pairs, survey.reasons) == (4, 3, 1, {"empty": 1})
    assert survey.audio_bytes == len(WAV) + 64 + 403


def test_a_catalog_that_leads_out_of_its_root_row_by_row_is_refused(tmp_path: Path) -> None:
    """The line says what to give; a single row outside is only counted."""
    (tmp_path / "drop").mkdir()
    (tmp_path / "a.wav").write_bytes(WAV)
    manifest = tmp_path / "drop" / "m.csv"
    manifest.write_text(f"audio\n{tmp_path}/a.wav\n../a.wav\n")
    catalog = open_catalog(str(manifest))
    mixed = survey_catalog(catalog, "sidecar")
    mixed.note(WorkItem(manifest_row=2, item_id="c", audio="/c.wav"))

    with pytest.raises(CatalogError, match=r"every row \(2\) leads outside .*/drop/: .*catalog\.root.*anywhere"):
        refuse_hopeless(survey_catalog(catalog, "sidecar"), catalog)
    refuse_hopeless(mixed, catalog)

    assert mixed.reasons == {"outside_catalog": 2}


@pytest.fixture
def item_of(tmp_path: Path) -> ItemOf:
    numbers = count()

    def item_of(content: bytes) -> WorkItem:
        path = tmp_path / f"{next(numbers)}.wav"
        path.write_bytes(content)
        return WorkItem(manifest_row=0, item_id=path.name, audio=str(path))

    return item_of


def reasons(items: Iterable[WorkItem]) -> list[Reason | None]:
    return [item.ineligible.reason if item.ineligible else None for item in items]


def test_only_a_wav_without_a_credential_is_left_out(item_of: ItemOf) -> None:
    """A file that carries one is asked, and so is one that may carry one; the sentence names the option."""
    judged = list(CHECK.judged([item_of(WAV), item_of(SIGNED), item_of(WAV + b"more"), item_of(b"fLaC")]))

    assert reasons(judged) == [Reason.NO_CREDENTIAL, None, None, None]
    assert "catalog.skip_without_credential" in judged[0].ineligible.detail  # type: ignore[union-attr]  # it has one


def test_a_file_of_another_version_than_was_listed_is_asked(item_of: ItemOf) -> None:
    """It may still be written, and its credential comes last."""
    assert reasons(CHECK.judged([replace(item_of(WAV), audio_version="as it was listed")])) == [None]


def test_a_look_goes_only_a_little_ahead(item_of: ItemOf) -> None:
    """A catalog of a million files is never in memory, and the order stays."""
    drawn: list[str] = []

    def endless() -> Iterator[WorkItem]:
        item = item_of(WAV)
        for number in count():
            drawn.append(str(number))
            yield replace(item, item_id=str(number))

    looked = [item.item_id for item in islice(CHECK.judged(endless()), 50)]

    assert looked == [str(number) for number in range(50)]
    assert len(drawn) < 100
