"""Lost sidecars come back byte for byte, and no file is ever overwritten."""

import base64
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from proofsweep.config.threads import some_at_once
from proofsweep.domain.errors import RunMustStop, UsageError
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import Row
from proofsweep.domain.operations import OperationKind
from proofsweep.operations.operation import CALLS_AT_ONCE, Operator
from proofsweep.operations.recover import ProvenItem, SidecarRecovery, lies_in, proven_items, recover_sidecars
from proofsweep.sources.preflight import SIDECAR_BYTES
from proofsweep.store import layout
from proofsweep.store.lease import Lease, sole_process
from proofsweep.store.parts import Results

from ...worlds.ended_runs import answered, end_leg, plan_of_run
from ..scripted_service import Scripted, ScriptedService

SEALED = b"the sealed bytes \x00\xff"
ANSWER = Scripted(document={"song": "s", "sidecar": base64.b64encode(SEALED).decode()})


class Recovery:
    def __init__(self, operator: Operator, folder: Path) -> None:
        self.operator = operator
        self.music = folder / "music"
        self.music.mkdir()
        (self.music / "a.wav").write_bytes(b"audio")
        self.sidecar = self.music / "a.wav.sidecar"

    def item(self, accepted_bytes: bytes = SEALED, *, accepted: bool = True) -> ProvenItem:
        """Make the item, whose sidecar was accepted with these bytes."""
        return ProvenItem(
            proof_id="p",
            item_id="item",
            audio=str(self.music / "a.wav"),
            sidecar=str(self.sidecar),
            sidecar_sha256=sha256(accepted_bytes).hexdigest(),
            relative_path="disc 1/a.wav",
            accepted=accepted,
            audio_bytes=5,
            current_audio=str(self.music / "a.wav"),
            current_sidecar=str(self.sidecar),
        )

    def run(self, *items: ProvenItem, prefix: str | None = None, most_calls: int | None = None) -> Sequence[Row]:
        with self.operator.begun(OperationKind.RECOVERY, max_calls=most_calls) as work:
            recovery = SidecarRecovery(work=work, watched=[], prefix=prefix)
            list(some_at_once(items or [self.item()], recovery.recover, CALLS_AT_ONCE))
        return self.rows

    @property
    def rows(self) -> Sequence[Row]:
        results = self.operator.results
        found: list[Row] = results.table("recoveries", results.all_parts("recoveries")).to_pylist()
        return found


@pytest.fixture
def recovery(operator: Operator, service: ScriptedService, tmp_path: Path) -> Recovery:
    service.usual[Call.PROOF] = ANSWER
    return Recovery(operator, tmp_path)


def test_an_intact_sidecar_costs_no_call(recovery: Recovery, service: ScriptedService) -> None:
    """Of one that was not accepted, it is told that it is the sealed one."""
    recovery.sidecar.write_bytes(SEALED)
    assert (recovery.run(), service.calls) == ([], [])

    (row,) = recovery.run(recovery.item(accepted=False))

    assert (row["outcome"], row["recovered_to"]) == ("same", None)


@pytest.mark.parametrize(
    ("damaged", "accepted"), [(b"", True), (b"damaged", True), (b"as sent", False), (bytes(SIDECAR_BYTES + 1), True)]
)
def test_a_damaged_sidecar_stays_and_the_sealed_one_is_put_beside_it(
    recovery: Recovery, damaged: bytes, *, accepted: bool
) -> None:
    """Also what was sent and rejected. Its name is no sidecar's, so no scan pairs it; it is written once."""
    recovery.sidecar.write_bytes(damaged)
    item = recovery.item() if accepted else recovery.item(damaged, accepted=False)

    first = recovery.run(item)
    both = recovery.run(item)

    beside = recovery.music / "a.wav.sidecar.recovered"
    assert [(row["outcome"], row["recovered_to"]) for row in both] == [("differs", str(beside)), ("differs", None)]
    assert (first[0]["recovered_to"], beside.read_bytes()) == (str(beside), SEALED)
    assert recovery.sidecar.read_bytes() == damaged


@pytest.mark.parametrize("audio", [None, b"another file of that name"])
def test_where_the_audio_is_gone_nothing_is_written(
    recovery: Recovery, service: ScriptedService, tmp_path: Path, audio: bytes | None
) -> None:
    """The next file of its name would be taken for the other half of a pair; a place of its own is none of these."""
    (recovery.music / "a.wav").unlink() if audio is None else (recovery.music / "a.wav").write_bytes(audio)

    assert (recovery.run(), service.calls, recovery.sidecar.exists()) == ([], [], False)
    assert len(recovery.run(prefix=str(tmp_path / "to"))) == 1


def test_a_name_that_is_taken_is_told_from_the_sealed_sidecar_itself(recovery: Recovery, tmp_path: Path) -> None:
    """It lies in the audio's folder below the target. Anything else has the name for itself."""
    first = recovery.run(prefix=str(tmp_path / "to"))[0]
    again = recovery.run(prefix=str(tmp_path / "to"))[1]
    Path(str(first["recovered_to"])).write_bytes(b"another file")
    taken = recovery.run(prefix=str(tmp_path / "to"))[2]

    assert first["recovered_to"] == str(tmp_path / "to/disc 1/a.wav.sidecar")
    assert (again["outcome"], again["recovered_to"]) == ("same", None)
    assert (taken["outcome"], taken["recovered_to"]) == ("exists", None)
    assert Path(str(first["recovered_to"])).read_bytes() == b"another file"


def test_a_place_that_cannot_be_written_is_told(recovery: Recovery, tmp_path: Path) -> None:
    """The others go on."""
    (tmp_path / "to").write_text("a file, and no folder")

    (row,) = recovery.run(prefix=str(tmp_path / "to"))

    assert (row["outcome"], row["recovered_to"]) == ("failed", None)


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


def test_the_calls_are_never_more_than_given(recovery: Recovery, service: ScriptedService) -> None:
    """What was asked for has its row."""
    with pytest.raises(RunMustStop):
        recovery.run(
            *(replace(recovery.item(), current_sidecar=f"{recovery.sidecar}-{each}") for each in range(9)), most_calls=4
        )

    assert (len(service.calls), len(recovery.rows)) == (4, 4)


@pytest.mark.parametrize("environment", ["beta", "production"])
def test_nothing_is_written_below_a_watched_folder(
    operator: Operator, service: ScriptedService, tmp_path: Path, environment: str
) -> None:
    """Neither beside the audio, nor in a place that leads there; whichever environment it is watched for."""
    results, watched, linked = operator.results, tmp_path / "in", tmp_path / "link"
    watched.mkdir()
    linked.symlink_to(watched)
    (watched / "a.wav").write_bytes(b"audio")
    plan = plan_of_run("20261120T010000Z_000aa")
    files = {"audio": str(watched / "a.wav"), "sidecar": str(watched / "a.sidecar")}
    end_leg(results, plan, [answered(plan, 0, "a", proof_id="p", **files)])
    other = plan_of_run("20261120T020000Z_000bb", environment="production")
    end_leg(results, other, [answered(other, 0, "b")])
    lease = Lease(results.store.within(layout.INGEST_FOLDER), layout.watch_id(environment, str(watched)))
    with sole_process(lease, {"environment": environment, "folder": str(watched)}):
        pass

    done = recover_sidecars(operator)
    for place in (watched, watched / "sub", linked):
        with pytest.raises(UsageError, match="ingest watches"):
            recover_sidecars(operator, to=str(place))

    assert (done.outcomes, service.calls) == ({"watched": 1}, [])
    assert [path.name for path in watched.iterdir()] == ["a.wav"]


@pytest.mark.parametrize("watched", ["/in", "s3://b", "s3://b/in"])
def test_a_location_is_known_to_lie_in_a_watched_folder(watched: str) -> None:
    """A folder whose name only begins alike is another one."""
    assert lies_in(watched, ["/else", watched])
    assert lies_in(f"{watched}/acme/a.wav", [watched])
    assert not lies_in(f"{watched}2/a.wav", [watched])


def test_only_items_with_a_proof_are_given(results: Results) -> None:
    """Pairs, also rejected ones; of one folder if one is named."""
    plan = plan_of_run("20261120T010000Z_000aa", items=8)
    rows = [
        answered(plan, 0, "pair", proof_id="p0", audio="/m/a.wav", sidecar="/m/a.sidecar", sidecar_sha256="aa"),
        answered(plan, 1, "bad", "rejected", proof_id="p1", audio="/n/b.wav", sidecar="/n/b.sidecar"),
        answered(plan, 2, "one", proof_id="p2", audio="/m/c.wav"),
        answered(plan, 3, "none", "rejected", audio="/m/d.wav", sidecar="/m/d.sidecar"),
        *(
            answered(plan, 5 + each, f"odd {each}", "rejected", proof_id="." * each, sidecar="/m/s")
            for each in range(3)
        ),
        answered(plan, 4, "by proof", proof_id="p4", audio="proof:p4"),
    ]
    end_leg(results, plan, rows)

    def found(below: str = "") -> list[str]:
        return [item.item_id for item in proven_items(results, "beta", below)]

    assert found() == ["pair", "bad"]
    assert [found(below) for below in ("/m", "/m/a.wav", "/m/a")] == [["pair"], ["pair"], []]
    (pair,) = proven_items(results, "beta", "/m")
    assert (pair.proof_id, pair.sidecar, pair.sidecar_sha256, pair.accepted) == ("p0", "/m/a.sidecar", "aa", True)


PLAN = plan_of_run("20261120T010000Z_000aa", items=5)


def moved(item_id: str, name: str, to: str | None, minute: int = 0, **cells: object) -> Row:
    """Make a row of `ingest`: a pair that was delivered as `/in/<name>.wav`."""
    facts: Row = {"run_id": PLAN.run_id, "leg": 1, "environment": "beta", "watched": "/in", "item_id": item_id}
    facts |= {"audio": f"/in/{name}.wav", "sidecar": f"/in/{name}.sidecar", "outcome": "accepted", "tries": 1}
    facts |= {
        "audio_sha256": item_id,
        "sidecar_sha256": item_id,
        "acted_at": datetime(2026, 11, 20, 2, minute, tzinfo=UTC),
    }
    facts["disposition"] = "left" if to is None else "accepted"
    if to is not None:
        facts |= {"audio_moved_to": f"{to}.wav", "sidecar_moved_to": f"{to}.sidecar"}
    return facts | cells


def places(results: Results, below: str = "") -> list[tuple[str, str, str | None]]:
    found = proven_items(results, "beta", below)
    return sorted((item.item_id, item.current_audio, item.current_sidecar) for item in found)


def delivered(row: int, item_id: str, name: str, digest: str | None = None) -> Row:
    facts = {"audio": f"/in/{name}.wav", "sidecar": f"/in/{name}.sidecar", "proof_id": f"p-{digest or item_id}"}
    return answered(PLAN, row, item_id, audio_sha256=digest or item_id, sidecar_sha256=digest or item_id, **facts)


def test_items_are_where_ingest_has_moved_them(results: Results) -> None:
    """The last move counts, one by another name too; what another file has replaced at its place is not there."""
    names = {"once": "a", "twice": "b", "stays": "c", "renamed": "d", "replaced": "e"}
    end_leg(results, PLAN, [delivered(row, item, name) for row, (item, name) in enumerate(names.items())])
    rows = [
        moved("once", "a", None),
        moved("once", "a", "/ok/a", 1),
        moved("twice", "b", "/ok/b"),
        moved("twice", "b", "/ok/x/b", 1),
        moved("new name", "dd", "/ok/dd", audio_sha256="renamed", sidecar_sha256="renamed"),
        moved("replaced", "e", "/ok/e"),
        moved("of another run", "e", "/ok/e", 1, run_id="20261121T010000Z_000bb"),
    ]
    results.create_part(layout.ingest_name(PLAN.run_id, PLAN.run_date, 1), "ingest", rows)

    assert places(results) == [
        ("once", "/ok/a.wav", "/ok/a.sidecar"),
        ("renamed", "/ok/dd.wav", "/ok/dd.sidecar"),
        ("replaced", "/in/e.wav", "/in/e.sidecar"),
        ("stays", "/in/c.wav", "/in/c.sidecar"),
        ("twice", "/ok/x/b.wav", "/ok/x/b.sidecar"),
    ]
    assert [item for item, *_ in places(results, "/ok/x")] == ["twice"]
    assert [item for item, *_ in places(results, "/in/a.wav")] == ["once"]


def test_copies_of_one_file_are_each_at_their_own_place(results: Results) -> None:
    """They have the same bytes, and the same answer."""
    end_leg(results, PLAN, [delivered(0, "one", "a", "same"), delivered(1, "two", "b", "same")])
    same = {"audio_sha256": "same", "sidecar_sha256": "same"}
    rows = [moved("one", "a", "/ok/a", **same), moved("two", "b", "/ok/b", **same)]
    results.create_part(layout.ingest_name(PLAN.run_id, PLAN.run_date, 1), "ingest", rows)

    assert places(results) == [("one", "/ok/a.wav", "/ok/a.sidecar"), ("two", "/ok/b.wav", "/ok/b.sidecar")]
