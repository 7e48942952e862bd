"""What a catalog holds is counted by its listing; what cannot be sent is named."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count, islice
from pathlib import Path

import pytest

from proofsweep.config.sections import CatalogSettings, ServiceSettings
from proofsweep.domain.errors import CatalogError
from proofsweep.domain.items import FileFacts, ManifestRow, WorkItem
from proofsweep.domain.reasons import Reason
from proofsweep.sources.catalog import Catalog
from proofsweep.sources.open_catalog import open_catalog
from proofsweep.store.parts import Results
from proofsweep.verify.plan import Planner

from ..scripted_service import NOW
from ..wired import WAV

FLAC = b"fLaC" + bytes(60)
SIGNED = WAV[:4] + b"\x36\0\0\0" + WAV[8:] + b"C2PA\2\0\0\0ok"


@pytest.fixture
def planner(results: Results) -> Planner:
    """A planner that leaves out WAVs without a credential."""
    service = ServiceSettings(base_url="https://partner.example/v1", environment="beta", sidecar_field="sidecar")
    catalogs = CatalogSettings(skip_without_credential=True)
    return Planner(results=results, service=service, catalogs=catalogs, clock=lambda: NOW)


def folder_of(folder: Path, **contents: bytes) -> Catalog:
    """Write files into a folder of their own, and open it as a catalog."""
    (folder / "music").mkdir()
    for name, content in contents.items():
        (folder / "music" / name.replace("_", ".")).write_bytes(content)
    return open_catalog(str(folder / "music"), CatalogSettings(sidecar_names=("{name}.sidecar",)))


def test_a_catalog_is_counted_by_its_listing(planner: Planner, tmp_path: Path) -> None:
    """Nothing is opened: the FLAC passes for what its name says. What is no audio is no item."""
    contents = {"a_wav": WAV, "b_WAV": FLAC, "c_mp3": b"ID3" + bytes(400), "c_mp3_sidecar": b"proof", "d_aiff": b""}
    catalog = folder_of(tmp_path, **contents, notes_txt=b"x", e_sidecar=b"x")

    survey = replace(planner, catalogs=CatalogSettings()).survey(catalog)

    assert (survey.items, survey.eligible, survey.pairs, survey.reasons) == (4, 3, 1, {"empty": 1})
    assert survey.audio_bytes == len(WAV) + 64 + 403


def test_a_catalog_that_leads_out_of_its_root_row_by_row_is_refused(planner: Planner, tmp_path: Path) -> None:
    """The line says what to give; rows outside beside one inside are only counted."""
    (tmp_path / "drop").mkdir()
    (tmp_path / "a.wav").write_bytes(WAV)
    (tmp_path / "drop" / "b.wav").write_bytes(SIGNED)
    manifest = tmp_path / "drop" / "m.csv"
    manifest.write_text(f"audio\n{tmp_path}/a.wav\n../a.wav\n")

    with pytest.raises(CatalogError, match=r"every row \(2\) leads outside .*/drop/: .*catalog\.root.*anywhere"):
        planner.survey(open_catalog(str(manifest)))
    manifest.write_text(f"audio\n{tmp_path}/a.wav\n../a.wav\nb.wav\n")

    assert planner.survey(open_catalog(str(manifest))).reasons == {"outside_catalog": 2}


def reasons(items: Iterable[WorkItem]) -> list[Reason | None]:
    return [item.ineligible.reason if item.ineligible else None for item in items]


def test_only_a_wav_without_a_credential_is_left_out(planner: Planner, tmp_path: Path) -> None:
    """A file that carries one is asked, and so is one that may carry one; the sentence names the option.

    A file of another version than was listed may still be written, and its credential comes last.
    """
    catalog = folder_of(tmp_path, a_wav=WAV, b_wav=SIGNED, c_wav=WAV + b"more", d_wav=b"fLaC")
    changed = replace(next(iter(catalog.rows())), audio_facts=FileFacts(len(WAV), "as it was listed"))

    items = list(planner.items(catalog))

    assert reasons(planner.items(catalog, [changed])) == [None]
    assert reasons(items) == [Reason.NO_CREDENTIAL, None, None, None]
    assert "catalog.skip_without_credential" in items[0].ineligible.detail  # type: ignore[union-attr]  # it has one


def test_a_look_goes_only_a_little_ahead(planner: Planner, tmp_path: Path) -> None:
    """A catalog of a million files is never in memory, and the order stays."""
    catalog, drawn = folder_of(tmp_path, a_wav=WAV), list[int]()
    (row,) = catalog.rows()

    def endless() -> Iterator[ManifestRow]:
        for number in count():
            drawn.append(number)
            yield replace(row, number=number)

    looked = [item.manifest_row for item in islice(planner.items(catalog, endless()), 50)]

    assert looked == list(range(50))
    assert len(drawn) < 100
