"""`proofsweep audit` and `proofsweep redact`, as a person and as a program run them."""

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from proofsweep.store.plans_and_parts import Results
from proofsweep.store.store import open_store
from proofsweep_cli.item_argument import item_of

from ..worlds.audited_store import NEWEST, audited_store

Command = Callable[..., CompletedProcess[str]]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results store, made once; nobody changes it."""
    folder = tmp_path_factory.mktemp("built")
    audited_store(Results(open_store(str(folder))))
    return folder


@pytest.fixture
def store(built: Path, workdir: Path) -> Path:
    """Fill `results` with a copy; give its folder."""
    return Path(shutil.copytree(built, workdir / "results"))


@pytest.mark.usefixtures("store")
def test_an_untouched_store_passes_and_its_head_is_shown(proofsweep: Command) -> None:
    """It says what was recorded, never that the service signed anything."""
    done = proofsweep("audit")
    said = json.loads(proofsweep("audit", "--json").stdout)

    assert (done.returncode, done.stderr) == (0, "")
    assert "3 runs, 4 legs, 10 parts, 13 rows of verdicts" in done.stdout
    assert "This is what was recorded: nothing contradicts it." in done.stdout
    assert f"head {said['head']}" in done.stdout
    assert (said["ok"], said["wrong"], said["rows_proved"], said["parts_pruned"]) == (True, [], 13, 2)
    assert proofsweep("audit", "--head", said["head"]).returncode == 0


def test_what_is_wrong_is_named_with_exit_code_3(proofsweep: Command, store: Path) -> None:
    """On the screen and as JSON."""
    (part,) = store.glob(f"verdicts/*/{NEWEST}-*")
    part.write_bytes(b"PAR1")

    done, said = proofsweep("audit", NEWEST), json.loads(proofsweep("audit", NEWEST, "--json").stdout)

    name = str(part.relative_to(store))
    assert done.returncode == 3
    assert f"wrong: {name} was changed: no receipt names the sha256 that it has" in done.stdout
    assert "nothing contradicts it" not in done.stdout
    assert (said["ok"], said["wrong"][0]["where"]) == (False, name)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("audit", "nobody"), "There is no run 'nobody' in "),
        (("audit", "--head", "abc"), "A head is one digest of 64 hex digits"),
        (("evidence",), "Say which rows: --tag NAME=VALUE, or --run RUN."),
        (("evidence", "--tag", "release"), "--tag 'release': write it as NAME=VALUE"),
        (("evidence", "--tag", "release=R0", "--tag", "release=R1"), "--tag release is given twice"),
        (("evidence", "--tag", "relase=R0"), "No row has the tag 'relase' (did you mean release?)"),
        (("evidence", "--run", "nobody"), "There is no run 'nobody'"),
        (("redact", "x"), "There is no terminal to ask on: add --yes to redact."),
        (("redact", "nobody", "--yes"), "There is no row of an item 'nobody' in "),
    ],
)
@pytest.mark.usefixtures("store")
def test_a_mistake_is_one_line(proofsweep: Command, arguments: tuple[str, ...], message: str) -> None:
    """And nothing was written."""
    done = proofsweep(*arguments)

    assert (done.returncode, done.stdout.count("\n") < 2) == (2, True)
    assert done.stderr.splitlines()[-1].startswith(f"proofsweep: {message}")


@pytest.mark.usefixtures("store")
def test_an_audit_is_signed_and_the_signature_checked(proofsweep: Command, workdir: Path) -> None:
    """A key file that is none is one line, before anything is read."""
    key = Ed25519PrivateKey.generate()
    (workdir / "key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (workdir / "pub").write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))

    signed = proofsweep("audit", "--sign", str(workdir / "key"))

    assert (signed.returncode, "Signed: _signed/" in signed.stdout) == (0, True)
    assert proofsweep("audit", "--verify", str(workdir / "pub")).returncode == 0
    refused = proofsweep("audit", "--verify", str(workdir / "key"))
    assert (refused.returncode, "is no Ed25519 public key" in refused.stderr) == (2, True)


@pytest.mark.usefixtures("store")
def test_an_item_is_redacted_and_the_audit_still_passes(proofsweep: Command) -> None:
    """By its ID, without a terminal."""
    done = proofsweep("redact", "x", "--yes", "--json")

    assert done.returncode == 0
    assert json.loads(done.stdout) == {"redactions": [1], "rows": 1, "objects": 2}
    assert json.loads(proofsweep("audit", "--json").stdout)["rows_redacted"] == 1


def test_a_file_may_be_named_as_seen_from_the_current_folder(workdir: Path) -> None:
    """The tables have its whole location; what is no file is an ID, or the location of a file that is gone."""
    (workdir / "a.wav").touch()

    assert item_of("a.wav") == str(workdir / "a.wav")
    assert item_of("b.wav") == "b.wav"


@pytest.mark.usefixtures("store")
def test_evidence_is_packed_and_checked_without_this_program(proofsweep: Command, workdir: Path) -> None:
    """As its last line says; on the screen and as JSON."""
    done = proofsweep("evidence", "--tag", "release=R0", "--output", "x")
    said = json.loads(proofsweep("evidence", "--tag", "release=R0", "--output", "y.zip", "--json").stdout)

    assert done.stdout.startswith("x.zip: 6 rows (6 accepted), 4 receipts\n")
    assert f"head   {said['head']}\n" in done.stdout
    assert f"sha256 {hashlib.sha256((workdir / 'x.zip').read_bytes()).hexdigest()}\n" in done.stdout
    assert (said["rows"], said["outcomes"], said["signed"]) == (6, {"accepted": 6}, None)
    zipfile.ZipFile(workdir / "x.zip").extractall(workdir / "x")
    checked = subprocess.run([sys.executable, "-I", workdir / "x" / "check.py", said["head"]], check=False)
    assert checked.returncode == 0
