"""Unspecified behaviour changes no result: rows, findings and exit codes are the same for every choice of it."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from subprocess import CompletedProcess
from typing import Any

import pyarrow.dataset
import pytest
from pydantic import SecretStr

import proofsweep_sandbox as sandbox
from proofsweep.partner.partner import Partner
from proofsweep.settings import load_settings
from proofsweep.verify.leg.work import verify_slice
from proofsweep.wiring.engines import close_engines, engine_for
from proofsweep.wiring.legs import claimed_next_leg
from proofsweep.wiring.runs import plan_catalog
from proofsweep_sandbox.samples import sounds
from proofsweep_sandbox.unspecified import Unspecified

Command = Callable[..., CompletedProcess[str]]
SEEDS = range(1, 11)
COLUMNS = (
    "audio",
    "outcome",
    "accepted",
    "action",
    "verdict",
    "good",
    "reason",
    "mode",
    "audio_format",
    "audio_sha256",
    "verify_attempts",
)


@pytest.fixture
def choose(running: sandbox.Running) -> Iterator[Callable[..., None]]:
    """Choose unspecified behaviour by a seed, or a later release; afterwards the sandbox has its own choices again."""
    yield running.operator.set_silences
    running.operator.set_silences()


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let retries follow at once."""
    monkeypatch.setenv("PROOFSWEEP_RETRY__FIRST_WAIT_SECONDS", "0.01")
    monkeypatch.setenv("PROOFSWEEP_PACE__LONGEST_PAUSE_SECONDS", "5")


@pytest.fixture
def rows(workdir: Path, catalog: Path) -> Callable[[str], list[tuple[object, ...]]]:
    """Return a function that verifies the catalog into results of this name, without Prefect, and gives its rows."""

    def rows(name: str) -> list[tuple[object, ...]]:
        results = workdir / name
        plan = plan_catalog(load_settings(None, str(results)), str(catalog))
        with claimed_next_leg(engine_for(load_settings(None, str(results))), plan.run_id) as (_, leg):
            for piece in leg.remaining.slices():
                verify_slice(leg, piece)
        table = pyarrow.dataset.dataset(results / "verdicts", format="parquet").to_table()
        found = sorted(table.to_pylist(), key=lambda row: int(row["manifest_row"]))
        return [tuple(row[name] for name in COLUMNS) for row in found]

    return rows


def test_every_seed_gives_the_same_rows(
    rows: Callable[[str], list[tuple[object, ...]]], choose: Callable[..., None]
) -> None:
    """With ten choices of all unspecified behaviour, each file has the same outcome, after one attempt."""
    expected = rows("own")

    for seed in SEEDS:
        choose(seed)
        assert rows(f"seed-{seed}") == expected, f"seed {seed}"

    assert {row[1] for row in expected} == {"accepted", "rejected", "ineligible"}


def test_every_seed_gives_the_same_findings(
    proofsweep: Command, catalog: Path, choose: Callable[..., None], running: sandbox.Running, tmp_path: Path
) -> None:
    """The output of doctor, plan and check does not depend on unspecified behaviour."""
    audio = next(file for file in sorted(catalog.rglob("*.wav")) if proofsweep("check", file).returncode == 0)
    pair = _pair(running, catalog, tmp_path)
    commands = [("doctor", "--pair", *pair), ("plan", catalog), ("check", audio), ("check", *pair)]
    expected = [proofsweep(*words, "--json") for words in commands]

    for seed in SEEDS:
        choose(seed)
        for words, before in zip(commands, expected, strict=True):
            now = proofsweep(*words, "--json")
            assert (now.returncode, now.stderr) == (before.returncode, ""), f"seed {seed}: {words[0]} {now.stdout}"
            assert json.loads(now.stdout).keys() == json.loads(before.stdout).keys()

    assert [before.returncode for before in expected] == [0, 0, 0, 0]


def test_every_call_can_be_read_under_every_seed(
    workdir: Path, running: sandbox.Running, choose: Callable[..., None]
) -> None:
    """Proofs, keys, usage, notes, assets and receipts have the same content in every spelling, paging and type."""
    (workdir / "take.wav").write_bytes(sounds.wav(0.05, Random(1)))  # noqa: S311 - a sound, not a secret
    tenant = running.operator.add_tenant("of many proofs")
    Path(os.environ["PROOFSWEEP_SERVICE__API_KEY_FILE"]).write_text(tenant.api_key)
    issued = [_issued(running, workdir, tenant.tenant, number) for number in range(12)]
    engine = engine_for(load_settings())

    for seed in (0, *SEEDS):
        choose(seed)
        content = _content_of(engine.partner)
        assert content.pop("note") in {"pending", "ready"}
        assert content == {
            "proofs": [each.proof_id for each in reversed(issued)],
            "songs": {f"Song {number}" for number in range(12)},
            "sidecars": 12,
            "asset": issued[0].audio.read_bytes(),
            "keys": 1,
            "days": 3,
            "is_counted": True,
            "erased": "already_erased",
        }, f"seed {seed}"
    close_engines()


def test_a_headroom_header_that_is_too_low_stops_no_run(
    rows: Callable[[str], list[tuple[object, ...]]],
    choose: Callable[..., None],
    running: sandbox.Running,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A throttled call may say that no call is left. GET /partner/usage decides, and it is not called each time."""
    few = running.operator.add_tenant("of a small quota", quota=99)
    Path(os.environ["PROOFSWEEP_SERVICE__API_KEY_FILE"]).write_text(few.api_key)
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", "2")
    choose(next(seed for seed in SEEDS if Unspecified.drawn(seed).headroom_elsewhere == "hundreds"))
    running.operator.add_fault("uploads", "status", status=429, code="rate_limited", retry_after=0, count=6)

    found = rows("few")

    running.operator.clear_faults()
    made = [one["call"] for one in running.operator.exchanges() if one["tenant"] == few.tenant]
    assert made.count("usage") == 3  # before the run, when the first call said so, and after it
    assert "failed" not in {row[1] for row in found}
    assert len(found) == 26


def test_a_later_release_changes_only_new_verdicts(
    rows: Callable[[str], list[tuple[object, ...]]], proofsweep: Command, choose: Callable[..., None], workdir: Path
) -> None:
    """A verdict outside the contract is rejected whatever `good` says, after one attempt; no other row changes."""
    before = rows("before")

    choose(3, evolve=True)
    after = rows("after")

    changed = {new[4]: new for old, new in zip(before, after, strict=True) if new != old}
    assert {verdict: row[1:4] + row[5:7] + row[-1:] for verdict, row in changed.items()} == {
        "valid_device": ("rejected", False, "reject", True, "unknown_verdict", 1),
        "pending": ("rejected", False, "reject", False, "unknown_verdict", 1),
        "withdrawn": ("rejected", False, "reject", False, "unknown_verdict", 1),
    }
    assert proofsweep("doctor").returncode == 0
    (leg,) = pyarrow.dataset.dataset(workdir / "after" / "runs", format="parquet").to_table().to_pylist()
    assert leg["sunset"].endswith(" GMT")


def _pair(running: sandbox.Running, catalog: Path, folder: Path) -> tuple[Path, Path]:
    """Issue a pair whose audio has no credential of its own."""
    audio = folder / "bare.mp3"
    audio.write_bytes(min(catalog.rglob("*.mp3")).read_bytes())
    issued = running.operator.issue(audio, folder / "bare.sidecar", legacy=True)
    assert issued.sidecar is not None
    return audio, issued.sidecar


def _issued(running: sandbox.Running, folder: Path, tenant: str, number: int) -> sandbox.Issued:
    (folder / "sealed").mkdir(exist_ok=True)
    out = folder / "sealed" / f"{number}.wav"
    return running.operator.issue(folder / "take.wav", out, song=f"Song {number}", tenant=tenant)


def _content_of(partner: Partner) -> dict[str, Any]:
    """Make every read-only call, and give their content."""
    listed, cursor = [], None
    while True:
        page = partner.proofs(limit=5, cursor=cursor)
        listed += page.items
        cursor = page.next_cursor
        if cursor is None:
            break
    ids = [str(item.proof_id) for item in listed]
    usage, headers = partner.usage(days=3)
    links = [value for value in partner.asset(ids[-1]).members.values() if str(value).startswith("http")]
    asset: list[bytes] = []
    partner.download(SecretStr(str(links[0])), lambda pieces, _size_bytes: asset.extend(pieces))
    return {
        "proofs": ids,
        "songs": {partner.proof(each).song for each in ids},
        "sidecars": sum(partner.proof(each).sidecar is not None for each in ids),
        "asset": b"".join(asset),
        "note": partner.interpretation(ids[0]).status,
        "keys": len(partner.keys().keys),
        "days": len(usage.days),
        "is_counted": max(int(day.used or 0) for day in usage.days) > 0 and (headers.rate_remaining or 0) > 0,
        "erased": partner.erase("never-was")[0].outcome,
    }
