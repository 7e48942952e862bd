"""A delivery in quarantine goes on when each of its items is accepted by now; bytes that were replaced stay there."""

from typing import Any

import pytest

from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import FileFacts
from proofsweep.files.moving import Moves

from ...worlds.ddex_messages import Sending, Track, batch_manifest, purge, put_release, sent
from .conftest import WAV, Watched
from .test_ingest_pass import names_in

A, BAD, GOOD, NEXT = (WAV + word.encode() for word in ("first. .", "damaged, and longer.", "the good", "another.."))
WAIT_SECONDS = 21_600


def deliver(watched: Watched, place: str, when: str = "01", *, icpn: str = "1", **audio: bytes) -> None:
    """Deliver a release, the same one wherever it lies, with the files that are given."""
    files = {f"resources/{name}.wav": content for name, content in audio.items()}
    tracks = [Track(isrc="QZABC2600001", files=[sent(*each)]) for each in files.items()]
    sending = Sending(
        version="43", message_id=f"M-{when}", created=f"2026-11-{when}T12:00:00Z", tracks=tracks, icpn=icpn
    )
    put_release(watched.folder / place, sending, files)


def put_in_quarantine(watched: Watched, batch: str = "acme/B1") -> None:
    """Let a batch of two releases go to quarantine because of the second one."""
    watched.outcomes["b.wav"] = "rejected"
    deliver(watched, f"{batch}/r1", icpn="1", a=A)
    deliver(watched, f"{batch}/r2", icpn="2", b=BAD)
    watched.deliver(f"{batch}/manifest.xml", batch_manifest("B1", ["r1/r1.xml", "r2/r2.xml"]))
    watched.run_pass()
    assert f"{batch}/r1/resources/a.wav" in names_in(watched.root / "bad")
    watched.outcomes["b.wav"] = "accepted"
    watched.later(60)


@pytest.mark.parametrize("manifest", [["r2/r2.xml"], ["r1/r1.xml", "r2/r2.xml"]])
def test_a_batch_goes_on_when_the_bad_release_comes_again_at_its_place(watched: Watched, manifest: list[str]) -> None:
    """All of it is accepted then, but for the bad bytes and what belongs to them; nothing is sent again."""
    put_in_quarantine(watched)
    deliver(watched, "acme/B1/r2", "02", icpn="2", b=GOOD)
    watched.deliver("acme/B1/manifest.xml", batch_manifest("B1", manifest))
    for _ in range(2):
        report = watched.run_pass().report
        watched.later(WAIT_SECONDS)

    assert names_in(watched.folder) == []
    names = ["manifest.xml", "r1/r1.xml", "r1/resources/a.wav", "r2/r2.xml", "r2/resources/b.wav"]
    assert names_in(watched.root / "ok") == [f"acme/B1/{name}" for name in names]
    assert (watched.root / "ok/acme/B1/r2/resources/b.wav").read_bytes() == GOOD
    assert names_in(watched.root / "bad") == [f"acme/B1/{name}" for name in ("manifest.xml", *names[3:])]
    assert watched.sent == ["a.wav", "b.wav", "b.wav"]
    assert report.not_moved == {}
    assert watched.state.held == ()


def test_a_batch_goes_on_when_the_bad_release_comes_again_elsewhere(watched: Watched) -> None:
    """Its rows say where its accepted file was delivered, and where it is now."""
    put_in_quarantine(watched)
    deliver(watched, "acme/B2/r2", "02", icpn="2", b=GOOD)

    report = watched.run_pass().report

    assert names_in(watched.root / "bad") == ["acme/B1/r2/resources/b.wav"]
    moved = {str(row["audio"]): row["audio_moved_to"] for row in report.rows}
    assert moved[f"{watched.folder}/acme/B1/r1/resources/a.wav"] == f"{watched.root}/ok/acme/B1/r1/resources/a.wav"
    assert "2 moved (accepted)" in report.line("in")
    assert watched.run_pass().report.rows == []


@pytest.mark.parametrize("place", ["acme/r", "acme/20261124000000001/r"])
def test_the_rest_of_a_release_goes_on_when_its_bad_file_alone_comes_again(watched: Watched, place: str) -> None:
    """Its message lies in quarantine, and so does its completion file: it waits for a message, as any file does."""
    watched.outcomes["b.wav"] = "rejected"
    deliver(watched, place, a=A, b=BAD)
    watched.deliver(f"{place}/../BatchComplete.txt", b"")
    watched.run_pass()
    watched.outcomes["b.wav"] = "accepted"
    watched.deliver(f"{place}/resources/b.wav", GOOD)
    waits = watched.run_pass().report
    watched.later(WAIT_SECONDS)
    for _ in range(2):
        watched.run_pass()

    assert [row["detail"] for row in waits.waiting if row["why"] != "stray_message"] == ["its message is not there"]
    names = [f"{place}/{name}" for name in ("r.xml", "resources/a.wav", "resources/b.wav")]
    assert [name for name in names_in(watched.root / "ok") if "Complete" not in name] == names
    assert (watched.root / "bad" / place / "resources/b.wav").read_bytes() == BAD


def test_a_delivery_that_comes_again_as_a_whole_leaves_the_old_one_in_quarantine(watched: Watched) -> None:
    """Its accepted file is moved once: where the new delivery is."""
    put_in_quarantine(watched)
    deliver(watched, "acme/B2/r1", "02", icpn="1", a=A)
    deliver(watched, "acme/B2/r2", "02", icpn="2", b=GOOD)
    watched.deliver("acme/B2/manifest.xml", batch_manifest("B2", ["r1/r1.xml", "r2/r2.xml"]))
    before = names_in(watched.root / "bad")

    for _ in range(2):
        watched.run_pass()

    assert {name[:7] for name in names_in(watched.root / "ok")} == {"acme/B2"}
    assert names_in(watched.root / "bad") == before
    assert watched.sent == ["a.wav", "b.wav", "b.wav"]
    assert watched.state.held == ()


@pytest.mark.parametrize("outcome", ["rejected", None])
def test_a_delivery_stays_in_quarantine_until_each_of_its_files_is_accepted(
    watched: Watched, outcome: str | None
) -> None:
    """A correction that is no better, or has no answer yet, lets nothing go on; the next one does."""
    put_in_quarantine(watched)
    watched.outcomes["b.wav"] = outcome
    deliver(watched, "acme/B2/r2", "02", icpn="2", b=GOOD)
    watched.run_pass()
    assert names_in(watched.root / "ok") == []

    watched.outcomes["b.wav"] = "accepted"
    watched.later(600)
    deliver(watched, "acme/B3/r2", "03", icpn="2", b=NEXT)
    for _ in range(2):
        watched.run_pass()

    assert "acme/B1/r1/resources/a.wav" in names_in(watched.root / "ok")
    assert "acme/B1/r2/resources/b.wav" not in names_in(watched.root / "ok")


def test_bytes_that_were_changed_in_quarantine_never_go_on(watched: Watched) -> None:
    """Nor do files that somebody put there, or took away; what is left of the delivery is theirs."""
    put_in_quarantine(watched)
    (watched.root / "bad/acme/B1/r1/resources/a.wav").write_bytes(BAD)
    (watched.root / "bad/acme/B1/r1/resources/c.wav").write_bytes(NEXT)
    deliver(watched, "acme/B2/r2", "02", icpn="2", b=GOOD)

    report = watched.run_pass().report

    assert {name[:7] for name in names_in(watched.root / "ok")} == {"acme/B2"}
    assert report.not_moved == {}
    assert watched.state.held == ()


def test_what_cannot_go_on_is_told_and_tried_again(watched: Watched) -> None:
    """As any move that is not made."""
    put_in_quarantine(watched)
    deliver(watched, "acme/B2/r2", "02", icpn="2", b=GOOD)
    hindrance = watched.root / "ok/acme/B1"
    hindrance.parent.mkdir(parents=True)
    hindrance.write_bytes(b"no folder")
    reports = [watched.run_pass().report for _ in range(2)]
    hindrance.unlink()
    reports += [watched.run_pass().report for _ in range(2)]

    assert [len(report.not_moved) for report in reports] == [1, 1, 0, 0]
    assert all(f"It lies in {watched.root}/bad/acme/B1." in line for line in reports[0].unmoved_lines())
    assert "acme/B1/r1/resources/a.wav" in names_in(watched.root / "ok")


def test_a_release_that_was_withdrawn_meanwhile_stays_in_quarantine(watched: Watched) -> None:
    """With all of its delivery."""
    put_in_quarantine(watched)
    later = Sending(version="43", created="2026-11-09T12:00:00+00:00", icpn="1")
    watched.deliver("acme/takedown/purge.xml", purge(later))
    watched.run_pass()
    deliver(watched, "acme/B2/r2", "10", icpn="2", b=GOOD)
    watched.run_pass()

    moved = ["acme/B2/r2/r2.xml", "acme/B2/r2/resources/b.wav", "acme/takedown/purge.xml"]
    assert names_in(watched.root / "ok") == moved


def test_nobody_needs_the_right_to_delete_in_quarantine(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of what goes on stays there then, once."""
    put_in_quarantine(watched)
    deliver(watched, "acme/B2/r2", "02", icpn="2", b=GOOD)
    remove = Moves.remove

    def refuse(moves: Moves, source: str, facts: FileFacts) -> bool:
        if "/bad/" in source:
            raise SourceError("Denied.", reason="source_forbidden")
        return remove(moves, source, facts)

    monkeypatch.setattr(Moves, "remove", refuse)
    reports = [watched.run_pass().report for _ in range(2)]

    assert [report.not_moved for report in reports] == [{}, {}]
    assert "acme/B1/r1/resources/a.wav" in names_in(watched.root / "ok")
    assert "acme/B1/r1/resources/a.wav" in names_in(watched.root / "bad")
    assert watched.state.held == ()


class Killed(BaseException):
    """Ends a pass as a kill does: nothing catches it."""


@pytest.mark.parametrize("is_last", [True, False])
@pytest.mark.parametrize("name", ["copy", "remove"])
def test_a_pass_that_is_killed_while_a_delivery_goes_on_loses_and_repeats_nothing(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, name: str, is_last: bool
) -> None:
    """Before and after a copy or a removal; every byte is once where it belongs, and has its row."""
    put_in_quarantine(watched)
    deliver(watched, "acme/B2/r2", "02", icpn="2", b=GOOD)
    act, when = getattr(Moves, name), ["before", "after"]

    def killed(moves: Moves, location: str, *given: Any) -> Any:  # noqa: ANN401 - as both functions take them
        is_step = "/bad/" in location and location.endswith("manifest.xml") == is_last
        if is_step and len(when) == 2:
            raise Killed
        result = act(moves, location, *given)
        if is_step:
            raise Killed
        return result

    while when:
        with monkeypatch.context() as moment:
            moment.setattr(Moves, name, killed)
            with pytest.raises(Killed):
                watched.run_pass()
        when.pop()
        watched.later(60)
    for _ in range(2):
        watched.run_pass()

    ok = ["B1/manifest.xml", "B1/r1/r1.xml", "B1/r1/resources/a.wav", "B1/r2/r2.xml"]
    ok += ["B2/r2/r2.xml", "B2/r2/resources/b.wav"]
    assert names_in(watched.root / "ok") == [f"acme/{each}" for each in ok]
    assert names_in(watched.root / "bad") == ["acme/B1/r2/resources/b.wav"]
    assert names_in(watched.folder) == []
    assert watched.sent == ["a.wav", "b.wav", "b.wav"]
    rows = watched.results.table("ingest", watched.results.all_parts("ingest")).to_pylist()
    assert f"{watched.root}/ok/acme/B1/r1/resources/a.wav" in {row["audio_moved_to"] for row in rows}
    assert (watched.state.held, watched.state.moves) == ((), ())
