"""A catalog is counted by its listing; a run is planned of its rows, or of those that are due."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import count, islice
from pathlib import Path

import pytest

from proofsweep.config.sections import CatalogSettings, ServiceSettings
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import CatalogError, RunMustStop
from proofsweep.domain.items import FileFacts, ManifestRow, WorkItem, item_id_of
from proofsweep.domain.reasons import Reason
from proofsweep.sources.catalog import Catalog
from proofsweep.sources.open_catalog import open_catalog
from proofsweep.sources.selection import ALL_ROWS, Selection
from proofsweep.store import layout
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results, table_of
from proofsweep.verify.plan import DueRows, Planner

from ...worlds.ended_runs import answered, end_leg, plan_of_run
from ..scripted_service import NOW
from ..wired import WAV

FLAC = b"fLaC" + bytes(60)
SIGNED = WAV[:4] + b"\x36\0\0\0" + WAV[8:] + b"C2PA\2\0\0\0ok"


class OrderedStore(FolderStore):
    created: tuple[str, ...] = ()

    def create(self, name: str, content: bytes) -> None:
        self.created += (name,)
        super().create(name, content)


@pytest.fixture
def store(tmp_path: Path) -> OrderedStore:
    return OrderedStore(tmp_path / "results")


@pytest.fixture
def planner(store: OrderedStore) -> Planner:
    service = ServiceSettings(base_url="https://partner.example/v1", environment="beta", sidecar_field="sidecar")
    return Planner(results=Results(store), service=service, catalogs=CatalogSettings(), clock=lambda: NOW)


@pytest.fixture
def skipping(planner: Planner) -> Planner:
    """A planner that leaves out WAVs without a credential."""
    return replace(planner, catalogs=CatalogSettings(skip_without_credential=True))


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

    survey = planner.survey(catalog)

    assert (survey.items, survey.eligible, survey.pairs, survey.reasons) == (4, 3, 1, {"empty": 1})
    assert survey.audio_bytes == len(WAV) + 64 + 403


def test_rows_that_may_cost_no_call_are_counted(planner: Planner, tmp_path: Path) -> None:
    """A copy has the size and the first bytes of another row; where each row is verified by itself, there is none."""
    others = {"c_wav": WAV[:-1] + b"c", "d_wav": SIGNED, "e_wav_sidecar": b"proof"}
    catalog = folder_of(tmp_path, a_wav=WAV, b_wav=WAV, e_wav=WAV, f_wav=WAV, **others)
    apart = replace(planner, catalogs=CatalogSettings(dedupe=False))

    assert [each.survey(catalog).may_be_free for each in (planner, apart)] == [2, 0]


def test_a_catalog_that_leads_out_of_its_root_row_by_row_is_refused(planner: Planner, tmp_path: Path) -> None:
    """The line says what to give; rows outside beside one inside are only counted."""
    (tmp_path / "drop").mkdir()
    (tmp_path / "a.wav").write_bytes(WAV)
    (tmp_path / "drop" / "b.wav").write_bytes(WAV)
    manifest = tmp_path / "drop" / "m.csv"
    manifest.write_text(f"audio\n{tmp_path}/a.wav\n../a.wav\n")

    with pytest.raises(CatalogError, match=r"every row \(2\) leads outside .*/drop/: .*catalog\.root.*anywhere"):
        planner.survey(open_catalog(str(manifest)))
    manifest.write_text(f"audio\n{tmp_path}/a.wav\n../a.wav\nb.wav\n")

    assert planner.survey(open_catalog(str(manifest))).reasons == {"outside_catalog": 2}


def test_audio_beside_the_files_of_a_list_that_no_list_names_is_told(planner: Planner, tmp_path: Path) -> None:
    """In the folder that holds all of them and below; what a person excludes, or another catalog lists, is none."""
    for name in ("A/1.wav", "A/2.wav", "A/B/3.flac", "A/notes.txt", "A/old [1].wav", "C/4.wav"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(WAV)
    (tmp_path / "m.csv").write_text("audio\na/1.WAV\nA/gone.wav\n")
    (tmp_path / "other.csv").write_text("audio\nA/2.wav\n")
    catalog = open_catalog(str(tmp_path / "m.csv"), CatalogSettings(exclude=("old [1].wav",)))
    planner.survey(catalog)

    alone = [row.file for row in planner.not_in_list(catalog)]
    planner.plan(open_catalog(str(tmp_path / "other.csv")), ALL_ROWS, lambda: None)

    assert alone == ["A/2.wav", "A/B/3.flac"]
    assert [row.file for row in planner.not_in_list(catalog)] == ["A/B/3.flac"]


def reasons(items: Iterable[WorkItem]) -> list[Reason | None]:
    return [item.ineligible.reason if item.ineligible else None for item in items]


def test_only_a_wav_without_a_credential_is_left_out(skipping: Planner, tmp_path: Path) -> None:
    """A file that carries one is asked, and so is one that may carry one; the sentence names the option.

    A file of another version than was listed may still be written, and its credential comes last. The look also finds
    what is no WAV.
    """
    catalog = folder_of(tmp_path, a_wav=WAV, b_wav=SIGNED, c_wav=WAV + b"more", d_wav=b"fLaC")
    changed = replace(next(iter(catalog.rows())), audio_facts=FileFacts(len(WAV), "as it was listed"))

    items = list(skipping.items(catalog))

    assert reasons(skipping.judged(catalog, [changed])) == [None]
    assert reasons(items) == [Reason.NO_CREDENTIAL, None, None, Reason.UNLISTED_FORMAT]
    assert "catalog.skip_without_credential" in items[0].ineligible.detail  # type: ignore[union-attr]  # it has one


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4d" * 32 + b"\nsize 3145780\n"
ANNEXED = b"/annex/objects/SHA256E-s3145780--" + b"4d" * 32 + b".mp3\n"


def test_what_a_look_shows_costs_no_call_in_the_forecast(planner: Planner, tmp_path: Path) -> None:
    """By the content, whatever the name says; a WAV by its name is looked into when it is sent."""
    names = {"a_flac": FLAC, "b_mp3": b"ID3" + bytes(64), "c_mp3": WAV, "d_wav": b"ID3" + bytes(64), "e_wav": POINTER}
    pairs = {"f_flac": FLAC, "f_flac_sidecar": b"p", "g_mp3": b"ID3" + bytes(64), "g_mp3_sidecar": b"p"}
    pairs |= {"h_wav": WAV, "h_wav_sidecar": POINTER, "i_mp3": ANNEXED, "i_mp3_sidecar": ANNEXED}
    catalog = folder_of(tmp_path, **names, **pairs)

    items = list(planner.items(catalog))

    unlisted, stand_in = Reason.UNLISTED_FORMAT, Reason.STAND_IN
    assert reasons(items) == [unlisted, Reason.NOT_WAV, None, None, stand_in, unlisted, None, stand_in, stand_in]
    assert planner.survey(catalog).eligible == 3
    assert [item.audio_format for item in items[:2]] == ["flac", "mp3"]


def test_damage_is_not_taken_for_a_format(planner: Planner, tmp_path: Path) -> None:
    """Content that is not recognised is compared with its declared digest first, when its turn comes."""
    catalog = folder_of(tmp_path, a_mp3=b"broken", a_mp3_md5=b"0" * 32)

    assert reasons(planner.items(catalog)) == [None]


def test_a_look_goes_only_a_little_ahead(skipping: Planner, tmp_path: Path) -> None:
    """A catalog of a million files is never in memory, and the order stays."""
    catalog, drawn = folder_of(tmp_path, a_wav=WAV), list[int]()
    (row,) = catalog.rows()

    def endless() -> Iterator[ManifestRow]:
        for number in count():
            drawn.append(number)
            yield replace(row, number=number)

    looked = [item.manifest_row for item in islice(skipping.judged(catalog, endless()), 50)]

    assert looked == list(range(50))
    assert len(drawn) < 100


def test_every_row_is_planned_once_and_in_order_and_the_plan_is_written_last(
    planner: Planner, store: OrderedStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In objects of so many; what cannot be sent is planned with its reason.

    A planning that breaks off leaves nothing that anybody takes for a run.
    """
    monkeypatch.setattr("proofsweep.domain.runs.BATCH_ITEMS", 1_000)
    (tmp_path / "a.wav").write_bytes(b"audio")
    cells = ["" if number % 1_000 == 0 else "a.wav" for number in range(2_345)]
    lines = ["audio,id", *(f"{audio},n{number}" for number, audio in enumerate(cells))]
    (tmp_path / "m.csv").write_text("\n".join(lines))

    plan = planner.plan(
        open_catalog(str(tmp_path / "m.csv"), CatalogSettings(columns={"id": "id"})), ALL_ROWS, lambda: None
    )

    batches = [list(planner.results.items(plan, batch)) for batch in plan.batches]
    assert [len(batch) for batch in batches] == [1_000, 1_000, 345]
    planned = (*(layout.items_name(plan.run_id, number) for number in range(3)), layout.plan_name(plan.run_id))
    assert store.created[:4] == planned  # an index of all runs follows
    items = list(planner.results.items(plan))
    assert [(item.manifest_row, item.item_id) for item in items] == [(row, f"n{row}") for row in range(2_345)]
    assert [item.manifest_row for item in items if item.ineligible] == [0, 1_000, 2_000]


def test_what_stops_a_run_before_it_begins_says_how_many_rows_wait(
    planner: Planner, store: OrderedStore, tmp_path: Path
) -> None:
    """No run says it, and no call has a request ID. The same error may stop the next one."""
    away = RunMustStop("It does not answer.", ended_by=EndedBy.BREAKER)

    def refuse() -> None:
        raise away

    with pytest.raises(RunMustStop) as stopped:
        planner.plan(folder_of(tmp_path, a_wav=WAV, b_wav=WAV), ALL_ROWS, refuse)

    assert stopped.value.message == "It does not answer. No run has begun; 2 rows waiting."
    assert (away.message, stopped.value.ended_by, store.created) == ("It does not answer.", EndedBy.BREAKER, ())


def answered_days_ago(planner: Planner, folder: Path, **days: float) -> Catalog:
    """Leave a run of four files behind, some of which were answered so long ago."""
    catalog = folder_of(folder, a_wav=WAV, b_wav=WAV, c_wav=WAV, d_wav=WAV)
    plan = plan_of_run("20261120T010000Z_000aa", items=4)
    answers = [
        answered(
            *(plan, row.number, item_id_of(row, catalog.name)),
            audio_version=row.audio_version,
            finished_at=NOW - timedelta(days=days[name]),
        )
        for row in catalog.rows()
        if (name := Path(row.named_audio).stem) in days
    ]
    end_leg(planner.results, plan, answers)
    return catalog


def test_the_rows_that_were_tried_longest_ago_come_first(planner: Planner, tmp_path: Path) -> None:
    """A file takes two calls, and three are kept to begin. Those that never were tried come first; the others wait."""
    catalog = answered_days_ago(planner, tmp_path, a=40, b=10, d=20)
    due, one = (DueRows(catalog, Selection(oldest_first=True), planner, max_calls=calls) for calls in (9, 1))

    found = [(row.number, row.named_audio) for row in due.rows()]
    due.listing.write(planner.results, "run")

    listed = table_of(planner.results.store.read(layout.items_name("run", 0, "listed")) or b"")
    assert (found, due.skipped) == ([(0, "c.wav"), (1, "a.wav"), (2, "d.wav")], 1)
    assert listed["item_id"].to_pylist() == [item_id_of(row, catalog.name) for row in catalog.rows()]
    assert [row.named_audio for row in one.rows()] == ["c.wav"]


def test_a_proof_is_unchanged_since_its_answer_and_takes_three_calls(planner: Planner, tmp_path: Path) -> None:
    """The service keeps what it was. An ID that names another proof now is due."""
    manifest = tmp_path / "proofs.csv"
    manifest.write_text("proof_id,id\n" + "".join(f"p-{row},{row}\n" for row in range(5)))
    catalog = open_catalog(str(manifest), CatalogSettings())
    plan = plan_of_run("20261120T010000Z_000aa", items=5)
    answers = []
    for row, days in ((0, 40), (1, 10), (2, 20)):
        answers.append(answered(plan, row, str(row), audio=f"proof:p-{row}", finished_at=NOW - timedelta(days=days)))
    answers.append(answered(plan, 3, "3", audio="proof:another"))
    end_leg(planner.results, plan, answers)

    def due(selection: Selection, max_calls: int | None = None) -> list[str | None]:
        rows = DueRows(catalog, selection, planner, max_calls=max_calls)
        return [row.item_id for row in rows.rows()]

    assert due(Selection(since_last=True)) == ["3", "4"]
    assert due(Selection(max_age="30d")) == ["0", "3", "4"]
    assert due(Selection(oldest_first=True), 14) == ["3", "4", "0"]
    assert due(Selection(oldest_first=True), 1) == ["3"]


def test_an_answer_from_the_future_is_of_unknown_age(planner: Planner, tmp_path: Path) -> None:
    """A clock was ahead: the file is due by age, but it has its answer."""
    catalog = answered_days_ago(planner, tmp_path, a=40, b=-1_000, d=20)
    selections = Selection(max_age="30d"), Selection(since_last=True)

    due = [[row.named_audio for row in DueRows(catalog, each, planner).rows()] for each in selections]

    assert due == [["a.wav", "b.wav", "c.wav"], ["c.wav"]]
