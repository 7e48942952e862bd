"""What happens around a command: its reader goes, it may open few files, or its Prefect server dies."""

import os
import resource
import signal
import subprocess
import sys

import pytest

from proofsweep_cli.embedded_server import EmbeddedServer
from proofsweep_cli.prefect_api import prefect_api

from ..servers.foreign_service import Answer, answer_after
from ..worlds.foreign_world import ForeignWorld


def test_a_run_goes_on_when_its_reader_goes_and_its_exit_code_is_its_own(world: ForeignWorld) -> None:
    """It may close the output early, as `head` does: only what is printed is lost, also a document in JSON."""
    verified = close_early("verify", world.catalog("valid", "tampered"), "--results", world.results_url)
    asked = close_early("status", world.runs[0], "--json", "--results", world.results_url)

    assert (verified, asked) == ((3, f"proofsweep: New results store: {world.results_url}\n"), (3, ""))
    assert [leg["ended_by"] for leg in world.legs()] == ["complete"]


def close_early(*arguments: str) -> tuple[int, str]:
    """Run a command, close its output at once, and return its exit code and what it says on stderr."""
    command = [sys.executable, "-m", "proofsweep_cli", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.close()
        errors = process.communicate(timeout=200)[1]
    return process.returncode, errors


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="no such call on this system")
@pytest.mark.parametrize(("most", "line"), [(40, "pace.workers is 1, not 60"), (4096, "")])
def test_good_files_are_accepted_whatever_the_limit_of_open_files(
    world: ForeignWorld, monkeypatch: pytest.MonkeyPatch, most: int, line: str
) -> None:
    """The limit is raised as far as it can be; below what the workers need, one line says how many work."""
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", "60")
    monkeypatch.setenv("PROOFSWEEP_PACE__FIRST_RATE", "200")
    world.service.changes["verify"] = answer_after(0.1)  # so that many workers would hold their files open
    process = world.start("verify", world.catalog(*["valid"] * 24))
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (40, most))

    code = process.wait()

    assert [row["outcome"] for row in world.rows()] == ["accepted"] * 24
    assert code == 0, world.logs
    assert world.logs.count("(ulimit -n)") == (1 if line else 0)
    assert line in world.logs


def test_a_run_whose_prefect_server_dies_ends_as_it_would_have(
    bare_world: ForeignWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run does not wait to write its records to Prefect, neither at its end nor at exit."""
    world, slowly = bare_world, answer_after(0.05)
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    with prefect_api() as server:
        assert isinstance(server, EmbeddedServer)
        server.wait_until_up()

        def kill_prefect(number: int, usual: Answer) -> Answer:
            if number == 20:
                os.kill(server.process.pid, signal.SIGKILL)
            return slowly(number, usual)

        world.service.changes["verify"] = kill_prefect
        catalog = world.catalog(*["valid"] * 39, "tampered")
        command = [sys.executable, "-m", "proofsweep_cli", "verify", catalog, "--results", world.results_url]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=90)

    lost = "proofsweep: The Prefect server is lost, with its own record of this run. No result is lost.\n"
    begun = f"proofsweep: New results store: {world.results_url}\n"
    assert (done.returncode, done.stderr) == (3, begun + lost)
    assert "39 accepted" in done.stdout
    assert [row["manifest_row"] for row in world.rows()] == list(range(40))
    assert [leg["ended_by"] for leg in world.legs()] == ["complete"]
