"""Of two runs of one catalog, one may make calls."""

from pathlib import Path

import pytest

from proofsweep.domain.errors import RunIsActive
from proofsweep.store.legs import CatalogClaims, Legs
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results

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


def test_a_live_leg_keeps_other_runs_out(results: Results, claims: CatalogClaims) -> None:
    """The message names the run and the process, and what shows it."""
    claims.claim(A, 1)
    Legs(results, B).claim(1)

    for attempt in (claims.last_inactive, lambda: claims.claim(B, 1)):
        with pytest.raises(RunIsActive, match=rf"run {A} .* process \d+ on .*; see: proofsweep status {A}"):
            attempt()


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


def test_a_run_that_was_planned_before_anothers_leg_is_too_late(results: Results, claims: CatalogClaims) -> None:
    """The other one has ended, and may have sent the same files."""
    before = claims.last_inactive()
    claims.claim(A, 1, before)
    end(results, A)
    Legs(results, B).claim(1)

    with pytest.raises(RunIsActive, match=f"Run {A} of this catalog began before"):
        claims.claim(B, 1, before)
    claims.claim(B, 1, claims.last_inactive())


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
