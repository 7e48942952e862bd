"""The command `partner-conformance`: check a service against the contract, sentence by sentence."""

import ipaddress
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn
from urllib.parse import urlsplit

import typer
from typer.exceptions import TyperException

from partner_conformance.definition import Check, Risk
from partner_conformance.inputs import Inputs
from partner_conformance.junit import JUnitFile
from partner_conformance.network import Network
from partner_conformance.options import Given, inputs_of, secret_in, with_file, with_options
from partner_conformance.prepare import PrepareError, prepare
from partner_conformance.replies import KeyRefused, NoAnswer
from partner_conformance.results import FAILED, NOT_TRIED, Result
from partner_conformance.screen import CONTRACT, RESULTS, print_checks, print_coverage, print_results, tell
from partner_conformance.stop import Code, Stop
from partner_conformance.subject import Subject
from partner_conformance.suite import CHECKS, chosen, matching, most_calls, run
from partner_conformance.wire import Wire

_RISKY_CHECKS_IN = ("beta", "sandbox")
_HELP = """Check a service against the contract from outside, sentence by sentence.

By default nothing changes there: keys, usage and proofs are read, and a file of silence is uploaded and verified.
Checks that spend much, rotate the key or erase a proof must be named. Example: `{name} --base-url https://…/v1
--key-file key --environment beta --include 'rotate-*' --new-key-file new-key --junit report.xml`
"""

Configured = Callable[[Given], Given]
"""Completes what was given from a program's own configuration; it gets its own options too."""


def make_app(
    name: str,
    configured: Configured = dict,
    more: Mapping[str, Any] | None = None,
    **options: Any,  # noqa: ANN401 - Typer's own
) -> typer.Typer:
    """Make the command line; a program that has it as a command adds `more` options of its own."""

    def conformance(context: typer.Context, given: Given) -> int:
        if context.invoked_subcommand is not None:
            return Code.PASSED
        return _ended(lambda: _run(given, configured))

    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="markdown", **options)
    app.callback(invoke_without_command=True, help=_HELP.format(name=name))(with_options(conformance, more or {}))
    app.command("prepare", help=_PREPARE_HELP.format(name=name))(_prepare)
    return app


def main() -> NoReturn:
    """Run the command line; every expected error ends in one line on stderr."""
    try:
        code = make_app("partner-conformance")(prog_name="partner-conformance", standalone_mode=False)
    except TyperException as error:
        tell(f"{error.format_message()} (see: partner-conformance --help)")
        code = Code.USAGE
    sys.exit(code if isinstance(code, int) else Code.PASSED)


_PREPARE_HELP = """Make on a sandbox every key and file that the suite can use, in a new folder.

Example: `{name} prepare given --base-url http://127.0.0.1:8725/v1 --operator-url http://127.0.0.1:8727`, then `{name}
--inputs given/inputs.json`
"""


def _prepare(
    folder: Path = typer.Argument(metavar="FOLDER", help="The new folder."),
    base_url: str = typer.Option(metavar="URL", help="The sandbox; ends in /v1."),
    operator_url: str = typer.Option(metavar="URL", help="The operator port of the sandbox."),
) -> int:
    def made() -> Code:
        try:
            file = prepare(_url_of({"base_url": base_url}), operator_url, folder)
        except (PrepareError, OSError) as error:
            raise Stop(f"{folder} cannot be prepared: {error}.") from None
        typer.echo(f"{file} names all of it: --inputs {file}")
        return Code.PASSED

    return _ended(made)


def _ended(work: Callable[[], Code]) -> int:
    """Return the exit code of some work; an expected error is one line on stderr."""
    try:
        return work()
    except Stop as stop:
        tell(f"conformance: {stop.message}")
        return stop.code


def _run(given: Given, configured: Configured) -> Code:
    if given["coverage"]:
        print_coverage(as_json=given["json"])
        return Code.PASSED
    if given["list"]:
        checks = _named(given) if given["only"] or given["include"] else CHECKS.values()
        print_checks(checks, as_json=given["json"])
        return Code.PASSED
    given = configured(with_file(given))
    if given["base_url"] is None or (given["key_file"] is None and "key" not in given):
        raise Stop("Give both --base-url and --key-file.")
    inputs, url = inputs_of(given), _url_of(given)
    checks = _permitted(_named(given), given, inputs)
    junit = None if given["junit"] is None else JUnitFile(given["junit"], checks, CONTRACT)
    most = most_calls(checks, inputs) if given["max_calls"] is None else given["max_calls"]
    key = given.get("key") or secret_in(given["key_file"]) or ""
    with Wire(url, key, most_calls=most, max_wait_seconds=given["max_wait"], network=_network(given)) as wire:
        tell(f"{len(checks)} checks, at most {most:,} keyed calls")
        return _examine(Subject(wire, inputs), checks, given, junit)


def _examine(subject: Subject, checks: list[Check], given: Given, junit: JUnitFile | None) -> Code:
    """Run the checks; report each at once in the JUnit file, and all of them at the end, whatever ends them."""
    started, results, is_stopped = time.monotonic(), list[Result](), False
    try:
        with _stopped_by_signals():
            _require_accepted_key(subject)
            for each in run(checks, subject):
                results.append(each)
                if junit is not None:
                    junit.add(each)
    except KeyboardInterrupt:
        is_stopped = True
    shown = sorted(results, key=lambda each: RESULTS.index(each.result))
    seconds = time.monotonic() - started
    print_results(shown, subject.wire.keyed_calls, seconds, given["environment"] or "", as_json=given["json"])
    if is_stopped:
        raise Stop(f"Stopped after {len(results)} of {len(checks)} checks.", Code.STOPPED)
    named = {name for pattern in (*given["only"], *given["include"]) for name in matching(pattern)}
    return _code(results, set(CHECKS) if given["strict"] else named)


def _require_accepted_key(subject: Subject) -> None:
    """Ask for usage: without an accepted key there is nothing to examine."""
    try:
        _ = subject.usage
    except NoAnswer as error:
        raise Stop(f"The service cannot be examined: {error.said}.", Code.UNREACHABLE) from None
    except KeyRefused as error:
        ids = ", ".join(error.request_ids) or "none"
        raise Stop(f"The key was refused (request ID {ids}).", Code.KEY_REFUSED) from None


def _code(results: Collection[Result], required: Collection[str]) -> Code:
    """Return the exit code; a check that is `required`, or that the budget cut off, must be tried."""
    if any(each.is_key_refused for each in results):
        return Code.KEY_REFUSED
    if any(each.result == FAILED for each in results):
        return Code.FAILED
    if any(each.is_unanswered for each in results):
        return Code.UNANSWERED
    untried = (each for each in results if each.result == NOT_TRIED)
    is_lacking = any(each.is_over_budget or each.check.name in required for each in untried)
    return Code.NOT_TRIED if is_lacking else Code.PASSED


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Let SIGTERM end the checks as Ctrl-C does."""

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        del number, frame
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _network(given: Given) -> Network:
    """Return the network; a file of authorities that cannot be read ends the command."""
    network = Network(ca=given["ca"], proxy=given["proxy"], uses_environment=given["proxy"] is None)
    try:
        network.client().close()
    except (OSError, ValueError) as error:
        raise Stop(f"--ca or --proxy cannot be used ({error}).") from None
    return network


def _url_of(given: Given) -> str:
    """Return the base URL without a slash at its end, if the key may be sent there."""
    url = str(given["base_url"]).rstrip("/")
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise Stop("--base-url must be an http(s) URL without user, query and fragment.")
    if not url.endswith("/v1"):
        raise Stop("--base-url must end in the path segment /v1.")
    if parts.scheme == "http" and not given.get("allow_plain_http") and not _is_here(parts.hostname):
        raise Stop("--base-url is plain http, which sends the key unencrypted (--allow-plain-http permits it).")
    return url


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _named(given: Given) -> list[Check]:
    unknown = [name for name in (*given["only"], *given["include"]) if not matching(name)]
    if unknown:
        raise Stop(f"There is no check {unknown[0]!r}; --list lists them.")
    return chosen(given["only"], given["include"], is_test_environment=given["environment"] in _RISKY_CHECKS_IN)


def _permitted(checks: list[Check], given: Given, inputs: Inputs) -> list[Check]:
    """Return the checks back; before any call, stop for a check that is not allowed or not possible."""
    environment = given["environment"]
    for each in checks:
        if each.risk is not Risk.NONE and environment not in _RISKY_CHECKS_IN:
            label = f"the environment is {environment!r}" if environment else "give the environment by --environment"
            raise Stop(f"{each.name} {each.risk}; it runs only in beta or sandbox, and {label}.")
        missing = inputs.missing(each.needs) if each.name in {*given["only"], *given["include"]} else ()
        if missing:
            raise Stop(f"{each.name} needs {inputs.option(missing[0])}.")
    new_key_file = inputs.new_key_file
    if new_key_file is not None and any(each.risk is Risk.ROTATES for each in checks):
        if new_key_file.exists():
            raise Stop(f"{new_key_file} exists and is not overwritten; name another file.")
        if not new_key_file.absolute().parent.is_dir():
            raise Stop(f"There is no folder for {new_key_file}; make it first.")
    return checks
