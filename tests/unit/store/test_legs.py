"""Of two runs of a catalog one makes calls; how far its leg is, is said in plain words."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.domain.errors import RunIsActive
from proofsweep.store.legs import CatalogClaims, Legs
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results
from proofsweep.store.progress import LegProgress, WaitsFor, progress_in

A, B, C = (f"20261120T12000{number}Z_000aa" for number in range(3))


@pytest.fixture
def results(tmp_path: Path) -> Results:
    results = Results(FolderStore(tmp_path))
    Legs(results, A).claim(1)
    return results


@pytest.fixture
def claims(results: Results) -> CatalogClaims:
    """The claims on a catalog that nobody has claimed."""
    return CatalogClaims(results, "beta", "/music")


def end(results: Results, run_id: str, leg: int = 1) -> None:
    Legs(results, run_id).write_receipt(leg, {"ended_by": "complete"})


def test_a_leg_that_ended_or_was_released_keeps_nobody_out(results: Results, claims: CatalogClaims) -> None:
    """Also its own run may claim again, with the leg that could not begin before."""
    claims.claim(A, 1)
    claims.claim(A, 1)
    end(results, A)

    Legs(results, B).claim(1)
    claims.claim(B, 1)
    Legs(results, B).release(1)

    assert claims.last_inactive() == f"{claims._folder}/000000003.json"
    assert results.store.names(claims._folder) == [claims.last_inactive()]


def test_catalogs_and_environments_do_not_meet(results: Results, claims: CatalogClaims) -> None:
    """Each has its own claims."""
    claims.claim(A, 1)

    assert CatalogClaims(results, "beta", "/other").last_inactive() == ""
    assert CatalogClaims(results, "production", "/music").last_inactive() == ""


class SlowStore(FolderStore):
    """A store whose process sleeps before each claim on a catalog, while other runs come and go."""

    def create(self, name: str, content: bytes) -> None:
        """Let run B work and end, and run C begin, before this claim is written."""
        if "/000000002.json" in name:
            others = Results(FolderStore(Path(self.url)))
            claims = CatalogClaims(others, "beta", "/music")
            Legs(others, B).claim(1)
            claims.claim(B, 1)
            end(others, B)
            Legs(others, C).claim(1)
            claims.claim(C, 1)
        super().create(name, content)


def test_a_process_that_slept_before_its_claim_does_not_join_in(results: Results, claims: CatalogClaims) -> None:
    """The claim that it would have made second is gone by then, so its name is free; the last claim counts."""
    claims.claim(A, 1)
    end(results, A)
    slow = Results(SlowStore(Path(results.store.url)))
    run = "20261120T120009Z_000aa"
    Legs(slow, run).claim(1)

    with pytest.raises(RunIsActive, match=f"run {C}"):
        CatalogClaims(slow, "beta", "/music").claim(run, 1)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"run_id": "x", "leg": "y"}'])
def test_a_claim_that_cannot_be_read_keeps_nobody_out(claims: CatalogClaims, content: bytes) -> None:
    """A catalog must not be locked for ever."""
    claims.results.store.create(f"{claims._folder}/000000001.json", content)

    claims.claim(A, 1)


PAUSED_UNTIL = datetime(2026, 11, 20, 3, 12, tzinfo=UTC)
PROGRESS = LegProgress(
    rows=5_000,
    finished_before=1_200,
    counts={"accepted": 30, "rejected": 4},
    rate=1.2345,
    calls=70,
    call_rate=2.5,
    seconds_left=3050.3,
    lane_rate=2.6,
    quota_left=400,
    sent_bytes=1_000,
    in_flight=12,
    uploads=3,
    paused_until=PAUSED_UNTIL,
    waits_for=WaitsFor.PAUSE,
    waits_since=datetime(2026, 11, 20, 2, 12, tzinfo=UTC),
)


@pytest.mark.parametrize("waits_for", list(WaitsFor))
def test_each_reason_to_wait_has_words(waits_for: WaitsFor) -> None:
    """One file is not written as several."""
    words = LegProgress(rows=9, counts={}, in_flight=1, uploads=1, waits_for=waits_for).waiting

    assert words
    assert not {"{", "1 files"} & set(words.partition(":"))


def test_progress_is_read_as_it_was_written() -> None:
    """Instants are ISO text; rates are rounded for people who read the heartbeat itself."""
    document = json.loads(json.dumps(PROGRESS.document()))

    assert document["waiting"] == "the service asked for a pause until 03:12:00 UTC"
    assert document["paused_until"] == "2026-11-20T03:12:00+00:00"
    assert progress_in(document) == LegProgress(
        **{name: getattr(PROGRESS, name) for name in LegProgress.__slots__} | {"rate": 1.23}  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    "document",
    [None, 3, "text", {}, {"rows": 5}, {"rows": 5, "counts": {"accepted": "x"}}, {"rows": 5, "counts": 3}]
    + [PROGRESS.document() | broken for broken in ({"waits_for": "luck"}, {"paused_until": "soon"})],
)
def test_what_cannot_be_understood_is_none(document: object) -> None:
    """A display then says that nothing is known, and the sign of life still counts."""
    assert progress_in(document) is None
