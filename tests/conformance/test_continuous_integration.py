"""What a partner's CI needs of `proofsweep conformance`: a report file, exit codes, a budget of calls."""

import json
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from pathlib import Path
from threading import Thread
from xml.etree.ElementTree import Element, parse

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

import proofsweep_sandbox as sandbox
from proofsweep_cli.app import run

from ..mutants.operator import MutantOperator
from .conftest import Command
from .test_command import CHEAP

KEYS_FIELDS = "resources-keys-record-fields"


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """The file of the report, in a folder that exists."""
    return tmp_path / "report.xml"


def cases(report: Path) -> dict[str | None, Element]:
    """Read the test cases of a report by name."""
    return {case.get("name"): case for case in parse(report).iter("testcase")}  # noqa: S314 - our own file


def test_the_report_has_a_case_for_each_check(
    conformance: Command,
    operator: MutantOperator,
    report: Path,
) -> None:
    """Failed with its finding and request IDs, without an answer, without an input, and passed."""
    operator.set_mutant("resources-health-fields")
    operator.add_fault("keys", "status", status=500)
    names = ["resources-health-fields", KEYS_FIELDS, "resources-verify-accepted-fields", CHEAP[1]]

    only = [word for name in (*names[:2], names[3]) for word in ("--only", name)]
    code, out, _ = conformance("--junit", str(report), *only, "--only", "resources-verify-acc*")
    operator.clear_faults()

    found = cases(report)
    failure, error, skipped = (found[name][0] for name in names[:3])
    assert code == 3
    assert (failure.tag, failure.get("message")) == ("failure", "ok is a string, not a boolean")
    assert "request ID" in (failure.text or "")
    assert (error.tag, skipped.tag, skipped.get("message")) == ("error", "skipped", "needs --one-file")
    assert len(found[names[3]]) == 0
    places = [f"\n{out}".index(word) for word in ("\nfailed", "\nnot tried", "\npassed")]
    assert places == sorted(places)


def test_a_control_character_in_a_request_id_reaches_no_report(
    conformance: Command,
    operator: MutantOperator,
    report: Path,
) -> None:
    """It would steer a terminal, and XML forbids it; it is written as an escape."""
    operator.set_mutant("resources-health-fields")
    operator.add_fault("health", "headers", headers={"X-Request-Id": "r\x1b[31m\x85d"})

    _, out, _ = conformance("--only", "resources-health-fields", "--junit", str(report))
    operator.clear_faults()

    assert "\x1b" not in out
    assert "r\\x1b[31m" in out
    assert "r\\x1b[31m" in (cases(report)["resources-health-fields"][0].text or "")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([*CHEAP, "--only", "resources-verify-acc*"], 10),
        (["--include", "resources-verify-acc*", "--only", CHEAP[1]], 10),
        (CHEAP, 0),
        ([*CHEAP, "--only", "endpoints-9-a-*", "--strict"], 10),
    ],
)
def test_what_was_named_must_be_tried(conformance: Command, arguments: list[str], code: int) -> None:
    """A check that was named, also by a pattern, and not tried ends with exit code 10; so does --strict for any."""
    assert conformance(*arguments)[0] == code


def test_how_much_was_tested_is_beside_what_passed(conformance: Command) -> None:
    """A run that tried two checks says so."""
    _, text, _ = conformance(*CHEAP)
    _, out, _ = conformance(*CHEAP, "--json")
    told = json.loads(out)

    assert f"2 passed   {told['sentences_tested']} of the contract's" in text
    assert 0 < told["sentences_tested"] < told["sentences"]


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_leaves_its_results(
    running: sandbox.Running, operator: MutantOperator, key_file: Path, report: Path, sent: signal.Signals
) -> None:
    """Ctrl-C and SIGTERM end with exit code 6; text and report have what was found, and name what was not reached."""
    operator.add_fault("proofs", "hang")
    place = ["--base-url", running.base_url, "--key-file", str(key_file), "--junit", str(report)]
    command = [sys.executable, "-m", "partner_conformance", *place]
    before = len(operator.exchanges())
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not any(each["call"] == "proofs" for each in operator.exchanges()[before:]):
            assert process.poll() is None
        process.send_signal(sent)
        out, err = process.communicate()
    operator.clear_faults()

    found = cases(report)
    assert process.returncode == 6
    assert "Stopped after" in err
    assert "passed" in out
    assert len(found["authentication-1-key-is-taken"]) == 0
    assert "not reached" in str(found["errors-7-request-id-on-every-response"][0].get("message"))


def test_no_more_calls_than_the_budget(conformance: Command, operator: MutantOperator) -> None:
    """The budget is stated before the first call; what it does not allow is not tried."""
    before = len(operator.exchanges())

    code, out, err = conformance("--max-calls", "12", "--json")

    told = json.loads(out)
    charged = [each for each in operator.exchanges()[before:] if each["charged"]]
    assert (code, told["failed"]) == (10, 0)
    assert "at most 12 keyed calls" in err
    assert told["keyed_calls"] == 12
    assert len(charged) <= 12
    assert sum(each["said"] == "the budget of 12 keyed calls is spent" for each in told["checks"]) > 10


def test_a_report_that_cannot_be_written_is_told_before_the_first_call(
    operator: MutantOperator,
    key_file: Path,
    running: sandbox.Running,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit code 2 and one line."""
    before = len(operator.exchanges())
    place = ["--base-url", running.base_url, "--key-file", str(key_file)]

    code = run(["conformance", *place, "--junit", str(tmp_path / "no" / "report.xml")])

    err = capsys.readouterr().err
    assert (code, err.count("\n")) == (2, 1)
    assert "report.xml cannot be written" in err
    assert len(operator.exchanges()) == before


def certificate(folder: Path) -> Path:
    """Write a key and a self-signed certificate of 127.0.0.1 into one file."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "here")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now - timedelta(days=1), now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "here.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(private + made.public_bytes(Encoding.PEM))
    return file


@pytest.fixture
def encrypted(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A server with a certificate that no system trusts, which answers 404; its base URL, and its authority."""
    authority = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority)
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"https://127.0.0.1:{server.server_port}/v1", authority
        server.shutdown()
        thread.join()


def test_an_unknown_authority_is_named_and_can_be_trusted(
    encrypted: tuple[str, Path], key_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 8 says to give --ca; with it the service is reached."""
    url, authority = encrypted
    place = ["conformance", "--base-url", url, "--key-file", str(key_file), "--only", CHEAP[1]]

    refused = run(place)
    said = capsys.readouterr().err
    trusted = run([*place, "--ca", str(authority)])

    assert (refused, trusted) == (8, 4)  # then it has no answer
    assert "its certificate is not trusted" in said
    assert "--ca names an authority" in said


def test_prepare_makes_every_key_and_file(
    running: sandbox.Running, operator: MutantOperator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--inputs` reads what it made: then no check lacks an input, but for the lifetime of a slot."""
    folder = tmp_path / "given"
    operator.clear_faults()

    made = run(
        ["conformance", "prepare", str(folder), "--base-url", running.base_url, "--operator-url", running.operator_url]
    )
    capsys.readouterr()
    code = run(["conformance", "--inputs", str(folder / "inputs.json"), "--json", "--only", "verdicts-*"])
    told = json.loads(capsys.readouterr().out)

    assert (made, code, told["not_tried"]) == (0, 0, 0)
    assert told["passed"] > 15
    assert [file.name for file in folder.iterdir() if file.stat().st_mode & 0o077] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["prepare", "FOLDER", "--base-url", "http://127.0.0.1:9/v1", "--operator-url", "http://127.0.0.1:9"],
            "operator",
        ),
        (
            ["prepare", "/proc/no", "--base-url", "http://127.0.0.1:9/v1", "--operator-url", "http://127.0.0.1:9"],
            "/proc/no",
        ),
        (["--inputs", "nowhere.json"], "nowhere.json cannot be read"),
        (["--inputs", "WRONG"], "names 'one-file', which is no option"),
    ],
)
def test_what_cannot_be_prepared_or_read_is_said_in_one_line(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, and what to do."""
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"one-file": "one.wav"}')
    places = {"FOLDER": str(tmp_path / "given"), "WRONG": str(wrong)}

    code = run(["conformance", *(places.get(each, each) for each in arguments)])

    err = capsys.readouterr().err
    assert (code, err.count("\n")) == (2, 1)
    assert words in err


@pytest.mark.parametrize(
    ("url", "words"),
    [("http://127.0.0.1:9/v1", "the connection is refused"), ("https://partner.invalid/v1", "DNS knows no such host")],
)
def test_why_the_service_cannot_be_reached_is_said(
    url: str, words: str, key_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Refused, unknown to DNS: exit code 8."""
    code = run(["conformance", "--base-url", url, "--key-file", str(key_file)])

    assert code == 8
    assert words in capsys.readouterr().err


def test_plain_http_to_another_machine_needs_a_permission(key_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A service container has no certificate; the key is sent there only if the person says so."""
    place = ["conformance", "--base-url", "http://partner.invalid/v1", "--key-file", str(key_file)]

    codes = [run(place), run([*place, "--allow-plain-http"])]

    assert codes == [2, 8]
    assert "--allow-plain-http permits it" in capsys.readouterr().err


def test_a_proxy_is_used_for_the_service(
    running: sandbox.Running, key_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A proxy that is not there is the reason why nothing is reached."""
    place = ["conformance", "--base-url", running.base_url, "--key-file", str(key_file)]

    code = run([*place, "--proxy", "http://127.0.0.1:9"])

    assert code == 8
    assert "refused" in capsys.readouterr().err
