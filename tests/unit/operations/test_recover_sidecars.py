"""Lost sidecars come back byte for byte, and no file is ever overwritten."""

import base64
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from proofsweep.client.client import Partner
from proofsweep.domain.errors import NameTaken, RunMustStop
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import Row
from proofsweep.operations.operation import CallBudget, OperationLog, OutageGuard
from proofsweep.operations.recover import ProvenItem, SidecarRecovery
from proofsweep.sources.files import Files
from proofsweep.store.objects import FolderStore
from proofsweep.store.operations import OperationJournals, Operations
from proofsweep.store.parts import Results

from ..ended_operations import operation_named
from ..scripted_service import NOW, Scripted, ScriptedService

OPERATION = operation_named("20261121T120000Z_000aa", "recovery")
SEALED = b"the sealed bytes \x00\xff"
ANSWER = Scripted(document={"song": "s", "sidecar": base64.b64encode(SEALED).decode()})


class Recovery:
    """A folder of sidecars, and the recovery of one of them."""

    def __init__(self, partner: Partner, folder: Path) -> None:
        """Begin with an empty folder of music and an empty store."""
        self.results = Results(FolderStore(folder / "results"))
        self.log = OperationLog(OPERATION, Operations(self.results), lambda: NOW)
        self.journals = OperationJournals(FolderStore(folder / "recovering"), "recoveries")
        self.partner = partner
        self.music = folder / "music"
        self.music.mkdir()
        (self.music / "a.wav").write_bytes(b"audio")
        self.watched: str | None = None
        self.sidecar = self.music / "a.wav.sidecar"

    def item(self, accepted_bytes: bytes = SEALED, *, accepted: bool = True, has_sidecar: bool = True) -> ProvenItem:
        """Make the item, whose sidecar was accepted with these bytes."""
        return ProvenItem(
            proof_id="p",
            item_id="item",
            audio=str(self.music / "a.wav"),
            sidecar=str(self.sidecar) if has_sidecar else None,
            sidecar_sha256=sha256(accepted_bytes).hexdigest() if has_sidecar else None,
            relative_path="disc 1/a.wav",
            accepted=accepted,
            audio_bytes=5,
            current_audio=str(self.music / "a.wav"),
            current_sidecar=str(self.sidecar) if has_sidecar else None,
        )

    def run(
        self, *items: ProvenItem, prefix: str | None = None, compares_all: bool = False, most_calls: int | None = None
    ) -> Sequence[Row]:
        """Recover, and give the rows."""
        SidecarRecovery(
            partner=self.partner,
            log=self.log,
            journals=self.journals,
            budget=CallBudget(self.log, most_calls),
            outage=OutageGuard(self.partner, 3),
            files=Files(),
            is_watched=lambda location: self.watched is not None and location.startswith(self.watched),
            clock=lambda: NOW,
            prefix=prefix,
            most_bytes=1_000,
            compares_all=compares_all,
        ).run(items or [self.item()])
        return self.rows

    @property
    def rows(self) -> Sequence[Row]:
        """The rows of the table."""
        found: list[Row] = self.results.table("recoveries", self.results.all_parts("recoveries")).to_pylist()
        return found


@pytest.fixture
def recovery(partner: Partner, service: ScriptedService, tmp_path: Path) -> Recovery:
    """A service that has the sealed sidecar."""
    service.usual[Call.PROOF] = ANSWER
    return Recovery(partner, tmp_path)


def test_a_sidecar_that_another_process_writes_meanwhile_is_the_same(
    recovery: Recovery, service: ScriptedService
) -> None:
    """It was missing when it was read first, and the sealed one when the service had answered."""
    service.on_call = lambda _call: recovery.sidecar.write_bytes(SEALED)

    (row,) = recovery.run()

    assert (row["outcome"], row["recovered_to"]) == ("same", None)
    assert sorted(path.name for path in recovery.music.iterdir()) == ["a.wav", "a.wav.sidecar"]


def test_an_intact_sidecar_costs_no_call(recovery: Recovery, service: ScriptedService) -> None:
    """Unless all are compared: then it is told that it is the sealed one."""
    recovery.sidecar.write_bytes(SEALED)
    assert (recovery.run(), service.calls) == ([], [])

    (row,) = recovery.run(compares_all=True)

    assert (row["outcome"], row["recovered_to"]) == ("same", None)


@pytest.mark.parametrize("damaged", [b"", b"damaged", b"x" * 2_000])
def test_a_damaged_sidecar_stays_and_the_sealed_one_is_put_beside_it(recovery: Recovery, damaged: bytes) -> None:
    """Its name is no sidecar's name, so no scan pairs it; a second time it is not written again."""
    recovery.sidecar.write_bytes(damaged)

    first = recovery.run()
    both = recovery.run()

    beside = recovery.music / "a.wav.sidecar.recovered"
    assert [(row["outcome"], row["recovered_to"]) for row in both] == [("differs", str(beside)), ("differs", None)]
    assert (first[0]["recovered_to"], beside.read_bytes()) == (str(beside), SEALED)
    assert recovery.sidecar.read_bytes() == damaged


def test_a_rejected_pair_is_compared(recovery: Recovery) -> None:
    """What was sent may be what is damaged."""
    recovery.sidecar.write_bytes(b"as sent")

    (row,) = recovery.run(recovery.item(b"as sent", accepted=False))

    assert (row["outcome"], row["local_sha256"]) == ("differs", sha256(b"as sent").hexdigest())


@pytest.mark.parametrize("audio", [None, b"another file of that name"])
def test_where_the_audio_is_gone_nothing_is_written(
    recovery: Recovery, service: ScriptedService, tmp_path: Path, audio: bytes | None
) -> None:
    """The next file of its name would be taken for the other half of a pair; a place of its own is none of these."""
    (recovery.music / "a.wav").unlink() if audio is None else (recovery.music / "a.wav").write_bytes(audio)

    assert (recovery.run(), service.calls, recovery.sidecar.exists()) == ([], [], False)
    assert len(recovery.run(prefix=str(tmp_path / "to"))) == 1


def test_nothing_is_written_into_a_watched_folder(recovery: Recovery, service: ScriptedService) -> None:
    """What appears there is taken for a delivery."""
    recovery.watched = str(recovery.music)

    assert (recovery.run(), service.calls, recovery.sidecar.exists()) == ([], [], False)


def test_a_place_of_their_own_keeps_the_folders(recovery: Recovery, tmp_path: Path) -> None:
    """As the catalog names the audio; a one-file item's sidecar is named after it."""
    one_file = recovery.item(has_sidecar=False)

    recovery.run(recovery.item(), prefix=str(tmp_path / "to"))
    rows = recovery.run(one_file, prefix=str(tmp_path / "other"))

    assert (tmp_path / "to/disc 1/a.wav.sidecar").read_bytes() == SEALED
    assert rows[1]["recovered_to"] == str(tmp_path / "other/disc 1/a.wav.sidecar")
    assert not recovery.sidecar.exists()


def test_a_name_that_is_taken_is_told_from_the_sealed_sidecar_itself(recovery: Recovery, tmp_path: Path) -> None:
    """What an earlier recovery has put there is the sealed one; anything else has the name for itself."""
    first = recovery.run(prefix=str(tmp_path / "to"))[0]
    again = recovery.run(prefix=str(tmp_path / "to"))[1]
    Path(str(first["recovered_to"])).write_bytes(b"another file")
    taken = recovery.run(prefix=str(tmp_path / "to"))[2]

    assert (again["outcome"], again["recovered_to"]) == ("same", None)
    assert (taken["outcome"], taken["recovered_to"]) == ("exists", None)
    assert Path(str(first["recovered_to"])).read_bytes() == b"another file"


def test_what_is_about_to_be_written_is_in_the_journal(recovery: Recovery, monkeypatch: pytest.MonkeyPatch) -> None:
    """So a process that is killed in that moment leaves no file without a row."""
    journalled: list[Row] = []

    def create(store: FolderStore, name: str, content: bytes) -> None:
        if not name.endswith(".sidecar"):
            usual(store, name, content)
            return
        journalled.extend(recovery.journals.read(OPERATION.operation_id))
        (recovery.music / name).write_bytes(b"appears in that moment")
        raise NameTaken(name)

    usual = FolderStore.create
    monkeypatch.setattr(FolderStore, "create", create)
    (row,) = recovery.run()

    (intended,) = journalled
    assert (intended["outcome"], intended["recovered_to"]) == ("recovered", str(recovery.sidecar))
    assert (row["outcome"], recovery.sidecar.read_bytes()) == ("exists", b"appears in that moment")
    assert recovery.journals.open() == []


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Scripted(status=404), "gone"),
        (Scripted(status=418), "failed"),
        (Scripted(document={"song": "s"}), "failed"),
        (Scripted(document={"sidecar": ""}), "failed"),
        (Scripted(document={"sidecar": "no base64!"}), "failed"),
        (Scripted(document={"sidecar": "data:x;base64,AAAA"}), "failed"),
        (Scripted(document={"sidecar": {"no": "text"}}), "failed"),
    ],
)
def test_without_sealed_bytes_nothing_is_written(
    recovery: Recovery, service: ScriptedService, answer: Scripted, outcome: str
) -> None:
    """The row says why."""
    service.usual[Call.PROOF] = answer

    (row,) = recovery.run()

    assert (row["outcome"], row["recovered_to"], row["detail"] is None) == (outcome, None, False)
    assert [path.name for path in recovery.music.iterdir()] == ["a.wav"]


def test_a_place_that_cannot_be_written_is_told(recovery: Recovery, tmp_path: Path) -> None:
    """The others go on."""
    (tmp_path / "to").write_text("a file, and no folder")

    (row,) = recovery.run(prefix=str(tmp_path / "to"))

    assert (row["outcome"], row["recovered_to"]) == ("failed", None)


def test_the_calls_are_never_more_than_given(recovery: Recovery, service: ScriptedService) -> None:
    """What was asked for has its row."""
    with pytest.raises(RunMustStop):
        recovery.run(
            *(replace(recovery.item(), current_sidecar=f"{recovery.sidecar}-{each}") for each in range(9)), most_calls=4
        )

    assert (len(service.calls), len(recovery.rows)) == (4, 4)
