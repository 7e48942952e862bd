"""Commands and flows tell somebody, over a real socket, of what needs a person; each cause once, whatever it stops."""

import json
import os
import shutil
from itertools import cycle, islice
from pathlib import Path

import pytest

from proofsweep_cli.app import run

from ..servers.alert_receivers import Webhook, end_of, mailbox
from ..worlds.command_world import export_settings
from ..worlds.core import ALERTED_STATES
from ..worlds.sandbox_world import Samples, SandboxWorld


def test_rows_that_remain_are_told_once_and_again_after_a_whole_run(
    world: SandboxWorld, samples: Samples, hook: Webhook
) -> None:
    """The message names counts, what to do, the run and the tables; neither it nor the store's record has a secret."""
    catalog = world.manifest(islice(cycle(samples.valid), 12))

    codes = [world.run("verify", catalog, "--max-calls", "11") for _ in range(2)]
    codes += [world.run("resume"), world.run("verify", catalog, "--max-calls", "11")]

    run_ids = sorted({row["run_id"] for row in world.table("runs")})
    assert codes == [6, 6, 0, 6]
    assert hook.titles == [f"proofsweep: 8 of 12 rows remain (sandbox, {end_of(catalog)})"] * 2
    assert f"run `{run_ids[0]}`: 8 of 12 rows remain." in hook.posts[0][1]["message"]
    assert "`proofsweep resume 2" in hook.posts[0][1]["message"]
    assert f"Tables: `{world.results}`" in hook.posts[0][1]["message"]
    assert f"`{run_ids[-1]}`" in hook.last["message"]
    written = json.dumps(hook.posts) + "".join(path.read_text() for path in (world.results / "_alerts").iterdir())
    proof_ids = [str(row["proof_id"]) for row in world.rows()]
    assert not [secret for secret in [world.key_file.read_text().strip(), *proof_ids] if secret in written]


def test_a_check_tells_of_a_night_that_never_came(
    world: SandboxWorld, samples: Samples, hook: Webhook, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 3 while it holds; the second check says that it was told. A good run tells nobody anything.

    A receiver that fails is exit 4, and said in the object for programs. The flow knows what the command has told.
    """
    from proofsweep_flows.check_service import check_service  # noqa: PLC0415 - Prefect reads its settings on import

    catalog, never = world.manifest(samples.valid[:3]), Path("never").absolute()
    world.run("verify", catalog)
    assert (hook.posts, (world.results / "_alerts").exists()) == ([], False)
    capsys.readouterr()

    codes = [world.run("alerts", "check", *names) for names in ([catalog], ["never"], ["never"])]

    said = capsys.readouterr().out.splitlines()
    assert codes == [0, 3, 3]
    assert said == [
        "Nothing needs a person.",
        f"sent        proofsweep: no successful run for 36 hours (sandbox, {end_of(never)})",
        f"told before proofsweep: no successful run for 36 hours (sandbox, {end_of(never)})",
    ]
    assert "never`" in hook.last["message"]
    state = check_service("alerts", ["never"], results=world.results_url, return_state=True)
    assert (state.is_completed(), state.message, len(hook.posts)) == (True, "What must be told is told.", 1)
    hook.status = 500
    code = world.run("alerts", "check", "neither", "--json")
    document = json.loads(capsys.readouterr().out)
    assert code == 4
    assert (document["missed"], document["skipped"]) == (["line 1 (json)"], [])
    assert [(alert["kind"], alert["sent"]) for alert in document["alerts"]] == [("no_success", False)]


def test_the_test_message_arrives(world: SandboxWorld, hook: Webhook, monkeypatch: pytest.MonkeyPatch) -> None:
    """And without anybody to tell, the command says which settings to make."""
    sent = run(["alerts", "test"])
    hook.status = 410
    refused = run(["alerts", "test"])
    monkeypatch.delenv("PROOFSWEEP_ALERTS__URLS_FILE")
    nobody = [run(["alerts", "test"]), world.run("alerts", "check")]

    assert (sent, refused, nobody) == (0, 4, [2, 2])
    assert hook.titles[0] == "proofsweep: a test message"


@pytest.mark.parametrize("flow", ["verify-catalog", "check-service"])
def test_each_state_of_each_flow_is_told_by_the_settings(
    world: SandboxWorld, hook: Webhook, monkeypatch: pytest.MonkeyPatch, flow: str
) -> None:
    """Once, until it is over; also a mistake of this program, which is raised all the same."""
    from prefect.client.schemas.objects import State, StateType  # noqa: PLC0415 - Prefect reads its settings on import

    from proofsweep_flows.ended_flow import ended_flow  # noqa: PLC0415

    monkeypatch.setenv("PREFECT__RUNTIME__FLOW_RUN__FLOW_NAME", flow)

    for state in [*ALERTED_STATES, "Completed", "Cancelled", "AlreadyActive"]:
        ended = State(type=StateType.FAILED, name=state, message="It said so.")
        for _ in range(2):
            ended_flow(None, world.results_url, lambda _settings, ended=ended: ended)  # type: ignore[misc]  # a lambda
        shutil.rmtree(world.results / "_alerts", ignore_errors=True)  # as if nobody had been told of this state
    told = [line for _, post in hook.posts for line in post["message"].splitlines() if line.startswith("Flow ")]
    with pytest.raises(ZeroDivisionError):
        ended_flow(None, world.results_url, lambda _settings: 1 / 0)  # type: ignore[arg-type,return-value]  # the mistake
    unnamed = ended_flow(None, world.results_url, lambda _settings: os.stat("/\0"))  # type: ignore[arg-type,return-value]  # noqa: PTH116
    assert (unnamed.name, "the character NUL" in str(unnamed.message)) == ("Failed", True)

    assert told == [f"Flow `{flow}` ended as {state}." for state in ALERTED_STATES]
    assert "It said: `A mistake of this program: ZeroDivisionError.`" in hook.last["message"]


def test_each_catalog_that_cannot_be_worked_on_is_told(world: SandboxWorld, hook: Webhook) -> None:
    """A second broken list is another cause than the first one; each is told once."""
    for name in ("first", "second"):
        (world.folder / f"{name}.csv").write_text("title\nno column is an audio file\n")

    states = [
        world.flow("verify_catalog", catalog=str(world.folder / f"{name}.csv")).name
        for name in ("first", "second", "first", "second")
    ]

    assert states == ["Failed"] * 4
    told = [line for _, post in hook.posts for line in post["message"].splitlines() if line.startswith("Flow ")]
    assert told == ["Flow `verify-catalog` ended as Failed."] * 2
    for name, (_, post) in zip(("first", "second"), hook.posts, strict=True):
        assert f"Catalog `{world.folder}/{name}.csv`. Environment `sandbox`" in post["message"]


def test_a_night_without_a_due_row_ends_an_outage_if_the_service_works(
    world: SandboxWorld, samples: Samples, hook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the next outage is told, by command and by flow. A night that never reached the service ends nothing."""
    export_settings(monkeypatch, {"RETRY__BREAKER_SECONDS": "0", "RETRY__ATTEMPTS": "1"})
    catalog = world.manifest(samples.valid[:2])
    told = []

    def night(*options: str, is_down: bool) -> int:
        if is_down:
            world.operator.add_fault("health", "status", status=503)
        try:
            return world.run("verify", catalog, *options)
        finally:
            world.operator.clear_faults()
            told.append(len(hook.titles))

    codes = [
        night(is_down=False),
        night(is_down=True),
        night("--since-last", is_down=True),
        night(is_down=True),
        night("--since-last", is_down=False),
        night(is_down=True),
    ]
    world.flow("verify_catalog", catalog=catalog, max_age="30d")
    codes += [night(is_down=True)]

    assert codes == [0, 8, 0, 8, 0, 8, 8]
    assert told == [0, 1, 1, 1, 1, 2, 3]
    assert hook.titles == [f"proofsweep: the service or the source failed (sandbox, {end_of(catalog)})"] * 3
    assert f"Catalog `{catalog}`" in hook.last["message"]


def test_a_catalog_is_checked_by_each_of_its_names(
    world: SandboxWorld,
    samples: Samples,
    hook: Webhook,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By `..`, by a link, and by its name of the settings, with them and without; none is told of the same night."""
    folder, here = world.deliver(samples.valid[:1]), world.folder / "here"
    here.mkdir()
    (here / "link").symlink_to(folder)
    monkeypatch.chdir(here)
    named = world.deliver(samples.valid[1:2], "named")
    codes = [world.run("verify", "../catalog")]
    with monkeypatch.context() as patch:
        export_settings(patch, {"CATALOG__NAME": "masters"})
        codes += [world.run("verify", "../named"), world.run("alerts", "check", str(named), "masters")]
    capsys.readouterr()

    codes += [world.run("alerts", "check", "../catalog", str(folder), "link", "../named", "masters")]
    said = capsys.readouterr().out
    codes += [world.run("diff", "--catalog", name) for name in ("../catalog", "link", "../named", "masters")]

    assert codes == [0] * 8
    assert said.splitlines() == ["Nothing needs a person."]
    assert hook.titles == []


def test_a_receiver_that_was_down_is_told_by_the_next_run(
    world: SandboxWorld, catalogs: list[str], hook: Webhook
) -> None:
    """It alone, and once; over HTTP and by mail."""
    with mailbox() as box:
        mail = f"mailto://127.0.0.1:{box.port}/?mode=insecure&from=proofsweep@label.example&to=team@label.example"
        (world.folder / "urls").write_text(f"{hook.url}\n{mail}\n")
        hook.status = 503
        codes = [world.run("verify", catalogs[0], "--max-calls", "7")]
        posted = len(hook.posts)
        hook.status = 200
        codes += [world.run("verify", catalogs[0], "--max-calls", "1") for _ in range(2)]
        mails = [message["subject"] for message in box.messages]

    title = f"proofsweep: 4 of 6 rows remain (sandbox, {end_of(catalogs[0])})"
    assert codes == [6, 6, 6]
    assert mails == [title]
    assert hook.titles[posted:] == [title]


def test_a_refused_key_of_an_operation_is_told(
    world: SandboxWorld, samples: Samples, hook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By each flow itself."""
    world.run("verify", world.manifest(samples.valid[:2]))
    monkeypatch.setenv("PROOFSWEEP_SERVICE__SIDECAR_FIELD", "seal")
    world.key_file.write_text("pk_wrong")
    states = []
    for kind in ("inventory", "notes"):
        states.append(world.flow("run_operation", kind).name)
        shutil.rmtree(world.results / "_alerts")  # as if nobody had been told

    assert states == ["KeyRefused"] * 2
    told = [line for _, post in hook.posts for line in post["message"].splitlines() if line.startswith("Flow ")]
    assert told == [f"Flow `run-operation {kind}` ended as KeyRefused." for kind in ("inventory", "notes")]


@pytest.fixture
def catalogs(world: SandboxWorld, samples: Samples) -> list[str]:
    first = world.manifest(islice(cycle(samples.valid), 6))
    return [first, *(str(shutil.copy(first, world.folder / f"{name}.csv")) for name in ("second", "third"))]


def test_a_refused_key_is_one_alert(world: SandboxWorld, catalogs: list[str], hook: Webhook) -> None:
    """Also where two processes find it in the same second, before their runs can begin."""
    codes = [world.run("verify", each) for each in catalogs]
    world.key_file.write_text("pk_wrong")

    started = [world.start("verify", each) for each in catalogs[1:]]
    codes += [process.wait(timeout=60) for process in started]
    codes += [world.run("verify", catalogs[0]), world.run("alerts", "check")]

    assert codes == [0] * 3 + [7] * 3 + [3]
    assert hook.titles == ["proofsweep: the service refused the API key (sandbox)"]


@pytest.mark.parametrize(
    ("status", "more", "taken", "who"),
    [
        (503, "json://127.0.0.1:1/{}", "0 of 2", "line 1 (json), line 2 (json)"),
        (200, "# ours\n\nnosuch://{}", "1 of 2", "line 4 (no URL of apprise)"),
    ],
)
def test_a_receiver_that_is_down_or_none_keeps_nobody_from_an_alert(
    world: SandboxWorld,
    catalogs: list[str],
    hook: Webhook,
    capfd: pytest.CaptureFixture[str],
    *,
    status: int,
    more: str,
    taken: str,
    who: str,
) -> None:
    """The run has one line more, which names it by its line; no line shows a URL. The next run tells it once."""
    (world.folder / "urls").write_text(f"{hook.url}\n{more.format(hook.secret)}\n")
    hook.status = status

    codes = [run(["alerts", "test"]), world.run("verify", catalogs[0], "--max-calls", "7")]
    said = capfd.readouterr()
    hook.status = 200
    codes += [world.run("verify", catalogs[0], "--max-calls", "1") for _ in range(2)]

    lines = [line for line in said.err.splitlines() if "lert" in line]
    assert codes == [4, 6, 6, 6]
    assert f"The test message was taken by {taken}." in said.out
    assert [f" not taken by {who} of the alert URLs; " in line for line in lines] == [True, True]
    assert hook.secret not in said.out + said.err
    title = f"proofsweep: 4 of 6 rows remain (sandbox, {end_of(catalogs[0])})"
    assert hook.titles[1:] == [title] * (1 if status == 200 else 2)
    assert not [each for each in (world.results / "_alerts").glob("*") if hook.secret in each.read_text()]
