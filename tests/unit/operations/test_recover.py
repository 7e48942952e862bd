"""Lost sidecars come back byte for byte, and no file is ever overwritten."""

import base64
import os
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import pytest

from proofsweep.domain.errors import SourceError
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import FileFacts, Row, WorkItem, utf8_text
from proofsweep.files.files import Files
from proofsweep.operations.operation import Operator
from proofsweep.operations.recover import proven_items, recover_sidecars
from proofsweep.store.listings import Listing
from proofsweep.store.parts import Results

from ...worlds.ended_runs import answered, end_leg, plan_of_run
from ..scripted_service import Scripted, ScriptedService

SEALED = b"the sealed bytes \x00\xff"
PLAN = plan_of_run("20261120T010000Z_000aa", items=8)


class Music:
    """Pairs that were accepted, whose audio lies in a folder."""

    def __init__(self, operator: Operator, folder: Path) -> None:
        self.operator, self.folder = operator, folder
        folder.mkdir()

    def pairs(self, *names: str, **facts: object) -> None:
        """Names of one catalog are files of its folder `disc 1`, by their last part."""
        rows = []
        listing = Listing()
        for number, name in enumerate(names):
            audio = self.folder / name
            audio.parent.mkdir(exist_ok=True)
            audio.write_bytes(b"audio")
            listing.add(WorkItem(manifest_row=number, item_id="i", audio=str(audio), sidecar=f"{audio}.sidecar"))
            located = {"audio": str(audio), "sidecar": f"{audio}.sidecar", "relative_path": f"disc 1/{audio.name}"}
            located = {column: utf8_text(text) for column, text in located.items()}
            facts = {"audio_bytes": 5, "sidecar_sha256": sha256(SEALED).hexdigest()} | facts
            rows.append(answered(PLAN, number, utf8_text(name), proof_id=f"p-{number}", **located, **facts))
        listing.write(self.operator.results, PLAN.run_id, "items")
        end_leg(self.operator.results, PLAN, rows)

    @property
    def rows(self) -> Sequence[Row]:
        results = self.operator.results
        found: list[Row] = results.table("recoveries", results.all_parts("recoveries")).to_pylist()
        return found


@pytest.fixture
def music(operator: Operator, service: ScriptedService, tmp_path: Path) -> Music:
    document: dict[str, object] = {"song": "s", "sidecar": base64.b64encode(SEALED).decode()}
    service.usual[Call.PROOF] = Scripted(document=document)
    return Music(operator, tmp_path / "music")


def test_a_sidecar_comes_back_beside_audio_whose_name_is_not_utf_8(music: Music) -> None:
    """The tables hold the name as text; the folder may be named, and is not UTF-8 either."""
    name = os.fsdecode(b"sch\xf6n/a\xff.wav")
    music.pairs(name)

    assert recover_sidecars(music.operator, str((music.folder / name).parent)).counts == {"recovered": 1}
    assert Path(f"{music.folder / name}.sidecar").read_bytes() == SEALED
    assert music.rows[0]["recovered_to"] == f"{music.folder}/sch\\xf6n/a\\xff.wav.sidecar"


@pytest.mark.parametrize("audio", [None, b"another file of that name"])
def test_where_the_audio_is_gone_nothing_is_written(
    music: Music, service: ScriptedService, tmp_path: Path, audio: bytes | None
) -> None:
    """The next file of its name would be taken for the other half of a pair. A place of its own is no such place.

    A sidecar that is there costs no call.
    """
    music.pairs("a.wav")
    (music.folder / "cover.jpg").touch()
    (music.folder / "a.wav").unlink() if audio is None else (music.folder / "a.wav").write_bytes(audio)

    assert (recover_sidecars(music.operator).counts, service.calls) == ({"absent": 1}, [])
    done = [recover_sidecars(music.operator, to=str(tmp_path / "to")).counts for _ in range(2)]

    assert (done, service.calls) == ([{"recovered": 1}, {"present": 1}], [Call.PROOF])
    assert (tmp_path / "to/disc 1/a.wav.sidecar").read_bytes() == SEALED


def test_of_two_sidecars_with_one_place_the_second_is_not_said_to_be_there(
    music: Music, service: ScriptedService, tmp_path: Path
) -> None:
    """Files of two catalogs may have one name in them."""
    music.pairs("a/x.wav", "b/x.wav")
    other = Scripted(document={"sidecar": base64.b64encode(b"of the other").decode()})
    place = tmp_path / "to/disc 1/x.wav.sidecar"
    place.parent.mkdir(parents=True)
    place.write_bytes(b"of the other")
    service.script[Call.PROOF] = [other]

    done = recover_sidecars(music.operator, to=str(tmp_path / "to"))

    assert done.counts == {"recovered": 1, "failed": 1}  # its own bytes are no other file
    assert {row["detail"] for row in music.rows} == {None, f"Another file is at {place}; it was left as it is."}
    assert place.read_bytes() == b"of the other"


def test_no_sidecar_is_put_beside_other_audio(music: Music, service: ScriptedService, tmp_path: Path) -> None:
    """It would make a pair of a file that never had a sidecar."""
    music.pairs("a.wav")
    beside = tmp_path / "accepted/disc 1/a.wav"
    beside.parent.mkdir(parents=True)
    beside.write_bytes(b"audio of another release")

    done = [recover_sidecars(music.operator, to=str(tmp_path / "accepted")).counts]
    calls = len(service.calls)
    beside.write_bytes(b"audio")
    done.append(recover_sidecars(music.operator, to=str(tmp_path / "accepted")).counts)

    assert (done, calls) == ([{"absent": 1}, {"recovered": 1}], 0)


def test_a_place_that_cannot_be_written_is_told(music: Music, tmp_path: Path) -> None:
    music.pairs("a.wav")
    (tmp_path / "to").write_text("a file, and no folder")

    assert recover_sidecars(music.operator, to=str(tmp_path / "to/in")).counts == {"failed": 1}
    assert music.rows[0]["recovered_to"] is None


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Scripted(status=404), "gone"),
        (Scripted(status=418), "failed"),
        (Scripted(document={"song": "s"}), "failed"),
        *(
            (Scripted(document={"sidecar": odd}), "failed")
            for odd in ("", "no base64!", "data:x;base64,AAAA", {"no": "text"})
        ),
    ],
)
def test_without_sealed_bytes_nothing_is_written(
    music: Music, service: ScriptedService, answer: Scripted, outcome: str
) -> None:
    service.usual[Call.PROOF] = answer
    music.pairs("a.wav")

    recover_sidecars(music.operator)

    (row,) = music.rows
    assert (row["outcome"], row["recovered_to"], row["detail"] is None) == (outcome, None, False)
    assert [path.name for path in music.folder.iterdir()] == ["a.wav"]


def test_only_items_with_a_proof_are_given(results: Results) -> None:
    """Pairs, also rejected ones; of one folder if one is named."""
    rows = [
        answered(PLAN, 0, "pair", proof_id="p0", audio="/m/a.wav", sidecar="/m/a.sidecar"),
        answered(PLAN, 1, "bad", "rejected", proof_id="p1", audio="/n/b.wav", sidecar="/n/b.sidecar"),
        answered(PLAN, 2, "one", proof_id="p2", audio="/m/c.wav"),
        answered(PLAN, 3, "none", "rejected", audio="/m/d.wav", sidecar="/m/d.sidecar"),
        *(
            answered(PLAN, 5 + each, f"odd {each}", "rejected", proof_id="." * each, sidecar="/m/s")
            for each in range(3)
        ),
        answered(PLAN, 4, "by proof", proof_id="p4", audio="proof:p4"),
    ]
    end_leg(results, PLAN, rows)

    def found(below: str = "") -> list[str]:
        return [item.item_id for item in proven_items(results, "beta", below)]

    assert found() == ["pair", "bad"]
    assert [found(below) for below in ("/m", "/m/a.wav", "/m/a")] == [["pair"], ["pair"], []]


@pytest.mark.parametrize("way", ["an error", "empty"])
def test_a_folder_that_is_away_is_no_place_without_sidecars(
    music: Music, service: ScriptedService, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Nobody knows whether a sidecar is there: nothing is asked for, and a line names the folder and how many."""
    music.pairs("a/x.wav", "b/y.wav")
    (music.folder / "a/x.wav").unlink()
    if way == "an error":

        def fail(files: Files, location: str) -> FileFacts | None:
            if "/a/" in location:
                raise SourceError("Stale file handle.", reason="source_unavailable")
            return facts(files, location)

        facts = Files.facts
        monkeypatch.setattr(Files, "facts", fail)

    done = recover_sidecars(music.operator)

    assert (done.counts, service.calls) == ({"away": 1, "recovered": 1}, [Call.PROOF])
    assert done.line.splitlines()[1].startswith(f"{music.folder}/a is away: it is empty")
    assert done.line.endswith("Sidecars: 1.")
