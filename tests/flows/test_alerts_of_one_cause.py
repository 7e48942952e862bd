"""One cause is one alert, whichever catalogs it stops; and what nobody could be told, the next run tells."""

import shutil
from itertools import cycle, islice

import pytest

from proofsweep_cli.app import run

from ..servers.alert_receivers import Webhook
from ..worlds.sandbox_world import Samples, SandboxWorld


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


def test_a_receiver_that_is_down_keeps_nobody_from_an_alert(
    world: SandboxWorld, catalogs: list[str], hook: Webhook, capfd: pytest.CaptureFixture[str]
) -> None:
    """The run has one line more. What nobody took is told by the next run."""
    (world.folder / "urls").write_text(f"{hook.url}\njson://127.0.0.1:1/{hook.secret}\n")
    hook.status = 503

    codes = [world.run("verify", catalogs[0], "--max-calls", "7")]
    said = capfd.readouterr()
    hook.status = 200
    hook.posts.clear()
    codes += [world.run("verify", each, "--max-calls", "1") for each in (catalogs[0], catalogs[0])]

    (line,) = (line for line in said.err.splitlines() if "lert" in line)
    assert line.startswith("proofsweep: An alert was not taken by line 1 (json), line 2 (json) of the alert URLs; ")
    assert hook.secret not in said.out + said.err
    assert codes == [6, 6, 6]
    assert hook.titles == ["proofsweep: 4 of 6 rows remain (sandbox)"]
    assert not [each for each in (world.results / "_alerts").glob("*") if hook.secret in each.read_text()]


def test_a_wrong_url_is_named_by_its_line_and_keeps_nobody_from_an_alert(
    world: SandboxWorld, catalogs: list[str], hook: Webhook, capfd: pytest.CaptureFixture[str]
) -> None:
    """No line shows a URL."""
    (world.folder / "urls").write_text(
        f"# ours\n{hook.url}\n\nnosuch://{hook.secret}\njson://127.0.0.1:1/{hook.secret}\n"
    )
    who = "line 4 (no URL of apprise), line 5 (json) of the alert URLs"

    codes = [run(["alerts", "test"]), world.run("verify", catalogs[0], "--max-calls", "7")]
    said = capfd.readouterr()

    assert codes == [4, 6]
    assert "The test message was taken by 1 of 3." in said.out
    assert said.err.count(f"not taken by {who}; ") == 2
    assert hook.secret not in said.out + said.err
    assert hook.titles[1:] == ["proofsweep: 4 of 6 rows remain (sandbox)"]
