"""Each use of the partner's other endpoints, over a real socket: by its command and by its flow."""

import hashlib
import json
import re
import tempfile
from pathlib import Path

import pytest

import proofsweep_sandbox as sandbox
from proofsweep.results import open_results
from proofsweep_cli.app import run

from ..servers.alert_receivers import Webhook
from ..worlds.command_world import mounted_disk, wav_of
from ..worlds.sandbox_world import Samples, SandboxWorld

pytestmark = pytest.mark.usefixtures("without_prefect")  # but operations are flows


def test_monitoring_records_what_it_sees_and_tells_what_lasts(
    world: SandboxWorld, hook: Webhook, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command and by the flow; one failed probe alarms nobody, and an event stays off the terminal."""
    world.operator.add_fault("health", "answer", answer={"uptime": 1})  # a new member, which is an event
    codes = [world.run("service", "monitor", "--json")]
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert said.err == f"proofsweep: New results store: {world.results}\n"
    for fault in ("health", "usage"):
        world.operator.add_fault(fault, "status", status=503)

    codes += [world.run("service", "monitor")]
    states = [world.flow("check_service", "probe") for _ in range(2)]
    codes += [world.run("service", "monitor")]

    store = open_results(str(world.results))
    probes = store.table("probes").to_pylist()
    [day] = [each for probe in probes for each in json.loads(probe["usage_json"] or "[]")]
    assert [probe["call"] for probe in found["probes"]] == ["health", "usage"]
    assert codes == [0, 8, 8]
    assert all(state.is_completed() for state in states)
    assert sorted(hook.titles) == [f"proofsweep: GET {path} fails (sandbox)" for path in ("/health", "/partner/usage")]
    assert (len(probes), sum(probe["trouble"] == "http_503" for probe in probes)) == (10, 8)
    assert all(probe["request_id"] for probe in probes)
    assert (day["used"], world.charged) == (1, 5)


def test_a_key_that_stays_refused_is_a_state_of_the_flow(world: SandboxWorld) -> None:
    """Prefect's automations know it by its name; one refused probe is none."""
    world.key_file.write_text("pk_wrong")

    codes = [world.run("service", "monitor") for _ in range(2)]
    state = world.flow("check_service", "probe")

    assert (codes, state.name) == ([7, 7], "KeyRefused")


@pytest.fixture
def issued(world: SandboxWorld, samples: Samples) -> list[sandbox.Issued]:
    """Three proofs of this test's own key, in a folder that is verified: two credentialed WAVs, and a pair."""
    folder = world.folder / "music"
    folder.mkdir()
    audio = next(sample.audio for sample in samples.valid if sample.audio.suffix == ".wav")
    source = world.folder / "source.wav"
    source.write_bytes(audio.read_bytes())
    made = [
        world.operator.issue(source, folder / f"{number}.wav", tenant=world.tenant, song=f"Song {number}")
        for number in range(2)
    ]
    pair = folder / "pair.wav"
    pair.write_bytes(source.read_bytes())
    made.append(world.operator.issue(pair, folder, tenant=world.tenant, legacy=True))
    assert world.run("verify", str(folder)) == 0
    return made


def test_proofs_are_listed_and_their_notes_refreshed(
    world: SandboxWorld, issued: list[sandbox.Issued], capsys: pytest.CaptureFixture[str]
) -> None:
    """By the commands and by the flows; an erased proof is not listed, and its note is gone."""
    codes = [world.run("proofs", "inventory")]
    world.operator.erase(issued[0].proof_id)
    states = [world.flow("run_operation", kind) for kind in ("inventory", "notes")]
    codes += [run(["proofs", "show", issued[1].proof_id]), run(["proofs", "list", "--json"])]
    codes.append(run(["proofs", "show", issued[0].proof_id]))

    def ready() -> int:
        codes.append(world.run("proofs", "notes"))
        return sum(row["status"] == "ready" for row in world.table("interpretations"))

    world.wait_for(lambda: ready() == 2)  # the service needs some time for each
    listed, notes = world.table("proofs"), world.table("interpretations")
    newest = max(row["operation_id"] for row in listed)
    assert codes[:4] == [0, 0, 0, 2]
    assert {*codes[4:]} == {0}
    assert states[0].message == "2 proofs listed: 2 as answered, 1 of accepted files are not listed"
    assert str(states[1].message).startswith("3 proofs without a note: 1 gone, ")
    assert {row["proof_id"]: row["state"] for row in listed if row["operation_id"] == newest} == {
        issued[0].proof_id: "not_listed",
        issued[1].proof_id: "matched",
        issued[2].proof_id: "matched",
    }
    assert {row["status"] for row in notes} - {"pending"} == {"gone", "ready"}
    assert all(row["text"] for row in notes if row["status"] == "ready")
    assert "Song 1" in capsys.readouterr().out
    assert world.run("audit") == 0


def test_all_proofs_of_an_inventory_are_verified_beside_their_files(
    world: SandboxWorld, issued: list[sandbox.Issued], capsys: pytest.CaptureFixture[str]
) -> None:
    """As the docs advise. The files keep their answers: the pair, whose proof has no asset, stays accepted."""
    page = Path(__file__).parents[2].joinpath("docs/operations.md").read_text(encoding="utf-8")
    [recipe] = re.findall(r'proofsweep query "(SELECT proof_id, [^"]+)"', page)
    codes = [world.run("proofs", "inventory")]
    capsys.readouterr()
    codes.append(world.run("query", recipe, "--format", "csv"))
    catalog = world.folder / "proofs.csv"
    catalog.write_text(capsys.readouterr().out)

    codes.append(world.run("verify", str(catalog)))

    answers = open_results(str(world.results)).sql("SELECT audio, outcome FROM latest_answer").fetchall()
    assert codes == [0, 0, 3]
    assert {audio: outcome for audio, outcome in answers if not audio.startswith("proof:")} == {
        str(proof.audio): "accepted" for proof in issued
    }
    assert sum(audio.startswith("proof:") for audio, _ in answers) == 2


def test_lost_sidecars_come_back(
    world: SandboxWorld, issued: list[sandbox.Issued], capsys: pytest.CaptureFixture[str]
) -> None:
    """Byte for byte; one that is there stays as it is."""
    lost = issued[2].sidecar
    assert lost is not None
    sealed = lost.read_bytes()
    lost.unlink()

    codes = [world.run("proofs", "recover"), world.run("verify", str(lost.parent))]
    assert lost.read_bytes() == sealed
    assert [row["sidecar_source"] for row in world.rows() if row["sidecar"]] == ["given", "recovered"]
    lost.write_bytes(b"damaged")
    codes.append(world.run("proofs", "recover"))

    assert codes == [0, 0, 0]
    assert "1 sidecars: 1 there already" in capsys.readouterr().out
    assert lost.read_bytes() == b"damaged"
    assert [row["outcome"] for row in world.table("recoveries")] == ["recovered"]
    assert world.run("audit") == 0


def test_lost_sidecars_of_files_that_ingest_has_moved_come_back_below_its_target(
    world: SandboxWorld, issued: list[sandbox.Issued], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files keep their paths there. None appears in the watched folder, for the next delivery of that name."""
    delivered, accepted = world.folder / "delivered", world.folder / "accepted"
    delivered.mkdir()
    pair = issued[2]
    assert pair.sidecar is not None
    for path in (pair.audio, pair.sidecar):
        path.rename(delivered / path.name)
    for name, text in {"SETTLE_SECONDS": "0", "PAIR_SECONDS": "0", "ACCEPTED": str(accepted)}.items():
        monkeypatch.setenv(f"PROOFSWEEP_INGEST__{name}", text)
    monkeypatch.delenv("PROOFSWEEP_CATALOG__ROOT")  # paths begin at the watched folder
    codes = [world.run("ingest", str(delivered))]
    lost = accepted / pair.sidecar.name
    sealed = lost.read_bytes()
    lost.unlink()

    codes += [world.run("proofs", "recover", *to) for to in ((), ("--to", str(accepted)))]

    assert (codes, lost.read_bytes(), list(delivered.iterdir())) == ([0, 0, 0], sealed, [])


def listed(world: SandboxWorld, *proofs: sandbox.Issued) -> str:
    path = world.folder / "proofs.csv"
    path.write_text("proof_id,id\n" + "".join(f"{proof.proof_id},{at}\n" for at, proof in enumerate(proofs)))
    return str(path)


def test_proofs_are_verified_without_local_files(
    world: SandboxWorld, issued: list[sandbox.Issued], capsys: pytest.CaptureFixture[str]
) -> None:
    """The digests of the assets are in the table."""
    masters = [hashlib.sha256(proof.audio.read_bytes()).hexdigest() for proof in issued]
    for proof in issued:
        proof.audio.unlink()

    code = world.run("verify", listed(world, *issued))

    shown = capsys.readouterr()
    rows = [row for row in world.rows() if row["audio"].startswith("proof:")]
    assert (code, [(row["item_id"], row["outcome"], row["reason"]) for row in rows]) == (
        3,
        [("0", "accepted", None), ("1", "accepted", None), ("2", "ineligible", "no_asset")],
    )
    assert {row["audio_sha256"] for row in rows if row["outcome"] == "accepted"} == set(masters[:2])
    assert rows[0]["proof_id"] == issued[0].proof_id
    assert not [secret for secret in world.operator.secrets() if secret in shown.out + shown.err]
    assert world.run("audit") == 0


def test_an_asset_is_not_downloaded_again_while_it_waits_for_a_slot(
    world: SandboxWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait is no part of the download's time, and a slot that is spent costs no other download."""
    source, sealed = world.folder / "long.wav", world.folder / "sealed.wav"
    source.write_bytes(wav_of(bytes(2_000_000)))
    proof = world.operator.issue(source, sealed, tenant=world.tenant)
    monkeypatch.setenv("PROOFSWEEP_TIMEOUTS__READ_SECONDS", "1")
    world.operator.add_fault("uploads", "status", status=429, code="rate_limited", retry_after=4, count=1)
    world.operator.add_fault("slot", "status", status=403, code="AccessDenied", count=1)

    code = world.run("verify", listed(world, proof))

    (row,) = world.rows()
    asked = [each["call"] for each in sorted(world.table("exchanges"), key=lambda each: each["started_at"])]
    assert (code, row["outcome"], row["calls"]) == (0, "accepted", 5)
    assert row["audio_sha256"] == hashlib.sha256(sealed.read_bytes()).hexdigest()
    assert [call for call in asked if call not in {"health", "usage"}] == [
        *("asset", "download", "uploads", "uploads", "slot", "uploads", "slot", "verify")
    ]


def test_a_full_disk_for_assets_leaves_their_rows(
    world: SandboxWorld,
    issued: list[sandbox.Issued],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit 8 with a line that says what to do; `resume` verifies them where there is room."""
    # Room for what a plan lists, and for no asset.
    with mounted_disk(tmp_path / "small", "8k") as small, monkeypatch.context() as narrow:
        narrow.setattr(tempfile, "tempdir", str(small))
        stopped = world.run("verify", listed(world, *issued[:2]))
    shown = capsys.readouterr()

    code = world.run("resume")

    rows = [row for row in world.table("verdicts") if row["audio"].startswith("proof:")]
    assert (stopped, code, [row["outcome"] for row in rows]) == (8, 0, ["accepted"] * 2)
    said = " ".join((shown.out + shown.err).split())
    assert "An asset cannot be written to the folder for temporary files" in said
    assert "make room, or set TMPDIR" in said
    assert "Traceback" not in said
