"""A file that is held is locked for every other process of the machine, until its process ends."""

import subprocess
import sys
from pathlib import Path

import pytest

from proofsweep.store import objects
from proofsweep.store.objects import hold, is_let_go, is_local, let_go

HOLD = """
import sys
from pathlib import Path
from proofsweep.store.objects import hold
print(hold(Path(sys.argv[1])), flush=True)
sys.stdin.read()
"""

pytestmark = pytest.mark.skipif(not is_local(Path.cwd()), reason="needs a file system whose locks are the kernel's")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "claim.json"
    path.write_bytes(b"{}")
    return path


def test_a_file_is_held_until_its_process_ends(file: Path) -> None:
    """However it ends: the kernel unlocks it."""
    with subprocess.Popen([sys.executable, "-c", HOLD, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"True\n"
        during = (is_let_go(file), hold(file))
        holder.kill()

    assert during == (False, False)
    assert (is_let_go(file), hold(file)) == (True, True)
    let_go(file)


def test_what_this_process_holds_is_not_let_go_before_it_says_so(file: Path) -> None:
    """Also for another spelling of its path."""
    link = file.parent / "link"
    link.symlink_to(file.parent)
    assert (is_let_go(file), hold(file), hold(file)) == (True, True, True)

    assert (is_let_go(file), is_let_go(link / file.name)) == (False, False)
    let_go(file)
    let_go(file)
    assert is_let_go(file)


def test_a_file_that_is_not_there_is_neither_held_nor_let_go(tmp_path: Path) -> None:
    """Nothing is known of its process."""
    assert (hold(tmp_path / "none"), is_let_go(tmp_path / "none")) == (False, False)


def test_on_a_network_file_system_nothing_is_held(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its server may lose a lock while the process lives."""
    monkeypatch.setattr(objects, "_LOCAL", {"nfs4"})

    assert (hold(file), is_let_go(file)) == (False, False)
