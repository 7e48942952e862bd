"""Each proof is asked for once, each answer is recorded before the next one, and a list is read as it is meant."""

import os
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest
from pydantic import SecretStr

from proofsweep.client.reply import Reply, Request
from proofsweep.domain.errors import ResultsError, UsageError
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import Row
from proofsweep.operations.erase import ErasureReport, ProofList, erase_proofs, names_of, read_proof_list
from proofsweep.operations.operation import Operator
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results

from ...worlds.ended_runs import answered, end_leg, plan_of_run
from ...worlds.killed_lines import LINES_BETWEEN_KILLS, is_whole_after
from ..ended_operations import let_operations_die
from ..scripted_service import NOW, Scripted, ScriptedService

OF_ERASURES = ("operations/erase.py", "operations/operation.py", "store/operations.py")
ERASED = Scripted(document={"outcome": "erased"})


class ErasingService(ScriptedService):
    """Answers `erased` for a proof that it has, else `already_erased`; what a test scripts goes before."""

    def __init__(self, *proof_ids: str) -> None:
        super().__init__()
        self.proofs = set(proof_ids)

    def send(self, request: Request, *, attempt: int, key: SecretStr | None) -> Reply:
        proof_id = request.url.rpartition("/")[2]
        if request.call is Call.ERASE and not self.script[Call.ERASE]:
            outcome = "erased" if proof_id in self.proofs else "already_erased"
            self.proofs.discard(proof_id)
            document = {"proofId": proof_id, "outcome": outcome, "erasedAt": int(NOW.timestamp())}
            self.script[Call.ERASE] = [Scripted(document=document)]
        return super().send(request, attempt=attempt, key=key)


@dataclass(slots=True)
class Eraser:
    """The command; each run is a process of its own."""

    operator: Operator
    told: list[Row] = field(default_factory=list)

    def erase(self, *proof_ids: str) -> ErasureReport:
        """Run the command, after those before it are dead."""
        self.operator.service.stop.reason = None
        let_operations_die(self.operator.results)
        return erase_proofs(self.operator, ProofList(proof_ids), self.told.append)

    def rows(self) -> list[Row]:
        results = self.operator.results
        rows = results.table("erasures", results.all_parts("erasures")).to_pylist()
        return sorted(rows, key=lambda row: (str(row["operation_id"]), str(row["proof_id"])))


@pytest.fixture
def service() -> ScriptedService:
    return ErasingService("p1", "p2", "p3")


@pytest.fixture
def eraser(operator: Operator) -> Eraser:
    return Eraser(operator)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the killed one leaves its threads
def test_an_erasure_that_is_killed_after_any_line_loses_no_answer(
    tmp_path: Path, operator: Operator, service: ErasingService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what was answered, at most the one answer that was not on disk yet; the repeat says `already_erased` of it.

    The repeat asks for no proof whose answer was written down.
    """
    monkeypatch.setattr(os, "fsync", lambda _file: None)  # a process that is killed loses nothing that was written
    line, was_whole = 0, False
    while not was_whole:
        service.proofs, service.script[Call.ERASE] = {"p1", "p2"}, []
        eraser = Eraser(replace(operator, results=Results(FolderStore(tmp_path / str(line)))))
        was_whole = is_whole_after(line, OF_ERASURES, partial(eraser.erase, "p1", "p2"))
        known = [row["proof_id"] for row in eraser.told]
        asked = service.calls.count(Call.ERASE)

        eraser.erase("p1", "p2")

        rows = eraser.rows()
        erased = [str(row["proof_id"]) for row in rows if row["outcome"] == "erased"]
        assert set(known) <= set(erased), line
        assert len(erased) >= 1, line
        assert len({(row["operation_id"], row["proof_id"]) for row in rows}) == len(rows), line
        assert {row["proof_id"] for row in rows} == {"p1", "p2"}, line
        assert service.calls.count(Call.ERASE) - asked <= 2 - len(known), line
        line += LINES_BETWEEN_KILLS
    assert line > 30  # the whole of it was tried


@pytest.mark.parametrize(
    ("document", "outcome", "reason"),
    [
        ({"proofId": "p7", "outcome": "erased"}, "erased", "bad_answer"),
        ({"proofId": "p1", "outcome": "queued"}, "queued", "unknown_outcome"),
        ({"outcome": "erased"}, "erased", None),
        ({"proofId": "p1"}, None, "bad_answer"),
    ],
)
def test_an_answer_that_is_no_receipt_is_kept_and_fails(
    eraser: Eraser, service: ErasingService, document: object, outcome: str | None, reason: str | None
) -> None:
    """About another proof, or with a word that the contract does not have; a missing proofId is no contradiction."""
    service.script[Call.ERASE] = [Scripted(document=document)]

    eraser.erase("p1")

    (row,) = eraser.rows()
    assert (row["outcome"], row["reason"]) == (outcome, reason)


def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fails)


def test_a_disk_that_fills_ends_it_before_the_next_proof(
    eraser: Eraser, service: ErasingService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report says what was done, and has the answer that could not be written: the service says it once."""
    calls: list[Call] = []

    def on_call(call: Call) -> None:
        calls.append(call)
        if len(calls) == 2:
            full_disk(monkeypatch)

    service.on_call = on_call

    report = eraser.erase("p1", "p2", "p3")

    assert calls == [Call.ERASE] * 2
    assert report.stopped is not None
    assert (report.stopped.ended_by, "No space left on device" in report.stopped.message) == ("breaker", True)
    assert [row["outcome"] for row in report.rows] == ["erased", "erased"]
    lines = list(report.lines())
    assert lines[0] == "2 erased, 0 already erased or never there, 0 failed, 0 known to be gone, 1 not asked for."
    kept = "Keep this answer, which the table `erasures` may lack: p2 · erased at 2026-11-20 12:00:00+00:00 · id-2"
    assert kept in lines
    assert [row["proof_id"] for row in eraser.told] == ["p1"]


def test_a_disk_that_has_room_again_lets_it_go_on(
    eraser: Eraser, service: ErasingService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for room as a run does, so that no answer is lost."""
    sync, tries = os.fsync, iter(range(3))

    def fails(file: int) -> None:
        if service.calls and next(tries, None) is not None:
            raise OSError(28, "No space left on device")
        sync(file)

    monkeypatch.setattr(os, "fsync", fails)

    report = eraser.erase("p1", "p2")

    assert (report.stopped, report.unkept, len(eraser.rows())) == (None, None, 2)


def test_a_disk_that_is_full_at_the_end_leaves_the_report(
    eraser: Eraser, service: ErasingService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every answer is in the journal; only the receipt of the leg is lacking."""
    told = eraser.told

    class Told(list[Row]):
        def append(self, row: Row) -> None:
            told.append(row)
            full_disk(monkeypatch)

    eraser.told = Told()

    report = eraser.erase("p1")

    assert (len(report.rows), report.unkept) == (1, None)
    assert report.stopped is not None
    assert report.stopped.message.startswith("The work is done, and its records cannot be completed now: ")
    monkeypatch.undo()
    assert eraser.erase("p1").known == 1
    assert service.calls == [Call.ERASE]


def test_a_used_up_quota_leaves_a_report_of_what_was_done(operator: Operator, service: ErasingService) -> None:
    """The rest was not asked for; the plan has no ID."""
    service.script[Call.ERASE] = [ERASED, Scripted(status=429, remaining=0, retry_after=9_000.0)]
    service.script[Call.USAGE] = [Scripted(remaining=0)]

    report = erase_proofs(operator, ProofList(("p1", "p2", "p3")))

    assert report.stopped is not None
    assert (report.stopped.ended_by, len(report.rows), report.not_asked) == ("quota", 1, 2)
    assert b"p1" not in (operator.results.store.read(f"_runs/{report.operation_id}/plan.json") or b"")


def read(tmp_path: Path, content: bytes, name: str = "list.txt") -> ProofList:
    (tmp_path / name).write_bytes(content)
    return read_proof_list([], tmp_path / name)


def test_ids_of_the_command_and_of_a_file_are_one_list(tmp_path: Path) -> None:
    """In its order, each once, and empty cells are counted; a byte order mark and line ends are no part of an ID."""
    (tmp_path / "list.csv").write_bytes(b"\xef\xbb\xbfproof_id,song\r\np2,x\r\n p1 ,y\r\n,z\r\np2,z\r\n")

    wanted = read_proof_list(["p1"], tmp_path / "list.csv")

    assert (wanted.proof_ids, wanted.repeated, wanted.empty) == (("p1", "p2"), 2, 1)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a\n\nb", ["a", "b"]),
        ("proof_id\na\n", ["a"]),
        ('song,proof_id\r\n"x, y",a\r\nz,\r\nz\r\n', ["a"]),
        ("proof_id , song\n'-a,x\n", ["-a"]),
        ("audio,proof_id,proof_id,run_id\nx,a tag,a,r\n", ["a"]),
        ('song,proof_id\n"two\nlines",a\n', ["a"]),
        ("audio,proof_id,proof_id\nx,a tag\nx,a tag,b,more\n", ["b"]),
    ],
)
def test_ids_are_found_in_lines_and_in_csv(tmp_path: Path, content: str, expected: list[str]) -> None:
    """A report of `proofsweep export` has an apostrophe before what a spreadsheet would run."""
    assert list(read(tmp_path, content.encode()).proof_ids) == expected


@pytest.mark.parametrize("text", [".", "..", "a b", "a\tb", "a\u202eb", "a,b", '"a"', "x" * 513, "'=a"])
def test_what_cannot_be_an_id_is_refused_with_its_place(tmp_path: Path, text: str) -> None:
    """By the line in the file. The message does not repeat it: it may be a real ID that was written badly."""
    with pytest.raises(UsageError, match="line 2: this is no proof ID; nothing was erased") as refused:
        read(tmp_path, f"good\n{text}\n".encode())

    assert text in {".", ".."} or text not in refused.value.message
    assert "good" not in refused.value.message


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("list.txt", b"", "no proof ID to erase"),
        ("list.txt", b"  \n", "no proof ID to erase"),
        ("list.txt", b"song,proof\na,b\n", "has no column proof_id"),
        ("list.CSV", b"a\n", "has no column proof_id"),
        ("list.txt", b"\xff\xfa", "not UTF-8"),
        ("list.csv", b'song,proof_id\nx,a\n"x,b\nx,c\n', "list.csv, line 3: close the quote"),
        ("list.csv", b"song,proof_id\n" + b"x" * 5_000_000 + b",a\n", "line 2: .*field larger than field limit"),
        ("list.txt", b"x" * 200_000, "line 1: this is no proof ID"),
        ("folder", None, "Is a directory"),
    ],
)
def test_a_list_that_is_none_is_refused(tmp_path: Path, name: str, content: bytes | None, why: str) -> None:
    """What lost its content is no success, and songs are not asked for as proofs."""
    (tmp_path / "folder").mkdir()

    with pytest.raises(UsageError, match=why):
        read_proof_list([], tmp_path / name) if content is None else read(tmp_path, content, name)


def test_a_store_without_runs_knows_no_file_and_one_that_cannot_be_read_says_so(results: Results) -> None:
    """Before an erasure it makes a difference whether nothing is known, or nothing could be read."""
    assert names_of(results, "beta", ProofList(("p1",))) == {}
    plan = plan_of_run("20261120T010000Z_000aa")
    end_leg(results, plan, [answered(plan, 0, "a", proof_id="p1")])
    assert names_of(results, "beta", ProofList(("p1", "p2"))) == {"p1": "/c/a"}
    assert names_of(results, "production", ProofList(("p1",))) == {}
    (part,) = results.all_parts("verdicts")
    results.store.replace(part, b"no Parquet")

    with pytest.raises(ResultsError):
        names_of(results, "beta", ProofList(("p1",)))


def test_failures_are_named_with_what_to_do() -> None:
    """Ten of them; the table has all."""
    done: list[Row] = [{"proof_id": f"p{each}", "reason": "http_500", "request_id": "r-1"} for each in range(12)]

    lines = list(ErasureReport(rows=done, not_asked=3).lines())

    assert "12 failed, 0 known to be gone, 3 not asked for" in lines[0]
    assert lines[1] == "  failed: p0 · http_500 · r-1"
    assert len([line for line in lines if "failed: " in line]) == 10
    assert "2 more" in lines[-2]
    assert lines[-1].startswith("Run the same command again")
